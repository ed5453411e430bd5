"""Random programs that make a pass do something, and the search for one that it breaks."""
