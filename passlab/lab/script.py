"""Reproducers as plain Python: a program, a pass and a question in a file that anybody can run.

Constants are written as NumPy literals, in place of bytes: those of the function that is asked about become parameters
that the script binds. What cannot be written as a short literal stays in the metadata of the text.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from passlab.errors import Diagnostic, PassError, visible
from passlab.instrument.deadline import TimeUpError
from passlab.instrument.draws import Draw
from passlab.ir.expr import Constant, Expr, Var
from passlab.ir.module import IRModule
from passlab.ir.walk import post_order, rewrite
from passlab.lab.python_source import function_source, pass_source

if TYPE_CHECKING:
    from passlab.lab.bisection import Bisection

LITERAL = 64  # elements up to which an array is written as a list
ENDLESS = 5.0  # seconds for which a script runs a pass that does not end
EXPLICIT = 32  # elements of inputs up to which they are written, and not drawn again from the seed


def bisection_script(bisection: Bisection, mod: IRModule, arguments: Sequence[Any] = ()) -> str:
    """Return a script in which the guilty pass breaks a program, and which fails once the pass is mended.

    Raises `PassError` when no pass broke the program.
    """
    event = bisection.event
    if event is None:
        raise PassError(Diagnostic("there is nothing to reproduce: no pass broke the program"))
    criterion = bisection.criterion
    guilty = pass_source(event.pass_, event.text)
    program, bindings = program_source(mod, criterion.entry)
    options = {"opt_level": str(event.context.opt_level)}
    definitions = [guilty.definition]
    if criterion.good is not None:
        good = function_source(criterion.good, "good")
        definitions.append(good.definition)
        options["good"] = good.expression
    else:
        options |= _inputs(arguments, criterion.entry, criterion.seed)
        options |= {"unpromised": "True"} if criterion.unpromised else {}
    if isinstance(event.error, TimeUpError):  # it would never end by itself
        options["seconds"] = f"{ENDLESS:g}"
    if event.context.config:
        options["config"] = repr(event.context.config)
    asked = ", ".join(f"{name}={value}" for name, value in options.items())
    imports = {"import numpy as np", "import passlab", "from passlab import lab, relay, transform"}
    imports |= {f"from passlab import {name}" for name in ("lab", "relay", "transform")}
    lines = [
        f'"""{_comment(bisection.summary())}"""',
        "import numpy as np",
        "import passlab",
        "from passlab import lab, relay, transform",
        *(_compact(text, imports) for text in definitions if text),
        program,
        *bindings,
        f"found = lab.bisect(net, [{guilty.expression}], {asked})",
        "print(found)",
        "assert found.found, 'no pass breaks the program any more'",
    ]
    return "\n".join(lines) + "\n"


def executor_script(mod: IRModule, kind: str, draw: Draw, summary: str) -> str:
    """Return a script in which an executor is wrong about a program, and which fails once it is mended."""
    program, bindings = program_source(mod)
    options = {"executors": f'["{kind}"]', **_inputs(draw.arguments, "main", 0)}
    asked = ", ".join(f"{name}={value}" for name, value in options.items())
    lines = [
        f'"""{_comment(summary)}"""',
        "import numpy as np",
        "import passlab",
        "from passlab import lab, relay",
        program,
        *bindings,
        f'found = lab.culprit(net, "InferType", {asked})',
        "print(found)",
        f"assert found.fault, 'the executor `{kind}` is right about it now'",
    ]
    return "\n".join(lines) + "\n"


def program_source(mod: IRModule, entry: str = "main") -> tuple[str, list[str]]:
    """Return statements that make a program, `net`: its text, and what binds its constants."""
    plain, arrays = _constants_as_parameters(mod, entry)
    text = (
        _short(plain.astext(annotate=lambda expr: ""))
        .removeprefix('#[version = "0.0.5"]')
        .strip()
        .replace("\\", "\\\\")
        .replace('"""', '\\"\\"\\"')
    )
    lines = [f'net = passlab.parse("""\n{text}\n""")']
    if arrays:
        values = ", ".join(f'"{name}": {array_literal(value)}' for name, value in arrays.items())
        bound = f'relay.build_module.bind_params_by_name(net["{entry}"], {{{values}}})'
        lines[1:] = [f'net["{entry}"] = {bound}']
    return lines[0], lines[1:]


_BLOCK = re.compile(r"\{\n\s*([^\n{}]+)\n\s*\}|\{\n\s*([^\n{}]*\{[^\n{}]*\})\n\s*\}")
_BRANCH = re.compile(r"\{\n\s*([^\n]+)\n\s*(\} else \{[^\n]*)")
_TYPE = re.compile(r"^type [^\n]*\{\n(?:  [^\n]*,\n)+\}", re.MULTILINE)
WIDTH = 110


