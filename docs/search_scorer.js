/** How the manual ranks what a search finds: pages that answer a question before names of the Python interface. */
var Scorer = {
  score([page, , , , score, , kind]) {
    if (kind === "object") return score;
    if (/^how-to\/(for-|troubleshooting)/.test(page)) return score + 4;
    if (/^(how-to|tutorials|explanation)\//.test(page)) return score + 2.5;
    if (/^reference\//.test(page)) return score + 1.5;
    if (/^lessons\//.test(page)) return score;
    if (/^(api|develop)\//.test(page)) return score - 4;
    return score;
  },
  objNameMatch: 8,
  objPartialMatch: 1,
  objPrio: { 0: 4, 1: 0, 2: -5 },
  objPrioDefault: 0,
  title: 22,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
