/** Puts a button on each program of the manual that copies it; on a page of recipes, together with its set-up. */

const setup = document.querySelector("details.setup pre")?.textContent ?? "";

/** The programs of a recipe from its heading to this one, after the lines that come first. */
function withSetup(block) {
  const recipe = block.closest("section");
  const blocks = [...recipe.querySelectorAll("div.highlight-python")];
  const texts = blocks.slice(0, blocks.indexOf(block) + 1).map(each => each.querySelector("pre").textContent);
  return [setup, ...texts].join("\n");
}

/** The text of a program; of one with prompts, only what was typed. */
function textOf(block) {
  const text = block.querySelector("pre").textContent;
  if (!block.matches(".highlight-pycon")) { return text; }
  return text.split("\n").filter(line => /^(>>>|\.\.\.)( |$)/.test(line)).map(line => `${line.slice(4)}\n`).join("");
}

const PROGRAMS = ["python", "pycon", "relay", "sh"].map(kind => `article div.highlight-${kind}`).join(", ");
for (const block of document.querySelectorAll(PROGRAMS)) {
  const isRecipe = setup && block.matches(".highlight-python") && !block.closest("details.setup");
  const button = document.createElement("button");
  const label = isRecipe ? "Copy with set-up" : "Copy";
  button.type = "button";
  button.className = "copy-program";
  button.textContent = label;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(isRecipe ? withSetup(block) : textOf(block));
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = label; }, 1500);
  });
  block.append(button);
}
