// A page made by the kernel, given to the browser to be saved.

/** Hand a page to the browser to be saved. @param {string} text @param {string} name */
export function download(text, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/html" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
