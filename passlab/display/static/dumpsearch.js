// The search of the text of all steps of a dump.

const STEP = 0, LINES = 2; // where a version of a unit has its step and its lines

/** Where text matches over all steps. @param {any} data @param {string} wanted */
export function occurrences(data, wanted) {
  let test;
  try {
    test = new RegExp(wanted);
  } catch {
    return null;
  }
  const hits = data.lines.map((/** @type {any[]} */ line) => test.test(line[0]));
  const out = /** @type {{unit: number, first: number, last: number, line: number}[]} */ ([]);
  data.units.forEach((/** @type {any} */ unit, /** @type {number} */ number) => {
    unit.versions.forEach((/** @type {any} */ version, /** @type {number} */ at) => {
      const line = (version[LINES] || []).find((/** @type {number} */ one) => hits[one]);
      if (line === undefined) return;
      const end = at + 1 < unit.versions.length ? unit.versions[at + 1][STEP] - 1 : data.steps.length, last = out[out.length - 1];
      if (last && last.unit === number && last.last + 1 >= version[STEP]) last.last = end;
      else out.push({ unit: number, first: version[STEP], last: end, line });
    });
  });
  return out;
}
