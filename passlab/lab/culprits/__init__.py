"""Which pass, rewrite, kernel, executor or instruction is wrong: every search for a fault, and what it looked at."""
