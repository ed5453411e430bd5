// Where a view is: in its cell, beside the notebook in JupyterLab's dock, or over the whole window.

/** What JupyterLab's extension hears, and cancels where it has a dock to put the view into. */
export const BESIDE = "passlab:beside";

export class Places {
  /** @param {HTMLElement} root of the view */
  constructor(root) {
    this.root = root;
  }

  get isOverWindow() {
    return this.root.classList.contains("pl-window");
  }

  /** Open the view beside the notebook, or over the window where there is no dock; if it is there already, take it back. */
  beside() {
    if (this.isOverWindow) return this.overWindow();
    const asked = new CustomEvent(BESIDE, { bubbles: true, cancelable: true, composed: true });
    if (this.root.dispatchEvent(asked)) return this.overWindow();
    this.root.focus({ preventScroll: true });
    return true;
  }

  /** Show the view over the whole window, or take it back. */
  overWindow() {
    const { root } = this,
      enter = !this.isOverWindow;
    root.classList.toggle("pl-window", enter);
    // In the top layer nothing around the view can clip it: cells may be contained, or drawn by the browser as it likes.
    if (typeof root.showPopover === "function") {
      if (enter) {
        root.popover = "manual";
        root.showPopover();
      } else root.popover = null; // which hides it
    }
    if (!enter) root.scrollIntoView({ block: "nearest" });
    root.focus({ preventScroll: true });
    return true;
  }
}
