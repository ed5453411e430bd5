// What a step of the stepper is: a kernel, a source line or an instruction.
import { el, options } from "./dom.js";

const SIZES = ["kernel", "line", "instruction"];

export class StepSize {
  /** @param {import("./stepper.js").Stepper} view the stepper */
  constructor(view) {
    this.view = view;
    this.name = SIZES[0];
    this.element = el("select", "pl-choice", ...options(SIZES));
    this.element.setAttribute("aria-label", "size of a step");
    this.element.title = "step size of the arrow keys and these buttons (i)";
    this.element.addEventListener("change", () => this.set(this.element.value));
  }

  /** Step forwards or back; by instruction if the program has no kernels. @param {number} direction */
  advance(direction) {
    const { run } = this.view,
      kernels = run.code.roles.includes(3);
    this.view.move(this.name === "line" ? "line" : this.name === "kernel" && kernels ? "kernel" : "step", direction);
  }

  /** @param {string} name */
  set(name) {
    this.name = this.element.value = name;
    this.fold(name !== "instruction");
    this.view.root.focus();
  }

  cycle() {
    this.set(SIZES[(SIZES.indexOf(this.name) + 1) % SIZES.length]);
  }

  /** Fold runs of instructions that only move values or allocate memory, or show all. @param {boolean} [folds] */
  fold(folds = !this.view.code.isFolding) {
    this.view.code.isFolding = folds;
    this.view.code.arrange();
  }
}
