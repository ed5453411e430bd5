"""The reference of the manual, written while it builds: every public name from its docstring.

A page `api/NAME.md` says in its last line which module it is about (`<!-- api: passlab.transform -->`). Each public
name of that module is added as a Python object, so that the index and the search find it. The programs of the page that
follow a line such as `<!-- example: parse IRModule -->` move to the first of these names, and the others point there.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import relay_pages

API = re.compile(r"<!-- api: ([\w.]+) -->")
CHART = re.compile(r"<!-- chart: (\w+) -->")
EXAMPLE = re.compile(
    r"^<!-- example: (?P<names>[\w ]+) -->\n(?P<blocks>```python\n.*?^```\n(?:\n?```text\n.*?^```\n)?)\n*",
    re.DOTALL | re.MULTILINE,
)
PROGRAM = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
# The modules whose names are public, in the order of the page that lists them: the name of the page, then the module.
MODULES = {
    "passlab": "passlab",
    "ir": "passlab.ir",
    "walk": "passlab.ir.walk",
    "transform": "passlab.transform",
    "instrument": "passlab.instrument",
    "pattern": "passlab.relay.dataflow_pattern",
    "analysis": "passlab.analysis",
    "lab": "passlab.lab",
    "dumps": "passlab.dumps",
    "recorders": "passlab.recorders",
    "course": "passlab.course",
    "display": "passlab.display",
    "vm": "passlab.vm",
    "executor": "passlab.executor",
    "evaluate": "passlab.evaluate",
    "infer": "passlab.infer",
    "text": "passlab.text",
    "op": "passlab.op",
    "frontend": "passlab.frontend",
    "testing": "passlab.testing",
    "relay": "passlab.relay",
    "errors": "passlab.errors",
    "limits": "passlab.limits",
    "devices": "passlab.devices",
    "table": "passlab.table",
    "compat": "passlab.compat",
    "doctor": "passlab.doctor",
}


def public_names(module: ModuleType) -> list[str]:
    """Return the public names of a module: those it lists, or else those it defines, without modules and typing."""
    listed = list(getattr(module, "__all__", ()))
    if listed:
        return sorted(set(listed), key=lambda name: (name.lower(), name))
    names = [name for name in dir(module) if not name.startswith("_")]
    return sorted((name for name in names if _is_own(module, name)), key=lambda name: (name.lower(), name))


def _is_own(module: ModuleType, name: str) -> bool:
    """Whether a name is one that a module offers, and no import that it needs itself."""
    value = getattr(module, name, None)
    if inspect.ismodule(value) or name in {"annotations", "TYPE_CHECKING"}:
        return False
    origin = getattr(value, "__module__", None)
    if module.__name__ in {"passlab.lab", "passlab.relay"}:  # these gather names of other packages
        return isinstance(origin, str) and origin.startswith("passlab")
    return origin == module.__name__


def examples_of(page: str) -> dict[str, tuple[str, ...]]:
    """Return the examples of a page, as Markdown, by the names that they are examples of.

    Each stands alone: what it needs of the programs before it on the page is put in front.
    """
    found: dict[str, tuple[str, ...]] = {}
    before = [_statements(page.partition("<!-- example: ")[0])]
    for example in EXAMPLE.finditer(page):
        own = _statements(example["blocks"])
        needed = _needed(own, [statement for earlier in before for statement in earlier])
        blocks = example["blocks"].replace("```python\n", f"```python\n{needed}", 1)
        before.append(own)
        for name in example["names"].split():
            found[name] = (*found.get(name, ()), blocks)
    return found


def _statements(markdown: str) -> list[tuple[ast.stmt, str]]:
    """Return the statements of the programs in Markdown, each with its text."""
    found = []
    for program in PROGRAM.findall(markdown):
        lines = program.splitlines()
        for statement in ast.parse(program).body:
            first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", ()))])
            found.append((statement, "\n".join(lines[first - 1 : statement.end_lineno])))
    return found


def _needed(own: list[tuple[ast.stmt, str]], before: list[tuple[ast.stmt, str]]) -> str:
    """Return those of the statements before that give the names which a program uses."""
    missing: set[str] = set()
    for statement, _ in reversed(own):
        missing = (missing - _bound(statement)) | _loaded(statement)
    chosen = []
    for statement, text in reversed(before):
        if _bound(statement) & missing:
            missing = (missing - _bound(statement)) | _loaded(statement)
            chosen.append((statement, text))
    imports = [text for statement, text in reversed(chosen) if isinstance(statement, (ast.Import, ast.ImportFrom))]
    others = [text for statement, text in reversed(chosen) if not isinstance(statement, (ast.Import, ast.ImportFrom))]
    parts = ["\n".join(dict.fromkeys(imports)), "\n".join(others)]
    return "".join(f"{part}\n\n" for part in parts if part)


def _bound(statement: ast.stmt) -> set[str]:
    """Return the names that a statement gives a value."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return {statement.name}
    if isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*":
        return set(dir(importlib.import_module(statement.module or "")))
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return {(alias.asname or alias.name).partition(".")[0] for alias in statement.names}
    return _names(statement, ast.Store) - _local(statement)


