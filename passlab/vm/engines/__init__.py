"""The engines: templates of instructions filled in, single steps on frames, and whole functions as Python."""
