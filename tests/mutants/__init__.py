"""Small changes of the syntax tree of passlab: those planted on purpose, and those drawn at random to measure the tests."""