def _loaded(statement: ast.stmt) -> set[str]:
    """Return the names that a statement uses."""
    return _names(statement, ast.Load) - _local(statement)


def _names(node: ast.AST, kind: type[ast.expr_context]) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, kind)}


def _local(statement: ast.stmt) -> set[str]:
    """Return the names that only comprehensions in a statement have."""
    loops = [part for part in ast.walk(statement) if isinstance(part, ast.comprehension)]
    return {name for loop in loops for name in _names(loop.target, ast.Store)}


def same_elsewhere(module_name: str, name: str) -> list[str]:
    """Return the full names of the very same object on other pages of the reference."""
    value = getattr(importlib.import_module(module_name), name)
    modules = {other: importlib.import_module(other) for other in MODULES.values() if other != module_name}
    return [
        f"{other}.{one}"
        for other, module in modules.items()
        for one in public_names(module)
        if getattr(module, one) is value
    ]


def _with_example(module_name: str, name: str, examples: dict[str, tuple[str, ...]], shown: dict[str, str]) -> str:
    """Return what follows the description of a name: its examples, or where they are."""
    parts = []
    for blocks in examples.get(name, ()):
        if blocks in shown:
            parts.append(f"There is an example at {{py:obj}}`{shown[blocks]} <{module_name}.{shown[blocks]}>`.")
        else:
            shown[blocks] = name
            parts.append(f"Example:\n\n{blocks}")
    if not parts and (others := same_elsewhere(module_name, name)):
        parts.append(f"The same as {{py:obj}}`{others[0]}`.")
    return "\n\n".join(parts)


def reference(module_name: str, page: str = "") -> Iterator[str]:
    """Yield the reference of a module as Markdown, with the examples of its page."""
    module = importlib.import_module(module_name)
    names = public_names(module)
    examples, shown = examples_of(page), dict[str, str]()
    yield "\n| name | what it is |\n|---|---|"
    for name in names:
        yield f"| {{py:obj}}`{name} <{module_name}.{name}>` | {relay_pages._cell(_summary(getattr(module, name)))} |"
    for name in names:
        yield from _entry(module_name, name, getattr(module, name), _with_example(module_name, name, examples, shown))


def _summary(value: Any) -> str:
    doc = _doc(value)
    return " ".join(doc.partition("\n\n")[0].split())


def _doc(value: Any) -> str:
    """Return the docstring of a function or class, and the words of what a plain value is."""
    if inspect.isclass(value) or inspect.isroutine(value) or isinstance(value, property):
        own = inspect.getdoc(value) or ""
        return own
    if inspect.ismodule(value):
        return inspect.getdoc(value) or ""
    kind = type(value)
    text = getattr(value, "__doc__", None)
    if isinstance(text, str) and text != kind.__doc__:
        return inspect.cleandoc(text)
    words = (inspect.getdoc(kind) or "").partition("\n\n")[0] if kind.__module__.startswith("passlab") else ""
    shown = repr(value) if len(repr(value)) < 60 and "<" not in repr(value) else ""
    return f"{f'`{shown}`, a' if shown else 'A'} value of class `{kind.__name__}`. {' '.join(words.split())}".rstrip()


def _entry(module_name: str, name: str, value: Any, example: str) -> Iterator[str]:
    full = f"{module_name}.{name}"
    if inspect.isclass(value):
        yield f"\n::::{{py:class}} {full}{_signature(value)}\n"
        yield f"{_body(value)}\n\n{example}"
        for member, what, kind in _members(value):
            mark = {"property": "py:attribute"}.get(kind, "py:method")
            signature = "" if kind == "property" else _signature(what)
            yield f"\n:::{{{mark}}} {member}{signature}\n\n{_body(what)}\n:::\n"
        yield "::::\n"
    elif callable(value):
        yield f"\n::::{{py:function}} {full}{_signature(value)}\n\n{_body(value)}\n\n{example}\n::::\n"
    else:
        yield f"\n::::{{py:data}} {full}\n\n{_body(value)}\n\n{example}\n::::\n"


