"""Programs as lines of text: tokens, colours, words, and the alignment of two programs."""
