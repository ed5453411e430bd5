"""Programs written for TVM run unchanged: `import passlab.compat` makes `import tvm` find passlab.

    import passlab.compat               # in a program, before it imports tvm
    python -m passlab.compat script.py  # a program as it is
    %load_ext passlab.compat            # a notebook

`tvm` is then a set of addresses: `addresses` maps them to passlab, `results` gives arrays the methods `.numpy()` and
`.asnumpy()` that such programs call. A name without a counterpart raises an error that names it and an alternative.

Nothing is installed while a real `tvm` is imported. `uninstall()` undoes everything.
"""

from __future__ import annotations

from typing import Any

from passlab.compat.finder import CompatError, MissingInCompatError, install, is_installed, uninstall

__all__ = ["CompatError", "MissingInCompatError", "install", "is_installed", "load_ipython_extension", "uninstall"]


def load_ipython_extension(ipython: Any) -> None:
    """Make `import tvm` find passlab in this kernel. IPython calls this for `%load_ext passlab.compat`.

    >>> from passlab import compat
    >>> compat.load_ipython_extension(None)  # `%load_ext passlab.compat` makes this call
    >>> compat.is_installed()
    True
    >>> compat.uninstall()
    """
    install()


def unload_ipython_extension(ipython: Any) -> None:
    """Remove the addresses of `tvm` again. IPython calls this for `%unload_ext passlab.compat`."""
    uninstall()


install()
