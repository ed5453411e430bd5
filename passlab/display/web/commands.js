// The commands of the views: `commands.json` names each, with its keys, its group, and where it applies. From it come the help,
// the palette, the tips of buttons, the hints for a first use, the entries of JupyterLab's palette and the manual.
import table from "./commands.json" with { type: "json" };
import { bindKeys, button, el, setActive } from "./dom.js";
import { Places } from "./workbench.js";

/** @import { Bindings } from "./model.js" */

/** The keys of a command, its group, what it does, where it applies. @typedef {{keys: string[], group: string, does: string, where: string}} Command */
/** @typedef {keyof typeof table} ViewName */

const SHOWN = /** @type {Record<string, string>} */ ({
  ArrowDown: "↓",
  ArrowUp: "↑",
  ArrowLeft: "←",
  ArrowRight: "→",
  Escape: "Esc",
  "-": "−",
});
const HINTED = "passlab-hinted"; // where a browser keeps which views have shown their hints

/** The commands of a view, without those that every view has. @param {ViewName} view @returns {Command[]} */
export const commandsOf = (view) =>
  table[view].commands.map(([keys, group, does, where = ""]) => ({
    // A command without a key has a name in its place, in several words.
    keys: /^(?:bind|copy|keep) /.test(keys) ? [keys] : keys.split(" ").map((key) => (key === "Space" ? " " : key)),
    group,
    does,
    where,
  }));

/** Whether a command has a key. @param {Command} command */
const hasKey = ({ keys: [first] }) => !first.includes(" ") || first === " ";

/** A key as it is shown: `Ctrl+f` is Ctrl F, an arrow is an arrow. @param {string} key */
export const shownKey = (key) =>
  key === " "
    ? "Space"
    : key.includes("+") && key.length > 1
      ? key
          .split("+")
          .map((part) => (part.length === 1 ? part.toUpperCase() : part))
          .join(" ")
      : (SHOWN[key] ?? key);

/** What a key does, and the key, for the tip of a button. @param {ViewName} view @param {string} key */
export function tip(view, key) {
  const command = [...commandsOf(view), ...commandsOf("every")].find(({ keys }) => keys.includes(key));
  return command ? `${command.does}${hasKey(command) ? ` (${shownKey(key)})` : ""}` : "";
}

/** The commands of one view on the page: their keys, buttons, help, palette and hints. */
export class Commands {
  /** @param {HTMLElement} root @param {ViewName} view */
  constructor(root, view) {
    this.root = root;
    this.view = view;
    this.own = /** @type {Bindings} */ ({});
    this.current = /** @type {() => [ViewName, Bindings]} */ (() => [this.view, this.own]);
    this.places = new Places(root);
    this.overlay = el("div", "pl-help");
    this.overlay.hidden = true;
    this.overlay.addEventListener("click", (event) => event.target === this.overlay && this.close());
    this.returnTo = /** @type {HTMLElement | null} */ (null);
    root.addEventListener(
      "keydown",
      (event) => {
        if (event.key !== "Escape" || this.overlay.hidden) return;
        this.close();
        event.stopPropagation();
      },
      true,
    );
    root.append(this.overlay);
    this.buttons = [
      button(tip("every", "O"), () => this.run("O"), "M2 3h12v10H2zM9 3v10"),
      button("?", () => this.run("?")),
    ];
    this.buttons[1].title = tip("every", "?");
    root.addEventListener("focusin", () => this.hint(), { once: true });
    this.frame = 0; // of the next measurement
    for (const name of ["focusin", "keyup", "click"]) root.addEventListener(name, () => this.reachText());
    new ResizeObserver(() => this.reachText()).observe(root);
    Object.assign(root, { commands: this }); // for JupyterLab's palette and menu
  }

