// Requests to the kernel. A page has none; in a notebook it may have been shut down.

/**
 * Whether a kernel was there when the view was opened.
 * @param {{send?: unknown}} model
 */
export const hasKernel = (model) => typeof model.send === "function";

/**
 * Send a request; its answer comes as a message or as a change of the model.
 * @template Request
 * @param {{send?(request: Request): void}} model @param {Request} request
 * @returns {boolean} whether a kernel receives it
 */
export function ask(model, request) {
  if (!model.send) return false;
  try {
    model.send(request);
    return true;
  } catch {
    return false;
  }
}
