/** Puts a search field above each long table of the manual, which leaves the rows that hold every word typed. */

const LONG = 20;
const LOOK_UP = ["passes", "operators", "limits", "errors", "benchmark-results"];
if (document.querySelector(LOOK_UP.map(name => `article > section#${name}`).join(", "))) document.body.classList.add("wide");

for (const table of document.querySelectorAll("article table")) {
  const rows = [...table.tBodies[0].rows].map(row => ({ row, text: row.textContent.toLowerCase() }));
  if (rows.length < LONG) continue;
  const field = document.createElement("input");
  const count = document.createElement("span");
  field.type = "search";
  field.placeholder = "Search this table";
  field.setAttribute("aria-label", field.placeholder);
  field.style.cssText = "width: 20rem; max-width: 100%; margin-right: 1rem; padding: .4rem .6rem; font: inherit; color: inherit;"
    + " background: var(--color-background-secondary); border: 1px solid var(--color-background-border); border-radius: 4px;";
  count.setAttribute("role", "status");
  count.style.color = "var(--color-foreground-secondary)";
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
  (table.closest(".table-wrapper") ?? table).before(field, count);
}
