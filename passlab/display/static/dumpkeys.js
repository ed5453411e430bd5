// The keys of the view of a dump, as its help lists them.

export const DUMP_KEYS = /** @type {[string, string][]} */ ([
  ["j k", "next and previous pass"], ["g G", "first and last"], ["/", "search the passes, by name or unit"], ["c", "only passes that changed something"],
  ["n p", "next and previous pass that wrote this unit, or at which two recordings differ"], ["1 2 3", "what changed, the text, its graph"], ["4 5", "times of a live recording, another recording beside it"], ["a", "unchanged lines too"], ["b", "who made each line"], ["h", "hide noise, or show it"],
  ["t", "search the text of all steps"], ["click", "follow a name"], ["Esc", "let go of it"],
  ["● ○", "changed something, nothing"], ["◌", "the dump does not tell"], ["?", "behind a sign: assumed, the dump does not say so"], ["⊘ ✕", "took away what it ran on, failed"],
]);
