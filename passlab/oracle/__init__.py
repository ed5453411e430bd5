"""The oracle of every search: draws inputs, runs programs within a time limit, compares values under a contract."""
