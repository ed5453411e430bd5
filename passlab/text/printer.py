"""Programs to Relay text in TVM's layout: `astext` with version and metadata, `pretty` without, `render` with marks.

The printed text parses back to an equal program with the same sharing and the same constants, bit for bit; printing
that again gives the same text. A comment after each typed node shows its type. This text differs from TVM's where TVM's
would not parse back. Floats have as many digits as they need, integers of every width and `bfloat16` print in place,
and special names and escaped strings are quoted. `extern type` is marked, and indentation stops growing at 50 levels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from passlab.arguments import checked
from passlab.errors import Diagnostic, NodeTypeError, visible
from passlab.ir.adt import Constructor, Pattern, PatternConstructor, PatternTuple, PatternVar, PatternWildcard, TypeData
from passlab.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from passlab.ir.gc_pause import building
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.types import GlobalTypeVar, Type
from passlab.ir.walk import CHILDREN
from passlab.text.attr_printer import AttrPrinter, deep_attrs
from passlab.text.literals import local_text, name_text, quote, scalar_text
from passlab.text.marks import CLOSE, Annotations, MarkedText, first_mark, without_marks
from passlab.text.meta_writer import MODULE_ATTRS, OMITTED, MetaWriter
from passlab.text.naming import NameTable
from passlab.text.tensor_bytes import enough_memory
from passlab.text.tokens import Parse, run_nested

DEEPEST = 50
_INDENTS = ["  " * level for level in range(DEEPEST + 1)]
_ATOMS = (Constant, Op, GlobalVar, Constructor)
_COMMENTED = (Constant, Call, Var, Function, Tuple, TupleGetItem)
Rope = list[Any]  # of texts, ropes, and of what gets its text late: a node, or (indent, node) for the line of one
Piece = str | Rope | Expr


def flatten(rope: Rope) -> str:
    """Join a rope."""
    out: list[str] = []
    stack = [iter(rope)]
    while stack:
        for piece in stack[-1]:
            if type(piece) is str:
                out.append(piece)
            else:
                stack.append(iter(piece))
                break
        else:
            stack.pop()
    return "".join(out)


def shared_nodes(roots: Iterable[Expr]) -> set[Expr]:
    """Return the nodes with more than one use below `roots`."""
    seen: set[Expr] = set()
    shared: set[Expr] = set()
    stack = list(roots)
    push = stack.extend
    while stack:
        node = stack.pop()
        if node in seen:
            shared.add(node)
            continue
        seen.add(node)
        kind = type(node)
        if type(node) is Call:
            push(node.args)
            if node.attrs is not None:
                push(deep_attrs(node))
            if type(node.op) is not Op:
                stack.append(node.op)
        elif type(node) is Function:
            stack.append(node.body)
        elif type(node) is Let:
            push((node.value, node.body))
        else:
            push(CHILDREN[kind](node))
    return shared


class LayoutPrinter(AttrPrinter):
    """Prints expressions into one text; names and numbers continue from one definition to the next."""

    def __init__(
        self,
        meta: MetaWriter,
        roots: Iterable[Expr],
        taken: Iterable[str],
        constructors: Iterable[str],
        annotate: Callable[[Expr], str] | None,
        annotations: Annotations | None,
        spans: bool,
    ) -> None:
        super().__init__(meta, taken, annotations)
        self.shared = shared_nodes(roots)
        self.names = NameTable()
        # operators hidden by constructors of the same name are marked as operators
        self.hidden = frozenset(constructors)
        self.annotate = annotate
        self.spans = spans
        # whether lines get their text when they are shown, where type parameters have no names any more
        self.late = annotations is not None and annotate is not None
        self.ref: dict[Expr, str] = {}
        self.pieces: dict[Expr, Piece] = {}
        self.count = 0
        self._free_names: dict[Expr, str] = {}
        self._defined: list[Rope] = []  # the block of each definition with another use
        self._forms: dict[type, Callable[..., Parse]] = {
            Let: self._let,
            If: self._if,
            Match: self._match,
            Function: self._literal,
            RefCreate: self._ref,
            RefRead: self._ref,
            RefWrite: self._ref,
        }

    # ------------------------------------------------------------ small texts
    def info(self, node: Expr) -> str:
        """Return the comment after a node: its type, or the result of `annotate`."""
        if self.annotate is not None:
            text = self.annotate(node) or ""
            return text if self.annotations is None else without_marks(text)
        ty = node._checked_type
        span = node.span if self.spans else None
        if (ty is None and span is None) or type(node) not in _COMMENTED:
            return ""
        text = "" if ty is None else f" ty={self.types.comment(ty)}"
        if span is not None:
            text += f" span={visible(str(span))}"
        if "*/" in text or "/*" in text:
            text = text.replace("*/", "*\\/").replace("/*", "/\\*")
        return f" {self.mark('comment', node, f'/*{text} */')}"

    def binder(self, var: Var) -> str:
        """Return the text of a variable's binder: name, device, type, comment. Assigns its name."""
        if var in self.ref and self.annotations is None:
            text = self.ref[var]
        else:
            text = f"%{local_text(self.names.unique(var.name_hint))}" if var not in self.ref else self._name_again(var)
            self.ref[var] = self.mark("use", var, text)
            text = self.mark("binder", var, text)
        if var.virtual_device is not None:
            text += f" {{virtual_device={self.value_text(var.virtual_device)}}}"
        if var.type_annotation is not None:
            text += f": {self.mark('type', var.type_annotation, self.types.text(var.type_annotation))}"
        return text + self.info(var)

    def variable_name(self, node: Expr) -> str | None:
        return self.ref.get(node) if type(node) is Var else None

    def _name_again(self, node: Expr) -> str:
        return self.ref[node].rpartition("\x02")[2].removesuffix(CLOSE)

    def _atom(self, node: Expr) -> str:
        """Return the text of an atom other than a variable."""
        if type(node) is Constant:
            text = scalar_text(node.data) or self.meta.reference("relay.Constant", node)
            return self.mark("constant", node, text)
        if type(node) is Op:
            name = node.name
            return self.mark("op", node, f"op{quote(name)}" if name in self.hidden else self.op_name(name))
        if type(node) is GlobalVar:
            return self.mark("global", node, f"@{local_text(node.name_hint)}")
        name = name_text(node.name_hint)  # type: ignore[attr-defined]
        return self.mark("constructor", node, name)

    # ------------------------------------------------------------ late texts
    def use(self, node: Expr) -> str:
        """Return the text of an operand that has a name."""
        text = self.ref[node]
        if self.annotations is None or text[:1] == "\x01":
            return text
        if not text:  # a constant that nobody has looked at
            text = self._atom(node) + self.info(node)
        elif text[0] == "%":
            text = self.annotations.mark("use", node, text)
        self.ref[node] = text
        return text

    def late_text(self, node: Expr) -> str:
        """Return the text of a node whose operands have names."""
        return self._flat(node, [], "") + self.info(node)

    def late_line(self, indent: str, node: Expr) -> str:
        """Return the line that defines a temporary."""
        name = self.mark("temporary", node, self._name_again(node))
        return f"{indent}{name} = {self.late_text(node)};\n"

    def _named_operands(self, node: Any, out: Rope, indent: str) -> Expr:
        """Return a node after naming its operands, in the order in which its text would."""
        ref = self.ref
        kind = type(node)
        for part in node.args if kind is Call else node.fields if kind is Tuple else (node.tuple_value,):
            if part not in ref:
                self._define(part, out, indent)
        if kind is Call and node.op not in ref and type(node.op) is not Constructor:
            self._define(node.op, out, indent)
        return node  # type: ignore[no-any-return]

    # ------------------------------------------------------------ references
    def reference(self, node: Expr, out: Rope, indent: str) -> str:
        """Return the text of an operand. An unnamed one gets its number, and its line at the end of `out`."""
        if node in self.ref:
            return self.use(node)
        return self._define(node, out, indent) or self.use(node)

    def _define(self, node: Expr, out: Rope, indent: str) -> str:
        """Name an operand. Returns its text, "" if its line is late."""
        piece = self.pieces.pop(node)
        kind = type(node)
        if kind in _ATOMS:
            if type(node) is Constructor and not node.inputs:
                piece = self.mark("constructor", node, f"ctor{quote(node.name_hint)}")
            assert isinstance(piece, str)
            text = piece + self.info(node)
            self.ref[node] = text if type(node) is Constant else piece
            return text
        if node in self.shared:
            self._defined.append(out)
        if type(node) is Var:
            self.ref[node] = self._free_names.pop(node)
            out += (indent, self.word("free_var"), " ", piece, ";\n")
            return self.ref[node]
        name = f"%{self.count}"
        self.count += 1
        if isinstance(piece, Expr):
            self.ref[node] = name
            out.append((indent, node))
            return ""
        if self.annotations is None:
            self.ref[node] = name
        else:
            self.ref[node] = self.annotations.mark("use", node, name)
            name = self.annotations.mark("temporary", node, name)
        if type(piece) is str:
            out.append(f"{indent}{name} = {piece}{self.info(node)};\n")
        else:
            out += (indent, name, " = ", piece, self.info(node), ";\n")
        return self.ref[node]

    # ------------------------------------------------------------ dataflow
    def value(self, root: Expr, out: Rope, indent: str, inline: bool = False, inner: str | None = None) -> Parse:
        """Print `root` for use in the block `out`; returns the text that refers to it.

        With `inline` it is in tail position. Its own lines are then indented by `inner` (usually `indent`).
        """
        ref, pieces, late = self.ref, self.pieces, self.late
        if root in ref:
            return self.use(root)
        in_place = inline and root not in self.shared
        stack: list[Expr | None] = [root]
        push, pop = stack.append, stack.pop
        while stack:
            node = pop()
            if node is None:
                node = pop()
                is_late = late and not (type(node) is Call and deep_attrs(node))
                pieces[node] = (self._named_operands if is_late else self._flat)(node, out, indent)  # type: ignore[index]
                continue
            if node in ref or node in pieces:
                continue
            kind = type(node)
            if kind in _FLAT:
                push(node)
                push(None)
                for kid in self.operands(node):
                    if kid not in ref:
                        push(kid)
            elif late and type(node) is Constant and _is_plain(node):
                ref[node] = ""
            elif kind in _ATOMS:
                pieces[node] = self._atom(node)
            elif type(node) is Var:
                pieces[node] = self.binder(node)
                self._free_names[node] = self.ref.pop(node)
            else:
                is_inline = in_place and node is root
                mark = len(self._defined)
                level = (inner or indent) if is_inline else indent
                pieces[node] = yield self._forms[kind](node, out, indent, level, is_inline)
                if not is_inline and any(block is not out for block in self._defined[mark:]):
                    self.reference(node, out, indent)  # later lines use names that it defines, so it must precede them
        if in_place and type(root) not in _ATOMS and type(root) is not Var:
            piece = self.pieces.pop(root)
            if isinstance(piece, Expr):
                return piece
            info = self.info(root)
            if not info:
                return piece
            return piece + info if type(piece) is str else [piece, info]
        return self.reference(root, out, indent)

    def flat_text(self, node: Expr, out: Rope, indent: str) -> str | Expr | None:
        """Return the text of a node whose operands all have names, the node if it is late; None for any other node."""
        ref = self.ref
        if node in ref:
            return self.use(node)
        if type(node) is not Call or node in self.shared or deep_attrs(node):
            return None
        if node.op not in ref and type(node.op) is not Constructor:
            return None
        for arg in node.args:
            if arg not in ref:
                return None
        return node if self.late else self._call(node, out, indent) + self.info(node)

    def operands(self, node: Any) -> Iterable[Expr]:
        """Return the operands of a dataflow node, last visited first."""
        kind = type(node)
        if kind is Call:
            deep = deep_attrs(node)
            return (*deep[::-1], *node.args[::-1], node.op) if deep else (*node.args[::-1], node.op)
        return node.fields[::-1] if kind is Tuple else (node.tuple_value,)

    def _flat(self, node: Any, out: Rope, indent: str) -> str:
        kind = type(node)
        if kind is Call:
            return self._call(node, out, indent)
        if kind is TupleGetItem:
            value = self.reference(node.tuple_value, out, indent)
            if type(node.tuple_value) is Constant:  # `1f.0` would be one malformed number
                value = f"({value})"
            return f"{value}.{node.index}"
        fields = ", ".join([self.reference(f, out, indent) for f in node.fields])
        return f"({fields},)" if len(node.fields) == 1 else f"({fields})"

    def _call(self, node: Call, out: Rope, indent: str) -> str:
        ref, late = self.ref, self.late
        args = []
        for arg in node.args:
            text = None if late else ref.get(arg)
            args.append(text if text is not None else self.reference(arg, out, indent))
        op, attrs = node.op, node.attrs
        if attrs is not None:
            args += self.call_attrs(node, out, indent)
        if type(op) is Constructor:
            callee = self._atom(op)
            if not op.inputs and not args:
                return callee
        else:
            callee = (not late and ref.get(op)) or self.reference(op, out, indent)
        text = f"{callee}({', '.join(args)})"
        return text if self.annotations is None else self.annotations.mark("call", node, text)

    # ------------------------------------------------------------ nested constructs
    def scope(self, node: Expr, level: str) -> Parse:
        """Print the lines of a block; returns its rope."""
        rope: Rope = []
        tail = self.flat_text(node, rope, level) or (yield self.value(node, rope, level, True))
        rope += (level, tail, "\n")
        return rope

    def _let(self, node: Let, out: Rope, indent: str, inner: str, is_inline: bool) -> Parse:
        level = inner if is_inline else _deeper(inner)
        rope: Rope = []
        block, block_indent = out, indent
        current: Expr = node
        first = is_inline
        while type(current) is Let and (current is node or not self._is_printed(current)):
            binder = self.binder(current.var)
            piece = self.flat_text(current.value, block, block_indent)
            if piece is None:
                piece = yield self.value(current.value, block, block_indent, True, level)
            rope += ("" if first else level, self.word("let"), " ", binder, " = ", piece, ";\n")
            first = False
            block, block_indent, current = rope, level, current.body
        tail = yield self.value(current, rope, level, True)
        rope += (level, tail)
        return rope if is_inline else ["(\n", rope, "\n", inner, ")"]

    def _is_printed(self, node: Expr) -> bool:
        return node in self.shared or node in self.ref or node in self.pieces

    def _if(self, node: If, out: Rope, indent: str, inner: str, is_inline: bool) -> Parse:
        cond = yield self.value(node.cond, out, indent)
        level = _deeper(inner)
        true_block = yield self.scope(node.true_branch, level)
        false_block = yield self.scope(node.false_branch, level)
        head, middle = f"{self.word('if')} (", f"}} {self.word('else')} {{\n"
        rope: Rope = [head, cond, ") {\n", true_block, inner, middle, false_block, inner, "}"]
        return self.mark_rope("branch", node, rope)

    def _match(self, node: Match, out: Rope, indent: str, inner: str, is_inline: bool) -> Parse:
        data = yield self.value(node.data, out, indent)
        level = _deeper(inner)
        rope: Rope = [self.word("match" if node.complete else "match?"), " (", data, ") {\n"]
        for clause in node.clauses:
            pattern = self.pattern(clause.lhs)
            arm = yield self.scope(clause.rhs, _deeper(level))
            rope += (level, pattern, " => {\n", arm, level, "},\n")
        if not node.clauses:
            rope += (level, "\n")
        rope += (inner, "}")
        return self.mark_rope("branch", node, rope)

    def _ref(self, node: Any, out: Rope, indent: str, inner: str, is_inline: bool) -> Parse:
        name = {RefCreate: "ref", RefRead: "ref_read", RefWrite: "ref_write"}[type(node)]
        first = yield self.value(node.value if name == "ref" else node.ref, out, indent)
        second = (yield self.value(node.value, out, indent)) if name == "ref_write" else None
        return f"{self.word(name)}({first})" if second is None else f"{self.word(name)}({first}, {second})"

    def _literal(self, node: Function, out: Rope, indent: str, inner: str, is_inline: bool) -> Parse:
        rope = yield self.function(f"{self.word('fn')} ", node, inner)
        return self.mark_rope("function", node, rope)

    def function(self, prefix: str, node: Function, indent: str) -> Parse:
        """Print a function after `prefix`; returns its rope."""
        undo = self.types.open(node.type_params)
        generic = f"[{', '.join(map(self.types.name, node.type_params))}]" if node.type_params else ""
        params = [self.binder(p) for p in node.params]
        params += [
            f"{self.mark('attribute', (node, k), self.key(k))}={self.value_text(v)}" for k, v in node.attrs.items()
        ]
        if node.virtual_device is not None:
            params.append(f"virtual_device={self.value_text(node.virtual_device)}")
        result = ""
        if node.ret_type is not None:
            result = f"-> {self.mark('type', node.ret_type, self.types.text(node.ret_type))} "
        body = yield self.scope(node.body, _deeper(indent))
        self.types.close(undo)
        return [f"{prefix}{generic}({', '.join(params)}) {result}{{\n", body, indent, "}"]

    def pattern(self, root: Pattern) -> str:
        """Print a pattern, and name its variables."""
        out: list[str] = []
        stack: list[Any] = [root]
        while stack:
            item = stack.pop()
            if type(item) is str:
                out.append(item)
            elif type(item) is PatternVar:
                out.append(self.binder(item.var))
            elif type(item) is PatternWildcard:
                out.append("_")
            else:
                if type(item) is PatternConstructor:
                    out.append(self._atom(item.constructor))
                    if not item.patterns:
                        continue
                stack.append(")")
                for index in range(len(item.patterns) - 1, -1, -1):
                    stack.append(item.patterns[index])
                    if index:
                        stack.append(", ")
                stack.append("(")
        return "".join(out)

    def mark_rope(self, kind: str, node: Expr, rope: Rope) -> Rope:
        """Return a rope with one mark around it."""
        return rope if self.annotations is None else [self.annotations.open(kind, node), rope, CLOSE]


