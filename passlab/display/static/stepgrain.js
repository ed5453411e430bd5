// What a step of the stepper is: a kernel, a source line or an instruction.
import { el } from "./dom.js";

const GRAINS = ["kernel", "line", "instruction"];

export class Grain {
  /** @param {any} view the stepper */
  constructor(view) {
    this.view = view;
    this.name = GRAINS[0];
    this.element = /** @type {HTMLSelectElement} */ (el("select", "pl-choice", ...GRAINS.map((name) => el("option", "", name))));
    this.element.setAttribute("aria-label", "size of a step");
    this.element.title = "step size of the arrow keys and these buttons (i)";
    this.element.addEventListener("change", () => this.set(this.element.value));
  }

  /** Step forwards or back; by instruction if the program has no kernels. @param {number} way */
  advance(way) {
    const { run } = this.view, kernels = run.code.roles.includes(3);
    this.view.move(this.name === "line" ? "line" : this.name === "kernel" && kernels ? "kernel" : "step", way);
  }

  /** @param {string} name */
  set(name) {
    this.name = this.element.value = name;
    this.fold(name !== "instruction");
    this.view.root.focus();
  }

  turn() {
    this.set(GRAINS[(GRAINS.indexOf(this.name) + 1) % GRAINS.length]);
  }

  /** Fold runs of instructions that only move values or allocate memory, or show all. @param {boolean} [folds] */
  fold(folds = !this.view.code.folds) {
    this.view.code.folds = folds;
    this.view.code.arrange();
  }
}
