"""The kinds of change: which nodes of a tree each fits, what it does there, and which variants of it are drawn at random.

A node may offer a kind several places: each operand of an `and` can be dropped. The places of all nodes of a definition,
in the order in which `ast` has them, are the occurrences that a mutation counts from 0.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

COMPARISONS: dict[str, type[ast.cmpop]] = {
    "==": ast.Eq, "!=": ast.NotEq, "<": ast.Lt, "<=": ast.LtE, ">": ast.Gt, ">=": ast.GtE,
    "is": ast.Is, "is not": ast.IsNot, "in": ast.In, "not in": ast.NotIn,
}  # fmt: skip
OPERATORS: dict[str, type[ast.operator]] = {
    "+": ast.Add, "-": ast.Sub, "*": ast.Mult, "/": ast.Div, "//": ast.FloorDiv, "%": ast.Mod, "**": ast.Pow,
    "&": ast.BitAnd, "|": ast.BitOr, "^": ast.BitXor, "<<": ast.LShift, ">>": ast.RShift, "@": ast.MatMult,
}  # fmt: skip
_OTHER_COMPARISON = {
    "==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "is": "is not", "is not": "is", "in": "not in",
    "not in": "in",
}  # fmt: skip
_OTHER_OPERATOR = {
    "+": "-",
    "-": "+",
    "*": "+",
    "/": "*",
    "//": "*",
    "%": "*",
    "&": "|",
    "|": "&",
    "<<": ">>",
    ">>": "<<",
}
Statements = list[ast.stmt]


@dataclass
class Site:
    """Where a node of a definition stands: in a field of its parent, and at an index where that is a list."""

    root: ast.AST
    node: ast.AST
    parent: ast.AST
    field: str
    index: int | None

    def put(self, new: ast.AST | Statements) -> None:
        """Put another node, or statements, where the node stands."""
        if self.index is None:
            setattr(self.parent, self.field, new)
        else:
            getattr(self.parent, self.field)[self.index : self.index + 1] = new if isinstance(new, list) else [new]

    @property
    def condition(self) -> bool:
        """Whether the node decides: the test of an `if`, of a loop, or of a comprehension."""
        return self.field in ("test", "ifs")


@dataclass(frozen=True)
class Kind:
    """One kind of change.

    `places` counts those of a site, `change` returns what is put there (given the place and the text `new` of the
    mutation), `variants` the texts `new` among which a random mutation chooses.
    """

    name: str
    places: Callable[[Site], int]
    change: Callable[[Site, int, str], ast.AST | Statements]
    variants: Callable[[Site, int], Sequence[str]] = lambda site, place: ("",)


def _fits(*types: type[ast.AST]) -> Callable[[Site], int]:
    """One place at each node of these types that is read."""
    return lambda site: isinstance(site.node, types) and isinstance(getattr(site.node, "ctx", ast.Load()), ast.Load)


def _never(site: Site, place: int) -> Sequence[str]:
    """No variants: the kind is for changes that somebody thinks of."""
    return ()


def _with(node: ast.AST, **fields: object) -> ast.AST:
    """A copy of a node with other fields."""
    result = copy.copy(node)
    for name, value in fields.items():
        setattr(result, name, value)
    return result


def _without(values: list[ast.expr], place: int) -> list[ast.expr]:
    return [*values[:place], *values[place + 1 :]]


def _exchanged(values: list[ast.expr], new: str) -> list[ast.expr]:
    """A list with two of its members exchanged: those that `new` numbers, or the first two."""
    i, j = map(int, new.split() or (0, 1))
    result = list(values)
    result[i], result[j] = result[j], result[i]
    return result


def _plain(values: Sequence[ast.expr]) -> int:
    """Whether there are two members to exchange, none of which stands for several."""
    return len(values) > 1 and not any(isinstance(v, ast.Starred) for v in values)


_NO_ORDER = {"isinstance", "issubclass", "startswith", "endswith", "hash", "min", "max"}


def _differ(site: Site, values: Sequence[ast.expr]) -> Sequence[str]:
    """Which neighbours in a list can be exchanged: none where their order says nothing."""
    around = [node for node in (site.node, site.parent) if isinstance(node, ast.Call)]
    if any(getattr(call.func, "id", getattr(call.func, "attr", "")) in _NO_ORDER for call in around):
        return ()
    if isinstance(site.parent, ast.ExceptHandler) or (
        isinstance(site.parent, ast.Compare) and site.field == "comparators"
    ):
        return ()
    same = [ast.dump(v) for v in values]
    return [f"{i} {i + 1}" for i in range(len(values) - 1) if same[i] != same[i + 1]]


# ---------------------------------------------------------------------------------------------------- order


def _swap_operands(site: Site, place: int, new: str) -> ast.AST:
    node = site.node
    if isinstance(node, ast.Compare):
        return _with(node, left=node.comparators[0], comparators=[node.left])
    assert isinstance(node, ast.BinOp)
    return _with(node, left=node.right, right=node.left)


def _two_operands(site: Site) -> int:
    return isinstance(site.node, ast.BinOp) or (isinstance(site.node, ast.Compare) and len(site.node.ops) == 1)


def _order_matters(site: Site, place: int) -> Sequence[str]:
    same = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)
    node = site.node
    return () if isinstance(node, ast.Compare) and isinstance(node.ops[0], same) else ("",)


def _swap_branches(site: Site, place: int, new: str) -> ast.AST:
    node = site.node
    assert isinstance(node, ast.If | ast.IfExp)
    return _with(node, body=node.orelse, orelse=node.body)


def _swap_arguments(site: Site, place: int, new: str) -> ast.AST:
    assert isinstance(site.node, ast.Call)
    return _with(site.node, args=_exchanged(site.node.args, new))


def _swap_elements(site: Site, place: int, new: str) -> ast.AST:
    assert isinstance(site.node, ast.Tuple | ast.List)
    return _with(site.node, elts=_exchanged(site.node.elts, new))


# ---------------------------------------------------------------------------------------------------- operators


def _comparisons(site: Site) -> int:
    return len(site.node.ops) if isinstance(site.node, ast.Compare) else 0


def _other_comparison(site: Site, place: int, new: str) -> ast.AST:
    assert isinstance(site.node, ast.Compare)
    ops: list[ast.cmpop] = list(site.node.ops)
    ops[place] = COMPARISONS[new]()
    return _with(site.node, ops=ops)


def _comparison_variants(site: Site, place: int) -> Sequence[str]:
    assert isinstance(site.node, ast.Compare)
    (symbol,) = (s for s, op in COMPARISONS.items() if type(site.node.ops[place]) is op)
    return (_OTHER_COMPARISON[symbol],)


def _other_operator(site: Site, place: int, new: str) -> ast.AST:
    return _with(site.node, op=OPERATORS[new]())


def _operator_variants(site: Site, place: int) -> Sequence[str]:
    assert isinstance(site.node, ast.BinOp | ast.AugAssign)
    (symbol,) = (s for s, op in OPERATORS.items() if type(site.node.op) is op)
    return (_OTHER_OPERATOR[symbol],) if symbol in _OTHER_OPERATOR else ()


def _and_for_or(site: Site, place: int, new: str) -> ast.AST:
    assert isinstance(site.node, ast.BoolOp)
    return _with(site.node, op=ast.Or() if isinstance(site.node.op, ast.And) else ast.And())


def _keep_operand(site: Site, place: int, new: str) -> ast.AST:
    if isinstance(site.node, ast.UnaryOp):
        return site.node.operand
    assert isinstance(site.node, ast.BinOp)
    return (site.node.left, site.node.right)[place]


def _operands(site: Site) -> int:
    if isinstance(site.node, ast.UnaryOp):
        return not isinstance(site.node.operand, ast.Constant)
    return 2 if isinstance(site.node, ast.BinOp) else 0


# ---------------------------------------------------------------------------------------------------- guards


def _guards(site: Site) -> int:
    return len(site.node.values) if isinstance(site.node, ast.BoolOp) else 0


def _drop_guard(site: Site, place: int, new: str) -> ast.AST:
    assert isinstance(site.node, ast.BoolOp)
    values = _without(site.node.values, place)
    return values[0] if len(values) == 1 else _with(site.node, values=values)


def _negate(site: Site, place: int, new: str) -> ast.AST:
    assert isinstance(site.node, ast.expr)
    node = site.node
    return (
        node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) else ast.UnaryOp(ast.Not(), node)
    )


def _decide(site: Site, place: int, new: str) -> ast.AST:
    return ast.Constant({"True": True, "False": False}[new])


# ---------------------------------------------------------------------------------------------------- what is left out


def _arguments(site: Site) -> int:
    node = site.node
    return len(node.args) + sum(k.arg is not None for k in node.keywords) if isinstance(node, ast.Call) else 0


def _drop_argument(site: Site, place: int, new: str) -> ast.AST:
    node = site.node
    assert isinstance(node, ast.Call)
    if place < len(node.args):
        return _with(node, args=_without(node.args, place))
    named = [k for k in node.keywords if k.arg is not None]
    return _with(node, keywords=[k for k in node.keywords if k is not named[place - len(node.args)]])


def _keywords_only(site: Site, place: int) -> Sequence[str]:
    """A positional argument that is missing is nearly always a TypeError, which says nothing about the tests."""
    assert isinstance(site.node, ast.Call)
    return ("",) if place >= len(site.node.args) else ()


def _elements(site: Site) -> int:
    return len(site.node.elts) if isinstance(site.node, ast.Tuple | ast.List | ast.Set) and _fits(ast.expr)(site) else 0


def _drop_element(site: Site, place: int, new: str) -> ast.AST:
    assert isinstance(site.node, ast.Tuple | ast.List | ast.Set)
    return _with(site.node, elts=_without(site.node.elts, place))


def _keep_argument(site: Site, place: int, new: str) -> ast.AST:
    assert isinstance(site.node, ast.Call)
    return site.node.args[place]


def _drop_statement(site: Site, place: int, new: str) -> Statements:
    alone = len(getattr(site.parent, site.field)) == 1
    return [ast.Pass()] if alone else []


def _droppable(site: Site, place: int) -> Sequence[str]:
    """Statements that do something: no `pass`, and no binding, whose absence is a NameError."""
    node = site.node
    if isinstance(node, ast.Expr):
        return ("",)
    store = (ast.Attribute, ast.Subscript)
    if isinstance(node, ast.Assign):
        return ("",) if all(isinstance(t, store) for t in node.targets) else ()
    return ("",) if isinstance(node, ast.AugAssign | ast.Return | ast.Raise | ast.Continue | ast.Break | ast.If) else ()


# ---------------------------------------------------------------------------------------------------- constants and names


def _number(site: Site) -> int:
    node = site.node
    return isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, bool | int | float))


def _text(site: Site) -> int:
    """Texts, those inside of f-strings included."""
    return isinstance(site.node, ast.Constant) and isinstance(site.node.value, str | bytes)


def _literal(site: Site, place: int, new: str) -> ast.AST:
    return ast.Constant(ast.literal_eval(new))


def _number_variants(site: Site, place: int) -> Sequence[str]:
    assert isinstance(site.node, ast.Constant)
    value = site.node.value
    if isinstance(value, bool):
        return (repr(not value),)
    return (
        (repr(value + 1), repr(value - 1))
        if isinstance(value, int)
        else (repr(value * 2 + 1),)
        if isinstance(value, float)
        else ()
    )


def _text_variants(site: Site, place: int) -> Sequence[str]:
    assert isinstance(site.node, ast.Constant)
    value = site.node.value
    return (repr(value + "~"),) if isinstance(value, str) else ()


def _off_by_one(site: Site, place: int, new: str) -> ast.AST:
    assert isinstance(site.node, ast.expr)
    return ast.BinOp(site.node, ast.Add() if new == "+1" else ast.Sub(), ast.Constant(1))


def _counts(site: Site) -> int:
    """What counts or points: a bound of a slice, an argument of `range`, a length. Numbers that stand there are constants."""
    if not isinstance(site.node, ast.expr) or isinstance(site.node, ast.Constant | ast.Starred):
        return 0
    if isinstance(site.parent, ast.Slice):
        return site.field != "step"
    if isinstance(site.parent, ast.Call) and site.field == "args":
        return isinstance(site.parent.func, ast.Name) and site.parent.func.id == "range"
    return isinstance(site.node, ast.Call) and isinstance(site.node.func, ast.Name) and site.node.func.id == "len"


def _other_attribute(site: Site, place: int, new: str) -> ast.AST:
    return _with(site.node, attr=new)


# ---------------------------------------------------------------------------------------------------- anything else

SHAPES: dict[str, tuple[type[ast.AST], ...]] = {
    "call": (ast.Call,), "name": (ast.Name,), "attribute": (ast.Attribute,), "subscript": (ast.Subscript,),
    "comparison": (ast.Compare,), "operation": (ast.BinOp, ast.UnaryOp), "guards": (ast.BoolOp,), "choice": (ast.IfExp,),
    "constant": (ast.Constant,), "f-string": (ast.JoinedStr,), "sequence": (ast.Tuple, ast.List, ast.Set),
    "dictionary": (ast.Dict,), "comprehension": (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
    "lambda": (ast.Lambda,), "statement": (ast.stmt,),
}  # fmt: skip


def _rewrite(site: Site, place: int, new: str) -> ast.AST | Statements:
    """Replace a node by a text in which `it` is the node, `it.args[0]` what it has in that field, `local[2]` a name.

    Names of the definition are counted from its parameters on, in the order in which it binds them, so that a text says
    nothing that a renaming changes.
    """
    body = [_Filled(site.node, _locals(site.root)).visit(statement) for statement in ast.parse(new).body]
    statements = [s.value if isinstance(s, ast.Expr) and isinstance(s.value, ast.stmt) else s for s in body]
    if isinstance(site.node, ast.stmt):
        return statements
    (statement,) = statements
    assert isinstance(statement, ast.Expr)
    return statement.value


class _Filled(ast.NodeTransformer):
    """Fills what `it` and `local` mean into a tree."""

    def __init__(self, it: ast.AST, local: list[ast.AST]) -> None:
        self.it = it
        self.local = local

    def visit(self, node: ast.AST) -> ast.AST:
        part = self._part(node)
        if isinstance(part, ast.AST):
            return _in_context(copy.deepcopy(part), getattr(node, "ctx", ast.Load()))
        result: ast.AST = self.generic_visit(node)
        return result

    def _part(self, node: ast.AST) -> object:
        """What a path like `it.args[0]` leads to in the tree, or None where it is code."""
        if isinstance(node, ast.Name):
            return {"it": self.it, "local": self.local}.get(node.id)
        if isinstance(node, ast.Attribute):
            whole = self._part(node.value)
            return (
                getattr(whole, node.attr, None) if isinstance(whole, ast.AST) and node.attr in whole._fields else None
            )
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            part = self._part(node.value)
            return part[node.slice.value] if isinstance(part, list) else None
        return None


def _locals(root: ast.AST) -> list[ast.AST]:
    """The names that a definition binds, each once."""
    names: dict[str, ast.AST] = {}
    for site in sites(root, ()):
        if isinstance(site.node, ast.arg):
            names.setdefault(site.node.arg, ast.Name(site.node.arg, ast.Load()))
        elif isinstance(site.node, ast.Name) and isinstance(site.node.ctx, ast.Store):
            names.setdefault(site.node.id, site.node)
    return list(names.values())


def _in_context(node: ast.AST, context: ast.expr_context) -> ast.AST:
    """A node that is read, or written to, as the place asks that it is put in."""
    if hasattr(node, "ctx"):
        node.ctx = context
    for element in getattr(node, "elts", ()):
        _in_context(element, context)
    return node


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("swap operands", _two_operands, _swap_operands, _order_matters),
        Kind(
            "swap branches",
            lambda site: isinstance(site.node, ast.IfExp) or (isinstance(site.node, ast.If) and bool(site.node.orelse)),
            _swap_branches,
        ),
        Kind(
            "swap arguments",
            lambda site: isinstance(site.node, ast.Call) and _plain(site.node.args),
            _swap_arguments,
            lambda site, place: _differ(site, site.node.args) if isinstance(site.node, ast.Call) else (),
        ),
        Kind(
            "swap elements",
            lambda site: (
                isinstance(site.node, ast.Tuple | ast.List) and _fits(ast.expr)(site) and _plain(site.node.elts)
            ),
            _swap_elements,
            lambda site, place: _differ(site, site.node.elts) if isinstance(site.node, ast.Tuple | ast.List) else (),
        ),
        Kind("other comparison", _comparisons, _other_comparison, _comparison_variants),
        Kind("other operator", _fits(ast.BinOp, ast.AugAssign), _other_operator, _operator_variants),
        Kind("and for or", _fits(ast.BoolOp), _and_for_or),
        Kind("keep operand", _operands, _keep_operand),
        Kind("drop guard", _guards, _drop_guard),
        Kind("negate condition", lambda site: site.condition, _negate),
        Kind("decide condition", lambda site: site.condition, _decide, lambda site, place: ("True", "False")),
        Kind("drop argument", _arguments, _drop_argument, _keywords_only),
        Kind("drop element", _elements, _drop_element),
        Kind(
            "keep argument", lambda site: len(site.node.args) if isinstance(site.node, ast.Call) else 0, _keep_argument
        ),
        Kind("drop statement", _fits(ast.stmt), _drop_statement, _droppable),
        Kind("other constant", _number, _literal, _number_variants),
        Kind("other text", _text, _literal, _text_variants),
        Kind("off by one", _counts, _off_by_one, lambda site, place: ("+1", "-1")),
        Kind("other attribute", _fits(ast.Attribute), _other_attribute, _never),
        *(Kind(f"replace {name}", _fits(*types), _rewrite, _never) for name, types in SHAPES.items()),
    )
}


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def sites(root: ast.AST, inner: tuple[type[ast.AST], ...], parent: ast.AST | None = None) -> Iterator[Site]:
    """All sites below a definition, in the order of `ast`; what stands in a definition inside of it is left to that one."""
    parent = parent or root
    for name, value in ast.iter_fields(parent):
        for index, node in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(node, ast.AST) and not _is_docstring(node):
                yield Site(root, node, parent, name, index)
                if not isinstance(node, inner):
                    yield from sites(root, inner, node)