def _members(cls: type) -> list[tuple[str, Any, str]]:
    """Return the documented public methods and properties that a class of passlab, or a base of it, defines."""
    found: dict[str, tuple[Any, str]] = {}
    for base in reversed(cls.__mro__):
        if not base.__module__.startswith("passlab"):
            continue
        for name, value in vars(base).items():
            if name.startswith("_"):
                continue
            if isinstance(value, (staticmethod, classmethod)):
                value = value.__func__
            if isinstance(value, property) or type(value).__name__ == "cached_property":
                found[name] = (value, "property")
            elif inspect.isfunction(value):
                found[name] = (value, "method")
    return [(name, value, kind) for name, (value, kind) in sorted(found.items()) if _doc(value)]


def _signature(value: Any) -> str:
    """Return the parameters of a function or class as text, without annotations and with short defaults."""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return "(...)" if callable(value) else ""
    parts: list[str] = []
    bare_star = False
    for parameter in signature.parameters.values():
        if parameter.name in {"self", "cls"} and not parts:
            continue
        text = parameter.name
        if parameter.kind is parameter.VAR_POSITIONAL:
            text, bare_star = f"*{text}", True
        elif parameter.kind is parameter.VAR_KEYWORD:
            text = f"**{text}"
        elif parameter.kind is parameter.KEYWORD_ONLY and not bare_star:
            parts.append("*")
            bare_star = True
        if parameter.default is not parameter.empty:
            text += f"={_default(parameter.default)}"
        parts.append(text)
    return f"({', '.join(parts)})"


def _default(value: Any) -> str:
    text = repr(value)
    plain = isinstance(value, (bool, int, float, str, type(None), tuple, list, dict))
    return text if plain and len(text) <= 40 and "<" not in text and "\n" not in text else "..."


def _body(value: Any) -> str:
    """Return a docstring as Markdown: indented parts are code, everything else is text."""
    return "\n\n".join(_blocks(_doc(value)))


def _blocks(doc: str) -> Iterator[str]:
    for block in re.split(r"\n[ ]*\n", doc.strip("\n")):
        lines = block.split("\n")
        if all(line.startswith("    ") for line in lines if line.strip()):
            yield f"```text\n{textwrap.dedent(block)}\n```"
        elif block.startswith(">>> "):
            yield f"```pycon\n{block}\n```"
        elif re.match(r"\s*\|", block):
            yield block
        else:
            yield relay_pages._prose(block)


def configuration() -> Iterator[str]:
    """Yield the keys that a pass context may carry."""
    from passlab.transform import PassContext

    yield "\n| key | kind | default | meaning |\n|---|---|---|---|"
    for key, facts in sorted(PassContext.list_configs().items()):
        kind, meaning = relay_pages._cell(str(facts["type"])), relay_pages._cell(facts["doc"])
        yield f"| `{key}` | {kind} | `{facts['default']!r}` | {meaning} |"


def instructions() -> Iterator[str]:
    """Yield the instructions of the virtual machine."""
    from passlab.vm.isa import ISA

    yield "\n| number | instruction | operands | meaning |\n|---|---|---|---|"
    for opcode, form in ISA.items():
        operands = ", ".join(f"{operand.name}: {operand.kind}" for operand in form.operands)
        meaning = relay_pages._cell(form.sentence)
        yield f"| {int(opcode)} | `{form.mnemonic}` | {relay_pages._cell(operands)} | {meaning} |"


def magics() -> Iterator[str]:
    """Yield every magic with its description and all of its options."""
    from IPython.core.magic_arguments import MagicArgumentParser

    for name, (function, marks) in sorted(_magics().items()):
        parser = getattr(function, "parser", None)
        yield "\n## " + ", ".join(f"`{mark}{name}`" for mark in marks) + "\n"
        doc = inspect.cleandoc(getattr(function, "__doc__", "") or "")
        description = parser.description if isinstance(parser, MagicArgumentParser) else doc
        yield from (f"{block}\n" for block in _magic_blocks(inspect.cleandoc(description or "")))
        if parser is not None:
            yield from _options(parser)


def _magic_blocks(doc: str) -> Iterator[str]:
    for block in re.split(r"\n[ ]*\n", doc):
        stripped = block.strip()
        if stripped.startswith("::"):
            continue
        yield f"```text\n{textwrap.dedent(block)}\n```" if stripped.startswith("%") else relay_pages._prose(block)


