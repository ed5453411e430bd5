"""Programs written for TVM run unchanged: `import passlab.compat` makes `import tvm` find passlab.

    import passlab.compat               # in a program, before it imports tvm
    python -m passlab.compat script.py  # a program as it is
    %load_ext passlab.compat            # a notebook

`tvm` is then a set of addresses: `addresses` says which of them is what in passlab, `results` gives arrays the methods
`.numpy()` and `.asnumpy()` that such programs call. What has no counterpart raises an error that names it and what to
use instead (`missing`).

While a real `tvm` is imported nothing is installed. `uninstall()` takes everything back.
"""

from __future__ import annotations

from typing import Any

from passlab.compat.finder import install, is_installed, uninstall
from passlab.compat.missing import CompatError, MissingInCompatError

__all__ = ["CompatError", "MissingInCompatError", "install", "is_installed", "load_ipython_extension", "uninstall"]


def load_ipython_extension(ipython: Any) -> None:
    """Make `import tvm` find passlab in this kernel. IPython calls this for `%load_ext passlab.compat`."""
    install()


def unload_ipython_extension(ipython: Any) -> None:
    """Take the addresses of `tvm` back. IPython calls this for `%unload_ext passlab.compat`."""
    uninstall()


install()
