"""The magic for models: `%simplify` makes an ONNX model, or a program of the notebook, smaller."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import line_magic, magics_class, no_var_expand
from IPython.core.magic_arguments import argument, magic_arguments

import passlab
from passlab import lab
from passlab.notebook.naming import NamedMagics, options_of, words


@magics_class
class ModelMagics(NamedMagics):
    """The magics for models of other formats."""

    @no_var_expand
    @magic_arguments()
    @argument("model", help="a file `net.onnx`, or the name of a program or a model of the notebook")
    @argument(
        "--shape",
        metavar="NAME=DIMS",
        action="append",
        default=[],
        help="the shape of an input, as in --shape image=1,3,224,224; may be given several times",
    )
    @argument("--disable", metavar="PASSES", default="", help="passes that must not run, separated by commas")
    @argument("--save", metavar="FILE", default="", help="write the small model to a file")
    @argument("-o", "--out", metavar="NAME", default="", help="the name the result is bound to")
    @line_magic
    def simplify(self, line: str) -> Any:
        """Make a model smaller, and show what each pass removed and whether the values are the same.

        %simplify net.onnx --shape image=1,3,224,224 --save small.onnx -o small
        """
        options = options_of(self.simplify, line)
        self._check_targets(options.out)
        shapes = dict(map(_shape, options.shape))
        small = lab.simplify(self._model(options.model), shapes, words(options.disable))
        if options.save:
            small.save(Path(options.save).expanduser())
        if options.out:
            self.shell.user_ns[options.out] = small
        return small

    def _model(self, name: str) -> Any:
        """Return the program or model of the notebook with this name, or else the path of a file."""
        value = self.shell.user_ns.get(name)
        if isinstance(value, passlab.IRModule) or hasattr(value, "SerializeToString"):
            return value
        path = Path(name).expanduser()
        if not path.is_file():
            kind = f", and `{name}` of this notebook is of type {type(value).__name__}" if value is not None else ""
            raise UsageError(f"there is no file `{name}`{kind}: give a model `net.onnx`, or the name of a program")
        return path


def _shape(text: str) -> tuple[str, tuple[int, ...]]:
    """Return the name and the shape of an input from a text `name=1,3,224,224`."""
    name, _, dims = text.partition("=")
    if not name or not all(dim.strip().isdigit() for dim in dims.split(",")):
        raise UsageError(f"--shape: `{text}` is not NAME=DIMS: --shape image=1,3,224,224")
    return name, tuple(map(int, dims.split(",")))
