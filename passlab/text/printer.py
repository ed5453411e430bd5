"""Programs to Relay text in TVM's layout: `astext` with version and metadata, `pretty` without, `render` with marks.

The printed text parses back to an equal program with the same sharing and the same constants, bit for bit; printing
that again gives the same text. A comment after each typed node shows its type. Where TVM's text would not parse back,
this one differs: floats have as many digits as they need, integers of every width and `bfloat16` print in place,
special names and escaped strings are quoted, `extern type` is marked, and indentation stops growing at 50 levels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from passlab.errors import Diagnostic, NodeTypeError
from passlab.ir.adt import Pattern, TypeData
from passlab.ir.expr import Expr, Function
from passlab.ir.gc_pause import building
from passlab.ir.module import IRModule
from passlab.ir.types import GlobalTypeVar, Type
from passlab.text.layout import LayoutPrinter, Rope, flatten
from passlab.text.literals import local_text, name_text
from passlab.text.marks import Annotations, MarkedText
from passlab.text.meta_writer import OMITTED, MetaWriter
from passlab.text.tokens import Parse, run_nested

HEADER = '#[version = "0.0.5"]\n'
Annotate = Callable[[Expr], str]


def astext(node: Any, show_meta_data: bool = True, annotate: Annotate | None = None, spans: bool = False) -> str:
    """Return a module, expression, type or pattern as Relay text with its version line.

    `show_meta_data` appends the section of constants and other objects without a text form; without it a comment says
    that it is missing. `annotate(expr)` returns the text to print after each expression in place of its type. `spans`
    also prints the origin of each node.
    """
    meta = MetaWriter()
    body = _print(node, meta, annotate, None, spans)
    if not meta.objects:
        return HEADER + body
    separator = "\n" if body.endswith("\n") else "\n\n"
    return f"{HEADER}{body}{separator}{meta.section() if show_meta_data else OMITTED}"


def pretty(node: Any) -> str:
    """Return a module, expression, type or pattern as Relay text without version line and metadata."""
    return _print(node, MetaWriter(), None, None, False)


def text_with(meta: MetaWriter, node: Any) -> str:
    """Return the text of `pretty`; objects it refers to are added to `meta`, which several texts may share."""
    return _print(node, meta, None, None, False)


def render(node: Any, annotate: Annotate | None = None, spans: bool = False) -> MarkedText:
    """Return the text of `pretty` with marks that map its ranges to nodes."""
    annotations = Annotations()
    annotated = _print(node, MetaWriter(), annotate, annotations, spans)
    return MarkedText(annotated, annotations.marked)


@building()
def _print(node: Any, meta: MetaWriter, annotate: Annotate | None, annotations: Annotations | None, spans: bool) -> str:
    if isinstance(node, IRModule):
        return _print_module(node, meta, annotate, annotations, spans)
    layout = LayoutPrinter(meta, [node] if isinstance(node, Expr) else [], (), (), annotate, annotations, spans)
    if isinstance(node, Expr):
        text = flatten(run_nested(layout.scope(node, "")))
        return text[:-1]
    if isinstance(node, TypeData):
        return _type_definition(layout, node)[:-1]
    if isinstance(node, Type):
        return layout.types.text(node)
    if isinstance(node, Pattern):
        return layout.pattern(node)
    raise NodeTypeError(Diagnostic(f"only a program, or a part of one, has a Relay text, not {type(node).__name__}"))


def _print_module(
    mod: IRModule, meta: MetaWriter, annotate: Annotate | None, annotations: Annotations | None, spans: bool
) -> str:
    types = sorted(mod.type_definitions.values(), key=lambda d: d.header.name_hint)
    functions = sorted(mod.functions_items(), key=lambda item: item[0].name_hint)
    constructors = [c.name_hint for data in types for c in data.constructors]
    roots = [f for _, f in functions]
    layout = LayoutPrinter(meta, roots, [d.header.name_hint for d in types], constructors, annotate, annotations, spans)
    items: list[Any] = [_type_definition(layout, data) for data in types]
    for var, function in functions:
        name = layout.mark("global", var, f"@{local_text(var.name_hint)}")
        items.append(run_nested(_definition(layout, f"{layout.word('def')} {name}", function)))
    rope: Rope = []
    for index, item in enumerate(items):
        rope += ("\n", item) if index else (item,)
    return flatten(rope)


def _definition(layout: LayoutPrinter, prefix: str, function: Function) -> Parse:
    rope = yield layout.function(prefix, function, "")
    return [layout.mark_rope("function", function, rope), "\n"]


def _type_definition(layout: LayoutPrinter, data: TypeData) -> str:
    header: GlobalTypeVar = data.header
    undo = layout.types.open(data.type_vars)
    generic = f"[{', '.join(map(layout.types.name, data.type_vars))}]" if data.type_vars else ""
    name = layout.mark("type", header, f"{layout.types.text(header)}{generic}")
    lines = []
    for constructor in data.constructors:
        inputs = ", ".join(map(layout.types.text, constructor.inputs))
        name_ = layout.mark("constructor", constructor, name_text(constructor.name_hint))
        lines.append(f"  {name_}({inputs}),\n" if inputs else f"  {name_},\n")
    layout.types.close(undo)
    if data.extern:
        return f"{layout.word('extern')} {layout.word('type')} {name}\n"
    return f"{layout.word('type')} {name} {{\n{''.join(lines) or '  ' + chr(10)}}}\n"
