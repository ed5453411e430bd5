"""Reproducers as plain Python scripts: a program, a pass and an assertion.

Constants are readable NumPy literals: constants of the entry function become parameters, which the script binds.
Constants without a short literal stay in the metadata of the text.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from passlab.errors import Diagnostic, PassError, python_comment, visible
from passlab.infer import infer_module
from passlab.ir.expr import Constant, Expr, Var
from passlab.ir.module import IRModule
from passlab.ir.walk import post_order, rewrite
from passlab.lab.reducer.python_source import PySource, function_source, pass_source
from passlab.lab.reducer.python_values import LITERAL, array_literal
from passlab.oracle.deadline import TimeUpError
from passlab.oracle.drawn_inputs import Draw
from passlab.text.parser import parse
from passlab.text.program_json import save_json
from passlab.transform.base import Pass

if TYPE_CHECKING:
    from passlab.lab.culprits.bisection import Bisection

ENDLESS = 5.0  # seconds for which a script runs a pass that does not end
EXPLICIT = 32  # elements up to which inputs are written as literals; others are drawn again from the seed


def bisection_script(bisection: Bisection, mod: IRModule, arguments: Sequence[Any] = ()) -> str:
    """Return a script in which the guilty pass breaks a program, and which fails once the pass is fixed.

    Raises `PassError` when no pass broke the program.
    """
    event = bisection.event
    if event is None:
        raise PassError(Diagnostic("there is nothing to reproduce: no pass broke the program"))
    criterion = bisection.criterion
    guilty = replayed_source(event.pass_) or pass_source(event.pass_, event.text)
    if guilty.missing and (after := bisection.after(mod)) is not None:
        what = f"passlab cannot write {guilty.missing}: this is what `{visible(event.name)}` made of the program."
        guilty = _replay(event.name, after, what)
    program, bindings = program_source(mod, criterion.entry)
    if exact := exact_source(bisection, mod):
        program, bindings = exact, []
    options = {"opt_level": str(event.context.opt_level)}
    definitions, lazy = [guilty.definition], guilty.lazy
    if criterion.good is not None:
        good = function_source(criterion.good, "good")
        definitions.append(good.definition)
        lazy |= good.lazy
        options["good"] = good.expression
    else:
        options |= _input_options(arguments, criterion.entry, criterion.seed)
        options |= {"without_contract": "True"} if criterion.without_contract else {}
    if isinstance(event.error, TimeUpError):  # the pass may not terminate
        options["seconds"] = f"{ENDLESS:g}"
    if event.context.config:
        options["config"] = repr(event.context.config)
    asked = ", ".join(f"{name}={value}" for name, value in options.items())
    imports = {"import numpy as np", "import passlab", "from passlab import lab, relay, transform"}
    imports |= {f"from passlab import {name}" for name in ("lab", "relay", "transform")}
    lines = [
        f'"""{_docstring_text(bisection.summary())}"""',
        *(["from __future__ import annotations"] if lazy else []),
        "import numpy as np",
        "import passlab",
        "from passlab import lab, relay, transform",
        *(_compact_definition(text, imports) for text in definitions if text),
        program,
        *bindings,
        f"bisection = lab.bisect(net, [{guilty.expression}], {asked})",
        "print(bisection)",
        "assert bisection.found, 'no pass breaks the program any more'",
    ]
    return "\n".join(lines) + "\n"


def replayed_source(pass_: Pass | None) -> PySource | None:
    """Return the Python of a pass that makes one program of any (`replay`); None for other passes."""
    after = getattr(pass_, "replayed", None)
    if pass_ is None or after is None:
        return None
    return _replay(pass_.info.name, after, "What the pass made of these operators, as part of a larger program.")


def _replay(name: str, after: IRModule, what: str) -> PySource:
    program, bindings = program_source(after)
    made = "\n".join(line.replace("net", "made", 1) for line in (program, *bindings))
    # The name may be any text: as a literal it is data.
    body = f"@transform.module_pass(opt_level=0, name={name!r})\ndef replay(mod, ctx):\n    return made"
    return PySource("replay", f"{python_comment(what)}\n{made}\n{body}")


def executor_script(mod: IRModule, kind: str, draw: Draw, summary: str) -> str:
    """Return a script in which an executor is wrong about a program, and which fails once it is fixed."""
    program, bindings = program_source(mod)
    options = {"executors": f'["{kind}"]', **_input_options(draw.arguments, "main", 0)}
    asked = ", ".join(f"{name}={value}" for name, value in options.items())
    lines = [
        f'"""{_docstring_text(summary)}"""',
        "import numpy as np",
        "import passlab",
        "from passlab import lab, relay",
        program,
        *bindings,
        f'culprit = lab.culprit(net, "InferType", {asked})',
        "print(culprit)",
        f"assert culprit.fault, 'the executor `{kind}` computes the right value now'",
    ]
    return "\n".join(lines) + "\n"


def program_source(mod: IRModule, entry: str = "main") -> tuple[str, list[str]]:
    """Return the statement that parses a program, `net`, and the statements that bind its constants."""
    plain, arrays = _constants_as_parameters(mod, entry)
    text = (
        _compact_text(plain.astext(annotate=lambda expr: ""))
        .removeprefix('#[version = "0.0.5"]')
        .strip()
        # The text becomes part of a triple-quoted literal.
        .replace("\\", "\\\\")
        .replace('"""', '\\"\\"\\"')
    )
    lines = [f'net = passlab.parse("""\n{text}\n""")']
    if arrays:
        values = ", ".join(f'"{name}": {array_literal(value)}' for name, value in arrays.items())
        bound = f'relay.build_module.bind_params_by_name(net["{entry}"], {{{values}}})'
        lines[1:] = [f'net["{entry}"] = {bound}']
    return lines[0], lines[1:]


