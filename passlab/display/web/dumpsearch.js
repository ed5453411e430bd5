// The search of the text of all steps of a dump.
import { button, el, plural } from "./dom.js";

const STEP = 0, LINES = 2; // indices of the step and the lines of a version of a unit

/** The matches of a pattern in all steps. @param {any} data @param {string} pattern */
export function occurrences(data, pattern) {
  let test;
  try {
    test = new RegExp(pattern);
  } catch {
    return null;
  }
  const hits = data.lines.map((/** @type {any[]} */ line) => test.test(line[0]));
  const matches = /** @type {{unit: number, first: number, last: number, line: number}[]} */ ([]);
  data.units.forEach((/** @type {any} */ unit, /** @type {number} */ number) => {
    unit.versions.forEach((/** @type {any} */ version, /** @type {number} */ at) => {
      const line = (version[LINES] || []).find((/** @type {number} */ one) => hits[one]);
      if (line === undefined) return;
      const end = at + 1 < unit.versions.length ? unit.versions[at + 1][STEP] - 1 : data.steps.length, last = matches[matches.length - 1];
      if (last && last.unit === number && last.last + 1 >= version[STEP]) last.last = end;
      else matches.push({ unit: number, first: version[STEP], last: end, line });
    });
  });
  return matches;
}

/**
 * List the places of a text, each as a button that goes there. @param {HTMLElement} results @param {any} data @param {string} text
 * @param {(unit: number, at: number) => void} go
 */
export function showHits(results, data, text, go) {
  const hits = text ? occurrences(data, text) : [];
  results.hidden = !text;
  const shown = (hits || []).slice(0, 40).map((hit) => {
    const one = button(`${data.units[hit.unit].name}: ${hit.first ? `step ${hit.first}` : "input"} to ${hit.last}`, () => go(hit.unit, Math.max(0, hit.first - 1)));
    one.append(el("span", "pl-dump-line", `  ${data.lines[hit.line][0].trim().slice(0, 90)}`));
    return one;
  });
  results.replaceChildren(el("span", "pl-found", hits === null ? "this is no regular expression" : plural(hits.length, "hit")), ...shown);
}
