/**
 * Puts a search field above each long table of the manual, which leaves the rows that hold every word typed,
 * names the column of each cell where there are three columns or more, because a narrow window shows rows as cards,
 * and lets long names in tables break at their joints.
 */

const LONG = 20;
const LONG_NAME = 24;
const LOOK_UP = ["passes", "operators", "limits", "errors", "benchmark-results"];
if (document.querySelector(LOOK_UP.map(name => `article > section#${name}`).join(", "))) document.body.classList.add("wide");

for (const table of document.querySelectorAll("article table.docutils")) {
  const names = [...table.tHead?.rows[0]?.cells ?? []].map(cell => cell.textContent.trim());
  table.classList.add("cards");
  for (const row of table.tBodies[0].rows) {
    [...row.cells].forEach((cell, i) => {
      if (!cell.textContent.trim()) cell.classList.add("blank");
      else if (i && names.length > 2 && names[i]) cell.dataset.column = names[i];
    });
  }
  for (const code of table.querySelectorAll("td code")) {
    if (code.textContent.length <= LONG_NAME || code.children.length > 1) continue;
    const parts = code.textContent.split(/(?<=[/_.:=])(?=\w)|(?<=[a-z])(?=[A-Z])/);
    (code.firstElementChild ?? code).replaceChildren(...parts.flatMap((part, i) => i ? [document.createElement("wbr"), part] : [part]));
  }
}

for (const table of document.querySelectorAll("article table")) {
  const rows = [...table.tBodies[0].rows].map(row => ({ row, text: row.textContent.toLowerCase() }));
  if (rows.length < LONG) continue;
  const field = document.createElement("input");
  const count = document.createElement("span");
  field.type = "search";
  field.placeholder = "Search this table";
  field.setAttribute("aria-label", field.placeholder);
  count.setAttribute("role", "status");
  const filter = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let left = 0;
    for (const { row, text } of rows) {
      row.hidden = !words.every(word => text.includes(word));
      if (!row.hidden) left++;
    }
    count.textContent = `${left} of ${rows.length}`;
  };
  field.addEventListener("input", filter);
  filter();
  const bar = document.createElement("div");
  bar.className = "table-filter";
  bar.append(field, count);
  (table.closest(".table-wrapper") ?? table).before(bar);
}
