// The search of the text of all steps of a dump.
import { button, el, plural } from "./dom.js";
import { LINES, STEP } from "./dumpfields.js";

/** @import { DumpData } from "./protocol.js" */

/** A pattern as a regular expression, null for what is none. @param {string} pattern */
function expression(pattern) {
  try {
    return new RegExp(pattern);
  } catch {
    return null;
  }
}

/** The matches of a pattern in all steps. @param {DumpData} data @param {string} pattern */
export function occurrences(data, pattern) {
  const test = expression(pattern);
  if (!test) return null;
  const hits = data.lines.map(([text]) => test.test(text));
  const matches = /** @type {{unit: number, first: number, last: number, line: number}[]} */ ([]);
  data.units.forEach((unit, number) => {
    unit.versions.forEach((version, at) => {
      const line = (version[LINES] || []).find((one) => hits[one]);
      if (line === undefined) return;
      const end = at + 1 < unit.versions.length ? unit.versions[at + 1][STEP] - 1 : data.steps.length,
        last = matches[matches.length - 1];
      if (last && last.unit === number && last.last + 1 >= version[STEP]) last.last = end;
      else matches.push({ unit: number, first: version[STEP], last: end, line });
    });
  });
  return matches;
}

/**
 * List the places of a text, each as a button that goes there. @param {HTMLElement} results @param {DumpData} data @param {string} text
 * @param {(unit: number, at: number) => void} go
 */
export function showHits(results, data, text, go) {
  const hits = text ? occurrences(data, text) : [];
  results.hidden = !text;
  const shown = (hits || []).slice(0, 40).map((hit) => {
    const one = button(
      `${data.units[hit.unit].name}: ${hit.first ? `step ${hit.first}` : "input"} to ${hit.last}`,
      () => go(hit.unit, Math.max(0, hit.first - 1)),
    );
    one.append(el("span", "pl-dump-line", `  ${data.lines[hit.line][0].trim().slice(0, 90)}`));
    return one;
  });
  results.replaceChildren(
    el("span", "pl-found", hits === null ? "this is not a regular expression" : plural(hits.length, "hit")),
    ...shown,
  );
}
