"""From a module to an executable: passes, then code for each function, with every `match` as a decision tree."""
