// Saves a file from the page or the kernel through the browser.

/** Save a page through the browser. @param {string} text @param {string} name */
export function download(text, name) {
  downloadBlob(new Blob([text], { type: "text/html" }), name);
}

/** @param {Blob} blob @param {string} name */
export function downloadBlob(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