_FLAT = (Call, Tuple, TupleGetItem)
_PLAIN = frozenset(map(np.dtype, ("bool", "int8", "int16", "int32", "int64", "uint8", "float32", "float64")))


def _is_plain(node: Constant) -> bool:
    """Whether a constant is a number with a text of its own."""
    data = node.data
    return not data.ndim and data.dtype in _PLAIN and bool(data == data)


class LateText:
    """The rope of a printed program as text, of which some lines can be had without the others."""

    def __init__(self, rope: Rope, layout: LayoutPrinter) -> None:
        self.rope, self.layout = rope, layout

    def _pieces(self) -> Iterator[Any]:
        """Yield texts, nodes and late lines in order."""
        stack = [iter(self.rope)]
        while stack:
            for piece in stack[-1]:
                if type(piece) is list:
                    stack.append(iter(piece))
                    break
                yield piece
            else:
                stack.pop()

    def _text(self, piece: Any) -> str:
        if type(piece) is str:
            return piece
        return self.layout.late_line(*piece) if type(piece) is tuple else self.layout.late_text(piece)

    def __str__(self) -> str:
        return "".join(map(self._text, self._pieces()))

    @cached_property
    def lines(self) -> int:
        """The number of ends of lines."""
        return sum(p.count("\n") if type(p) is str else type(p) is tuple for p in self._pieces())

    def window(self, first: int, most: int) -> str:
        """Return the lines from number `first` on, at most `most`."""
        kept: list[str] = []
        line = start = 0
        for piece in self._pieces():
            end = line + (piece.count("\n") if type(piece) is str else type(piece) is tuple)
            if end >= first and line < first + most:
                start = start if kept else line
                kept.append(self._text(piece))
            line = end
        return "\n".join("".join(kept).split("\n")[first - start :][:most])

    def first_line_of(self, is_meant: Callable[[Any], Any], marked: list[tuple[str, Any]]) -> int:
        """Return the number of the first line with a mark of a node that is meant, or of the last line."""
        line = 0
        for piece in self._pieces():
            if type(piece) is str:
                mark = first_mark(piece, is_meant, marked)
                line += piece.count("\n", 0, mark)
                if mark is not None:
                    return line
                continue
            node = piece[1] if type(piece) is tuple else piece
            if is_meant(node) or any(type(part) is Constant and is_meant(part) for part in CHILDREN[type(node)](node)):
                return line
            line += type(piece) is tuple
        return line