def _names(mod: IRModule) -> dict[str, list[str]]:
    """Return the names of the variables of each function, which text makes unique."""
    return {name: [v.name_hint for v in post_order(function) if isinstance(v, Var)] for name, function in mod.items()}


def exact_source(bisection: Bisection, mod: IRModule) -> str:
    """Return the statement that reads a program from JSON if the fault needs names that text makes unique, or ""."""
    read = parse(mod.astext())
    if _names(read) == _names(mod) or not bisection.breaks(mod) or bisection.breaks(infer_module(read)):
        return ""
    text = json.dumps(json.loads(save_json(mod)))
    return f"# As JSON, since text gives each variable a name of its own.\nnet = passlab.ir.load_json({text!r})"


# A block of one statement, which may have one block on its own line.
_BLOCK = re.compile(r"\{\n\s*([^\n{}]+)\n\s*\}|\{\n\s*([^\n{}]*\{[^\n{}]*\})\n\s*\}")
# The first branch of an `if`, of one statement, up to the second.
_BRANCH = re.compile(r"\{\n\s*([^\n]+)\n\s*(\} else \{[^\n]*)")
# A data type, with each constructor on a line.
_TYPE = re.compile(r"^type [^\n]*\{\n(?:  [^\n]*,\n)+\}", re.MULTILINE)
WIDTH = 110


def _compact_text(text: str) -> str:
    """Return Relay text with each block of one statement on one line, and without empty lines.

    String literals have no line breaks, so they stay unchanged.
    """
    text = _TYPE.sub(lambda m: " ".join(part.strip() for part in m[0].split("\n")), text)
    before = ""
    while before != text:  # inner blocks become statements first
        before = text
        text = _BLOCK.sub(lambda m: _block_on_line(m, f"{{ {m[1] or m[2]} }}"), text)
        text = _BRANCH.sub(lambda m: _block_on_line(m, f"{{ {m[1]} {m[2]}"), text)
    head, mark, rest = text.partition("#[metadata]")
    rest = f"\n{json.dumps(json.loads(rest))}\n" if mark else ""
    return re.sub(r"\n\n+", "\n", head) + mark + rest


def _block_on_line(match: re.Match[str], line: str) -> str:
    """Return a block on one line, or unchanged where that line would be too long."""
    start = match.string.rfind("\n", 0, match.start()) + 1  # the start of its line
    return line if match.start() - start + len(line) <= WIDTH else match[0]


def _compact_definition(definition: str, imports: set[str]) -> str:
    """Return a definition without empty lines and imports that the script has, where its meaning stays the same."""
    kept = [line for line in definition.splitlines() if line.strip()]
    short = "\n".join(kept)
    if ast.dump(ast.parse(short)) != ast.dump(ast.parse(definition)):  # an empty line in a string is part of its value
        return definition.strip("\n")
    return "\n".join(line for line in kept if line not in imports)


def _constants_as_parameters(mod: IRModule, entry: str) -> tuple[IRModule, dict[str, np.ndarray[Any, Any]]]:
    """Return a program in which constants with short literals are parameters of a function, and these constants."""
    if entry not in mod:
        return mod, {}
    main = mod[entry]
    names = {param.name_hint for param in main.params}
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    replace: dict[Expr, Expr] = {}
    params: list[Var] = []
    for node in post_order(main):
        if isinstance(node, Constant) and node.data.ndim and _has_short_literal(node.data):
            name = next(f"c{k}" for k in range(len(names) + 1) if f"c{k}" not in names)
            names.add(name)
            arrays[name] = node.data
            replace[node] = param = Var(name, node.tensor_type)
            params.append(param)
    if not params:
        return mod, {}
    changed = main.with_fields(params=(*main.params, *params), body=rewrite(main.body, replace=replace))
    return mod.with_functions({entry: changed}), arrays


def _has_short_literal(array: np.ndarray[Any, Any]) -> bool:
    return array.size <= LITERAL or bool((array == array.flat[0]).all())


def _input_options(arguments: Sequence[Any], entry: str, seed: int) -> dict[str, str]:
    """Return the options of `bisect` for inputs: the arrays if they are small, else the seed to draw them from."""
    options = {} if entry == "main" else {"entry": repr(entry)}
    plain = all(isinstance(value, np.ndarray) and value.dtype.kind in "fiub" for value in arguments)
    if arguments and plain and sum(value.size for value in arguments) <= EXPLICIT:
        return {**options, "inputs": f"[{', '.join(map(array_literal, arguments))}]"}
    return {**options, "seed": str(seed)} if seed else options


def _docstring_text(text: str) -> str:
    """Return text for a docstring: one line without quotes and backslashes."""
    line = visible(text).replace("\n", " ").replace("\\", "/").replace('"', "'")
    return line if len(line) <= 300 else f"{line[:297]}..."
