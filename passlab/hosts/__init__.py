"""The real compilers, driven: record a run, find the pass at fault with the tool's own counter, make the input smaller.

    rec = passlab.hosts.record("opt -passes='default<O2>' x.ll")
    found = passlab.hosts.bisect("clang -O2 x.c", ["./test.sh"])         # test.sh runs the program that clang made
    small = passlab.hosts.reduce("mlir-opt --canonicalize x.mlir", lambda text: "scf.for" in text)
    passlab.hosts.compare("opt-16 -O2 x.ll", "opt-22 -O2 x.ll").summary()

A command is one line of a shell, or a list of words. The functions add the options that the tool needs: what it prints,
no threads, no cache. For torch, a Python function takes the place of the command.
"""

from __future__ import annotations

from passlab.hosts.bisection import HostBisection, bisect
from passlab.hosts.recording import compare, record
from passlab.hosts.reduction import Reduction, reduce

__all__ = ["HostBisection", "Reduction", "bisect", "compare", "record", "reduce"]