def _deeper(indent: str) -> str:
    return _INDENTS[min(len(indent) // 2 + 1, DEEPEST)]


__all__ = ["LayoutPrinter", "PatternTuple", "flatten", "shared_nodes"]


HEADER = '#[version = "0.0.5"]\n'
Annotate = Callable[[Expr], str]


@checked
def astext(node: Any, show_meta_data: bool = True, annotate: Annotate | None = None, spans: bool = False) -> str:
    """Return a module, expression, type or pattern as Relay text with its version line.

    `show_meta_data` appends the section of constants, attributes of the module and other objects without a text form;
    without it a comment says that it is missing. `annotate(expr)` returns the text to print after each expression in
    place of its type. `spans` also prints the origin of each node. Raises `NodeTypeError` for other objects, and
    `LimitError` where memory is short.

    >>> print(passlab.parse("def @main(%x: float32) { exp(%x) }").astext(show_meta_data=False).strip())
    #[version = "0.0.5"]
    def @main(%x: float32 /* ty=float32 */) -> float32 {
      exp(%x) /* ty=float32 */
    }
    """
    meta = MetaWriter()
    hint = "`show_meta_data=False` leaves the weights out; `Recording.save` and `relay.save_param_dict` write files"
    with enough_memory("the text of this program", hint):
        body = _print(node, meta, annotate, None, spans)
        if isinstance(node, IRModule) and node.attrs:
            meta.reference(MODULE_ATTRS, node.attrs)
        if not meta.objects:
            return HEADER + body
        separator = "\n" if body.endswith("\n") else "\n\n"
        return f"{HEADER}{body}{separator}{meta.section() if show_meta_data else OMITTED}"


def pretty(node: Any) -> str:
    """Return a module, expression, type or pattern as Relay text without version line and metadata.

    Raises `NodeTypeError` for other objects.
    """
    return _print(node, MetaWriter(), None, None, False)


def text_with(meta: MetaWriter, node: Any) -> str:
    """Return the text of `pretty`; objects it refers to are added to `meta`, which several texts may share."""
    return _print(node, meta, None, None, False)


@checked
def render(node: Any, annotate: Annotate | None = None, spans: bool = False) -> MarkedText:
    """Return the text of `pretty` with marks that map its ranges to nodes. Raises `NodeTypeError` for other objects."""
    annotations = Annotations()
    if isinstance(node, IRModule) and annotate is not None:
        with building():
            text: str | LateText = LateText(*_module_rope(node, MetaWriter(), annotate, annotations, spans))
    else:
        text = _print(node, MetaWriter(), annotate, annotations, spans)
    return MarkedText(text, annotations.marked)


@building()
def _print(node: Any, meta: MetaWriter, annotate: Annotate | None, annotations: Annotations | None, spans: bool) -> str:
    if isinstance(node, IRModule):
        return flatten(_module_rope(node, meta, annotate, annotations, spans)[0])
    layout = LayoutPrinter(meta, [node] if isinstance(node, Expr) else [], (), (), annotate, annotations, spans)
    if isinstance(node, Expr):
        return str(LateText(run_nested(layout.scope(node, "")), layout))[:-1]
    if isinstance(node, TypeData):
        return _type_definition(layout, node)[:-1]
    if isinstance(node, Type):
        return layout.types.text(node)
    if isinstance(node, Pattern):
        return layout.pattern(node)
    raise NodeTypeError(Diagnostic(f"only a program, or a part of one, has a Relay text, not {type(node).__name__}"))


def _module_rope(
    mod: IRModule, meta: MetaWriter, annotate: Annotate | None, annotations: Annotations | None, spans: bool
) -> tuple[Rope, LayoutPrinter]:
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
    return rope, layout


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
