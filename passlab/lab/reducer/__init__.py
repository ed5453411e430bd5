"""The smallest program for which something still holds, and the notebooks and scripts that reproduce a fault."""