def _short(text: str) -> str:
    """Return Relay text with blocks of one line written on the line where they begin, and without empty lines.

    What stands in strings has no line breaks, so that no string is changed.
    """
    text = _TYPE.sub(lambda m: " ".join(part.strip() for part in m[0].split("\n")), text)
    before = ""
    while before != text:
        before = text
        text = _BLOCK.sub(lambda m: _line(m, f"{{ {m[1] or m[2]} }}"), text)
        text = _BRANCH.sub(lambda m: _line(m, f"{{ {m[1]} {m[2]}"), text)
    head, mark, rest = text.partition("#[metadata]")
    rest = f"\n{json.dumps(json.loads(rest))}\n" if mark else ""
    return re.sub(r"\n\n+", "\n", head) + mark + rest


def _line(match: re.Match[str], line: str) -> str:
    """Return a block on one line, where that is not too long."""
    start = match.string.rfind("\n", 0, match.start()) + 1
    return line if match.start() - start + len(line) <= WIDTH else match[0]


def _compact(definition: str, imports: set[str]) -> str:
    """Return a definition without empty lines and without imports that the script has, if it means the same."""
    kept = [line for line in definition.splitlines() if line.strip()]
    short = "\n".join(kept)
    if ast.dump(ast.parse(short)) != ast.dump(ast.parse(definition)):
        return definition.strip("\n")
    return "\n".join(line for line in kept if line not in imports)


def _constants_as_parameters(mod: IRModule, entry: str) -> tuple[IRModule, dict[str, np.ndarray[Any, Any]]]:
    """Return a program whose tensors that can be written are parameters of one of its functions, and the tensors."""
    if entry not in mod:
        return mod, {}
    main = mod[entry]
    names = {param.name_hint for param in main.params}
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    replace: dict[Expr, Expr] = {}
    params: list[Var] = []
    for node in post_order(main):
        if isinstance(node, Constant) and node.data.ndim and _is_short(node.data):
            name = next(f"c{k}" for k in range(len(names) + 1) if f"c{k}" not in names)
            names.add(name)
            arrays[name] = node.data
            replace[node] = param = Var(name, node.tensor_type)
            params.append(param)
    if not params:
        return mod, {}
    changed = main.with_fields(params=(*main.params, *params), body=rewrite(main.body, replace=replace))
    return mod.with_functions({entry: changed}), arrays


def _is_short(array: np.ndarray[Any, Any]) -> bool:
    return array.size <= LITERAL or bool((array == array.flat[0]).all())


def array_literal(value: Any) -> str:
    """Return an array as NumPy would be told to make it, bit for bit but for the payload of NaNs."""
    array = np.asarray(value)
    dtype = f'"{array.dtype.name}"'
    if array.size and array.ndim and bool((array == array.flat[0]).all()):
        return f"np.full({array.shape}, {_number(array.flat[0])}, {dtype})"
    if not array.size:
        return f"np.zeros({array.shape}, {dtype})"
    flat = f"[{', '.join(_number(v) for v in array.ravel())}]"
    if array.ndim == 0:
        return f"np.array({_number(array[()])}, {dtype})"
    shape = "" if array.ndim == 1 else f".reshape({array.shape})"
    return f"np.array({flat}, {dtype}){shape}"


def _number(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if np.asarray(value).dtype.kind in "iu":
        return str(int(value))
    wide = float(value)
    if np.isnan(wide):
        return "np.nan"
    if np.isinf(wide):
        return "np.inf" if wide > 0 else "-np.inf"
    return repr(wide)


def _inputs(arguments: Sequence[Any], entry: str, seed: int) -> dict[str, str]:
    """Return what a script says of inputs: the arrays themselves where they are small, else how to draw them again."""
    options = {} if entry == "main" else {"entry": repr(entry)}
    plain = all(isinstance(value, np.ndarray) and value.dtype.kind in "fiub" for value in arguments)
    if arguments and plain and sum(value.size for value in arguments) <= EXPLICIT:
        return {**options, "inputs": f"[{', '.join(map(array_literal, arguments))}]"}
    return {**options, "seed": str(seed)} if seed else options


def _comment(text: str) -> str:
    """Text in a docstring: one line, in which nothing ends the string."""
    line = visible(text).replace("\n", " ").replace("\\", "/").replace('"', "'")
    return line if len(line) <= 300 else f"{line[:297]}..."