  /** Let Tab reach a text that has to be scrolled: with the next picture, for which the browser measures all texts anyway. */
  reachText() {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      const texts = [...this.root.querySelectorAll(".pl-title, .pl-step-head")];
      const high = texts.map((text) => text.scrollHeight > text.clientHeight + 1);
      texts.forEach((text, at) => {
        if (high[at]) text.setAttribute("tabindex", "0");
        else text.removeAttribute("tabindex");
      });
    });
  }

  /**
   * Bind the keys. `current` names the table and the actions of the present mode, where there are several.
   * @param {Bindings} own actions by the first key of each command, or by another @param {() => [ViewName, Bindings]} [current]
   */
  bind(own, current) {
    this.own = own;
    if (current) this.current = current;
    bindKeys(this.root, own, () => {
      const [view, actions] = this.current();
      return { ...aliased("every", this.common()), ...aliased(view, actions) };
    });
  }

  /** The actions that every view has. @returns {Bindings} */
  common() {
    return {
      "?": () => this.help(),
      "Ctrl+k": () => this.palette(),
      O: () => this.places.beside(),
      W: () => this.places.overWindow(),
    };
  }

  /** The commands that can run now, with their actions. */
  get list() {
    const [view, actions] = this.current();
    return [...rows(view, actions), ...rows("every", this.common())];
  }

  /** Run a command as if its key were pressed. @param {string} key */
  run(key) {
    const found = this.list.find(({ keys }) => keys.includes(key));
    if (!found) return false;
    this.root.focus({ preventScroll: true });
    return found.action(new KeyboardEvent("keydown", { key: key.split("+").at(-1) ?? key }));
  }

  /** @param {string} label @param {...Node} contents */
  open(label, ...contents) {
    this.returnTo = /** @type {HTMLElement | null} */ (this.root.querySelector(":focus"));
    const card = el("div", "pl-help-card", ...contents);
    card.setAttribute("role", "dialog");
    card.setAttribute("aria-label", label);
    this.overlay.replaceChildren(card);
    this.overlay.hidden = false;
    return true;
  }

  close() {
    this.overlay.hidden = true;
    (this.returnTo?.isConnected ? this.returnTo : this.root).focus({ preventScroll: true });
  }

  /** Show the keys in groups, or hide them. */
  help() {
    if (!this.overlay.hidden) return this.close();
    const [view] = this.current(),
      groups = new Map(/** @type {[string, [string[], string][]][]} */ ([]));
    const add = (/** @type {string} */ group, /** @type {string[]} */ keys, /** @type {string} */ does) =>
      groups.set(group, [...(groups.get(group) ?? []), [keys, does]]);
    for (const command of this.list) {
      if (!hasKey(command)) continue;
      add(command.group, command.keys.map(shownKey), command.does);
    }
    for (const [sign, means] of [...table[view].signs, ...table.every.signs])
      add("Pointer and signs", sign.split(" "), means);
    const columns = [...groups].map(([group, all]) =>
      el(
        "section",
        "pl-help-group",
        el("h3", "", group),
        el(
          "dl",
          "pl-keys",
          ...all.flatMap(([keys, does]) => [
            el("dt", "", ...keys.map((key) => (key === "…" ? " … " : el("kbd", "", key)))),
            el("dd", "", does),
          ]),
        ),
      ),
    );
    const title = el(
      "div",
      "pl-help-title",
      `Keys: ${table[view].name}`,
      el("span", "pl-dim", `? or Esc closes this; ${shownKey("Ctrl+k")} finds a command by its name`),
    );
    return this.open("Keys", title, el("div", "pl-help-groups", ...columns));
  }

  /** Let the reader choose a command by words of its name. @param {string} [words] to begin with */
  palette(words = "") {
    const field = el("input", "pl-find pl-palette-field"),
      list = el("div", "pl-palette-list");
    field.placeholder = "a command";
    field.setAttribute("aria-label", "find a command by words of its name");
    field.setAttribute("role", "combobox");
    field.value = words;
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", "commands");
    let at = 0,
      shown = this.list;
    const draw = () => {
      const wanted = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      shown = this.list.filter(({ does, group }) => {
        const text = `${group} ${does}`.toLowerCase();
        return wanted.every((word) => text.includes(word));
      });
      at = Math.max(0, Math.min(at, shown.length - 1));
      list.replaceChildren(
        ...shown.map((command, number) => {
          const item = el(
            "div",
            "pl-palette-item",
            el("span", "pl-dim pl-palette-group", command.group),
            el("span", "pl-palette-name", command.does),
            ...(hasKey(command) ? [el("kbd", "", shownKey(command.keys[0]))] : []),
          );
          item.setAttribute("role", "option");
          item.addEventListener("click", () => choose(number));
          return item;
        }),
      );
      if (!shown.length) list.append(el("div", "pl-empty", "no command has these words"));
      setActive(list, at);
    };
    const choose = (/** @type {number} */ number) => {
      const command = shown[number];
      if (!command) return;
      this.close();
      this.run(command.keys[0]);
    };
    field.addEventListener("input", () => {
      at = 0;
      draw();
    });
    field.addEventListener("keydown", (event) => {
      if (event.key === "Escape") return;
      event.stopPropagation();
      const by = /** @type {Record<string, number>} */ ({ ArrowDown: 1, ArrowUp: -1 })[event.key];
      if (by === undefined && event.key !== "Enter") return;
      event.preventDefault();
      if (!by) return choose(at);
      at = (at + by + shown.length) % Math.max(1, shown.length);
      setActive(list, at);
    });
    this.open("Commands", field, list);
    draw();
    field.focus();
    return true;
  }

  /** Show the hints of a view that is used for the first time in this browser, until the reader closes them. */
  hint() {
    const hints = table[this.view].hints;
    if (!hints.length || hinted().includes(this.view)) return;
    const commands = this.list;
    const strip = el(
      "div",
      "pl-hints",
      ...hints.flatMap((key) => {
        const command = commands.find(({ keys }) => keys.includes(key === "Space" ? " " : key));
        return command
          ? [
              el(
                "span",
                "pl-hint",
                el("kbd", "", shownKey(command.keys[0])),
                el("span", "", command.does.split(/[:,;(]/)[0]),
              ),
            ]
          : [];
      }),
    );
    const leave = () => {
      strip.remove();
      try {
        localStorage.setItem(HINTED, [...new Set([...hinted(), this.view])].join());
      } catch {
        // a page that may not keep anything: the hints come again
      }
    };
    strip.append(button("close the hints", leave, "M4 4l8 8M12 4l-8 8"));
    strip.setAttribute("role", "note");
    this.root.append(strip);
    // Who uses the keys has seen them.
    let used = 0;
    this.root.addEventListener("keydown", () => ++used === 4 && leave());
  }
}

/** The views whose hints this browser has shown. @returns {string[]} */
function hinted() {
  try {
    return (localStorage.getItem(HINTED) ?? "").split(",");
  } catch {
    return [];
  }
}

/** Actions under all keys of their commands. @param {ViewName} view @param {Bindings} actions @returns {Bindings} */
function aliased(view, actions) {
  const more = rows(view, actions).flatMap(({ keys, action }) => keys.map((key) => [key, action]));
  return { ...Object.fromEntries(more), ...actions };
}

/** The commands of a table that have an action. @param {ViewName} view @param {Bindings} actions */
function rows(view, actions) {
  return commandsOf(view).flatMap((command) => {
    const key = command.keys.find((one) => Object.hasOwn(actions, one));
    return key === undefined ? [] : [{ ...command, action: actions[key] }];
  });
}
