// The widget of a program's prospects: passes that would change it; the selected one runs, and its recording is shown below.
import { Commands } from "./commands.js";
import { el, icon, listbox, prose, setActive, uniqueId } from "./dom.js";
import { explorer } from "./pipeline.js";
import { ask, hasKernel } from "./requests.js";
import { subscribe } from "./selection.js";

/** @import { Context } from "./model.js" */
/** @import { ProspectRow, ProspectsData } from "./protocol.js" */

const RUN = "M5 3l7 5-7 5z";

/** @param {Context<"prospects">} context */
function render({ model, el: host }) {
  const root = el("div", "passlab pl-prospects"),
    title = el("span", "pl-title"),
    explorerHost = el("div", "");
  const name = uniqueId(),
    commands = new Commands(root, "prospects");
  let at = 0,
    close = () => {};
  root.tabIndex = 0;
  const list = listbox("passes that would change the program", (place) => {
    choose(place);
    run();
  });
  root.prepend(el("div", "pl-bar", title, el("span", "pl-grow"), ...commands.buttons), list);
  // A page has only the data of its view, under the name that the widget uses for the recording.
  const data = () =>
    model.get("prospects") || /** @type {ProspectsData} */ (/** @type {unknown} */ (model.get("data")));
  const rows = () => data().rows;
  const run = () => {
    if (!rows()[at]) return;
    if (!hasKernel(model)) return title.replaceChildren("this needs a running kernel");
    root.classList.add("pl-loading");
    ask(model, { run: rows()[at][0] }, root);
  };
  const choose = (/** @type {number} */ to) => {
    at = Math.max(0, Math.min(rows().length - 1, to));
    setActive(list, at);
  };
  const row = (/** @type {ProspectRow} */ [pass, level, what, fails], /** @type {number} */ place) => {
    const item = el(
      "div",
      `pl-pass pl-prospect${fails ? " pl-prospect-fails" : ""}`,
      el("span", "pl-prospect-run", icon(RUN)),
      el("b", "pl-prospect-name", pass),
      el("span", "pl-prospect-sentence", fails ? `fails: ${what}` : what),
      el("span", "pl-time", `level ${level}`),
    );
    item.id = `${name}-${place}`;
    item.title = `run ${pass} by itself: ${what}`;
    item.setAttribute("role", "option");
    item.dataset.at = String(place);
    return item;
  };
  const draw = () => {
    title.replaceChildren(...prose(data().title.replace(/;.*/, "")));
    list.replaceChildren(...rows().map(row));
    choose(at);
  };
  const showRan = () => {
    root.classList.remove("pl-loading");
    [...list.children].forEach((item, place) =>
      item.classList.toggle("pl-prospect-ran", rows()[place][0] === model.get("ran")),
    );
    if (!model.get("ran") || explorerHost.childElementCount) return;
    close = explorer({ model, el: explorerHost });
    root.classList.add("pl-prospects-open");
  };
  commands.bind({
    j: () => choose(at + 1),
    k: () => choose(at - 1),
    g: () => choose(0),
    G: () => choose(rows().length - 1),
    Enter: run,
    Escape: () => false,
  });
  host.append(root, explorerHost);
  draw();
  showRan();
  const leaveModel = subscribe(model, { "change:prospects": draw, "change:ran": showRan, "change:data": showRan });
  return () => {
    leaveModel();
    close();
  };
}

export default { render };