def _magics() -> dict[str, tuple[Any, list[str]]]:
    """Return the magics that loading the extension registers: function, and marks (`%`, `%%` or both), by name."""
    from IPython.core.magic import Magics

    from passlab.notebook import extension

    found: dict[str, tuple[Any, list[str]]] = {}
    registered = [value for value in vars(extension).values() if inspect.isclass(value) and issubclass(value, Magics)]
    for cls in registered:
        for kind, mark in (("line", "%"), ("cell", "%%")):
            for name in extension.MAGICS[kind]:
                if name in cls.magics.get(kind, ()):
                    # `%run` hands scripts on to IPython; its options for programs are those of a method of their own.
                    attribute = "run_program" if name == "run" else cls.magics[kind][name]
                    found.setdefault(name, (getattr(cls, attribute), []))[1].append(mark)
    return found


def commands() -> Iterator[str]:
    """Yield every command of the command line with all of its options."""
    import argparse

    from passlab import cli

    parser = cli._parser()
    (choices,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    words = {action.dest: action.help or "" for action in choices._choices_actions}
    for name, command in sorted(choices.choices.items()):
        yield f"\n## `passlab {name}`\n\n{relay_pages._prose(words[name][:1].upper() + words[name][1:])}.\n"
        yield from _options(command)


def _options(parser: Any) -> Iterator[str]:
    """Yield the arguments of a parser as a table; nothing where there are none."""
    actions = [action for action in parser._actions if action.dest != "help"]
    if actions:
        yield "| argument | meaning |\n|---|---|"
    for action in actions:
        names = ", ".join(f"`{option}`" for option in action.option_strings) or f"`{action.dest}`"
        value = f" `{action.metavar}`" if isinstance(action.metavar, str) and action.option_strings else ""
        yield f"| {names}{value} | {relay_pages._cell(str(action.help or '').replace('%%', '%'))} |"


# What a module is for that has no docstring, because it gathers names of another.
WORDS = {"passlab.relay.dataflow_pattern": "Patterns of programs, and rewriting by them."}


def module_rows() -> Iterator[str]:
    """Yield a row for each module: what it is for, and the ten of its names that manual and lessons use most."""
    root = Path(__file__).parents[1]
    pages = [root / "README.md", *(root / "docs").rglob("*.md"), *(root / "notebooks").glob("*.ipynb")]
    used = Counter(re.findall(r"\w+", " ".join(page.read_text(encoding="utf-8") for page in pages)))
    yield "\n| module | what it is for | names that are used most |\n|---|---|---|"
    for page, module_name in MODULES.items():
        module = importlib.import_module(module_name)
        names = sorted(public_names(module), key=lambda name: (-used[name], name))[:10]
        links = ", ".join(f"{{py:obj}}`{name} <{module_name}.{name}>`" for name in names)
        words = relay_pages._cell(_summary(module) or WORDS[module_name])
        yield f"| [`{module_name}`]({page}.md) | {words} | {links} |"


def limit_rows() -> Iterator[str]:
    """Yield every limit with its default and its meaning, which is the comment in the code."""
    from passlab import limits

    yield "\n| limit | default | what it limits |\n|---|---|---|"
    source = inspect.getsource(limits.Limits)
    for name, comment in re.findall(r"^    (\w+): (?:int|float) = .*?  # (.*)$", source, re.MULTILINE):
        default = getattr(limits.Limits(), name)
        yield f"| `{name}` | {_short(default)} | {relay_pages._cell(comment)} |"


def _short(number: float) -> str:
    """Return a number as people write it: 2 GiB as `2 × 2**30`, others with commas."""
    for power, unit in ((30, "2**30"), (20, "2**20"), (10, "2**10")):
        if isinstance(number, int) and number % 2**power == 0 and number:
            return f"{number // 2**power} × {unit}"
    return f"{number:,}"


RECORDS = Path(__file__).parents[1] / "benchmarks" / "records"
NETWORKS = {
    "resnet18": "ResNet-18", "resnet50": "ResNet-50", "mobilenet": "MobileNet", "squeezenet": "SqueezeNet",
    "vgg11": "VGG-11", "densenet121": "DenseNet-121", "inception_v3": "Inception-v3", "dcgan": "DCGAN",
    "transformer12x128": "transformer", "lstm64x64": "LSTM",
}  # fmt: skip


def benchmark_results() -> Iterator[str]:
    """Yield a table for each record of `benchmarks/records`, with the machine that it was measured on."""
    for path in sorted(RECORDS.glob("*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        yield f"\n## `{path.stem}`\n"
        if isinstance(record, dict) and "machine" in record:
            machine = record["machine"]
            yield (
                f"Python {machine['python']}, NumPy {machine['numpy']}, {machine['processor']}; "
                f"a Python loop took {machine['slowness']:.2f} times as long as on the reference machine.\n"
            )
        if isinstance(record, list):
            record = {str(next(iter(row.values()))): row for row in record}
        facts = {name: value for name, value in record.items() if name not in {"machine", "environment", "threads"}}
        results = facts.get("results", facts)
        yield from _result_rows(results)


def _result_rows(results: dict[str, Any]) -> Iterator[str]:
    """Yield a table of results: one row for each case, or each case and measure where these have measures."""
    rows = {}
    for name, value in results.items():
        if isinstance(value, dict) and any(isinstance(part, dict) for part in value.values()):
            rows |= {f"{name}, {inner}": part for inner, part in value.items()}
        else:
            rows[name] = value
    columns = list(dict.fromkeys(key for row in rows.values() if isinstance(row, dict) for key in row))
    if not columns:
        yield "| measured | result |\n|---|---|"
        yield from (f"| {relay_pages._cell(name)} | {_figure(value)} |" for name, value in rows.items())
        return
    yield f"| measured | {' | '.join(map(relay_pages._cell, columns))} |\n|---|{'---|' * len(columns)}"
    for name, row in rows.items():
        cells = [_figure(row.get(key, "")) for key in columns] if isinstance(row, dict) else [_figure(row)]
        yield f"| {relay_pages._cell(name)} | {' | '.join(cells)} |"


def _figure(value: Any) -> str:
    """Return a figure with three digits; a list as its figures."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return relay_pages._cell(str(value)) if value is not None else "-"
    if isinstance(value, (list, tuple)):
        return ", ".join(_figure(part) for part in value)
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_figure(part)}" for key, part in value.items())
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def network_chart() -> str:
    """Return a chart of the networks as SVG: time on NumPy and with PyTorch, onnxruntime's being 1."""
    results = json.loads((RECORDS / "beside_onnxruntime_1.json").read_text(encoding="utf-8"))["results"]
    bars = []
    for row, (key, name) in enumerate((key, name) for key, name in NETWORKS.items() if key in results):
        top = 24 + row * 34
        bars.append(f'<text x="128" y="{top + 15}" text-anchor="end">{name}</text>')
        for number, what in enumerate(("numpy", "torch")):
            ratio = 1 / results[key]["speed"][what]
            bars.append(
                f'<rect class="{what}" x="136" y="{top + number * 13}" width="{ratio * 150:.0f}" height="11" rx="2"/>'
                f'<text class="small" x="{140 + ratio * 150:.0f}" y="{top + 10 + number * 13}">{ratio:.2f}</text>'
            )
    height = 34 + 34 * sum(key in results for key in NETWORKS)
    line = f'<line x1="286" x2="286" y1="8" y2="{height - 8}"/><text class="small" x="290" y="14">onnxruntime</text>'
    legend = (
        '<rect class="numpy" x="420" y="6" width="11" height="11"/><text class="small" x="436" y="15">NumPy</text>'
        '<rect class="torch" x="480" y="6" width="11" height="11"/><text class="small" x="496" y="15">PyTorch</text>'
    )
    label = "Time of ten networks on NumPy and PyTorch, relative to onnxruntime"
    attributes = f'class="chart" viewBox="0 0 560 {height}" role="img" aria-label="{label}"'
    return f"<svg {attributes}>{line}{legend}{''.join(bars)}</svg>"


CHARTS = {"networks": network_chart}


GENERATED = {
    "api/index": module_rows,
    "reference/configuration": configuration,
    "reference/instructions": instructions,
    "reference/magics": magics,
    "reference/command-line": commands,
    "reference/limits": limit_rows,
    "develop/benchmark-results": benchmark_results,
}


def add_generated_part(app: Any, name: str, source: list[str]) -> None:
    """Append the generated part to a page as it is read."""
    if name in GENERATED:
        source[0] += "\n".join(GENERATED[name]())
    for chart in CHART.findall(source[0]):
        source[0] = source[0].replace(f"<!-- chart: {chart} -->", CHARTS[chart]())
    for module_name in API.findall(source[0]):
        page = source[0]
        source[0] = EXAMPLE.sub("", page) + "\n".join(reference(module_name, page))


def setup(app: Any) -> dict[str, Any]:
    """Join the build."""
    app.connect("source-read", add_generated_part)
    return {"parallel_read_safe": True}
