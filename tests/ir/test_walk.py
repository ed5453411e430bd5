"""Laws of traversals, on random programs and on deep ones."""

from __future__ import annotations

import pytest

from passlab.analysis.scopes import Scopes
from passlab.errors import DiagnosticError
from passlab.ir import (
    Call,
    Constant,
    Expr,
    Function,
    If,
    IRModule,
    Let,
    Op,
    Source,
    Span,
    TensorType,
    Tuple,
    Var,
    structural_equal,
)
from passlab.ir.variables import all_vars, bind, bound_vars, free_vars
from passlab.ir.walk import (  # fmt: skip
    children,
    let_chain,
    make_lets,
    note_rewrite,
    observed,
    post_order,
    rewrite,
    substitute,
    use_counts,
)
from passlab.op import make
from tests.each import each
from tests.ir.random_programs import Generator

SEEDS = range(40)
x, y, z = Var("x"), Var("y"), Var("z")


def program(seed: int) -> Expr:
    return Generator(seed).program(30, (x, y))


# ---------------------------------------------------------------- order
@each("seed", SEEDS)
def test_post_order_lists_each_node_once_after_its_children(seed: int) -> None:
    root = program(seed)
    order = post_order(root)
    place = {node: i for i, node in enumerate(order)}
    assert len(place) == len(order)
    assert order[-1] is root
    assert all(place[child] < place[node] for node in order for child in children(node))


@each("seed", SEEDS)
def test_post_order_is_that_of_the_obvious_recursion(seed: int) -> None:
    root = program(seed)
    order: list[Expr] = []

    def visit(node: Expr) -> None:
        if node not in order:
            for child in children(node):
                visit(child)
            order.append(node)

    visit(root)
    assert post_order(root) == order


def test_post_order_can_stay_outside_and_leave_out() -> None:
    inner = make("exp", x)
    f = Function((), inner)
    root = make("add", f, y)
    assert inner not in post_order(root, enter=lambda node: node is not f)
    assert f in post_order(root, enter=lambda node: node is not f)
    seen = {inner}
    assert inner not in post_order(root, seen=seen)
    assert root in seen
    assert post_order(x, y) == [x, y]


# ---------------------------------------------------------------- rewriting
@each("seed", SEEDS)
def test_a_rewrite_that_changes_nothing_returns_the_same_object(seed: int) -> None:
    root = program(seed)
    assert rewrite(root) is root
    assert rewrite(root, lambda pre, post: post) is root
    assert rewrite(root, lambda pre, post: post, only=(Call, Let)) is root
    assert substitute(root, {z: y}) is root


@each("seed", SEEDS)
def test_untouched_parts_stay_the_same_objects(seed: int) -> None:
    root = program(seed)
    target = next((n for n in post_order(root) if isinstance(n, Constant)), None)
    changed: dict[Expr, Expr] = {}
    rewritten_expr = rewrite(root, lambda pre, post: z if pre is target else post, replace=changed)
    above: set[Expr] = set()
    for node in post_order(root):
        if node is target or any(child in above for child in children(node)):
            above.add(node)
    assert set(changed) == above
    assert all(node in changed or node in post_order(root) for node in above)
    assert structural_equal(substitute(rewritten_expr, {z: target}) if target is not None else rewritten_expr, root)


@each("seed", SEEDS)
def test_the_observer_hears_of_every_replaced_node(seed: int) -> None:
    root = program(seed)
    heard: dict[Expr, Expr] = {}
    names: dict[Expr, str] = {}

    def observer(old: Expr, new: Expr, name: str) -> None:
        heard[old], names[old] = new, name

    def rule(pre: Expr, post: Expr) -> Expr:
        return Constant(7) if isinstance(pre, Constant) else post

    changed: dict[Expr, Expr] = {}
    with observed(observer):
        rewrite(root, rule, replace=changed, name="Sevens")
        assert heard == changed
        assert {type(old) for old, name in names.items() if name == "Sevens"} <= {Constant}
        note_rewrite(z, y)
    assert heard[z] is y
    note_rewrite(z, x)
    assert heard[z] is y


def test_enter_keeps_parts_as_they_are() -> None:
    f = Function((), make("exp", x))
    root = Tuple((f, make("exp", x)))
    rewritten_expr = rewrite(root, lambda pre, post: y if pre is x else post, enter=lambda node: node is not f)
    assert rewritten_expr.fields[0] is f
    assert rewritten_expr.fields[1].args[0] is y
    inside, order = (lambda node: node is not f), post_order(root, enter=lambda node: node is not f)
    given = rewrite(root, lambda pre, post: y if type(pre) is Function else post, enter=inside, order=order)
    assert given is root, "a node that is not entered stays, also where the order is given"


def test_new_nodes_take_the_place_of_old_ones() -> None:
    span = Span(Source("t"), 0, 1)
    old = make("exp", x).with_fields(span=span)
    assert rewrite(old, lambda pre, post: make("log", x) if pre is old else post).span is span
    assert rewrite(old, replace={x: y}).span is span


# ---------------------------------------------------------------- scopes and counts
@each("seed", SEEDS)
def test_a_scope_encloses_the_scopes_of_all_uses(seed: int) -> None:
    root = program(seed)
    scopes = Scopes(root)
    for node in post_order(root):
        for child in children(node):
            outer = scopes.of[child]
            assert any(outer is s for s in ancestors(scopes.of[node])) or outer.owner is node


def ancestors(scope: object) -> list[object]:
    out = []
    while scope is not None:
        out.append(scope)
        scope = scope.parent  # type: ignore[attr-defined]
    return out


def test_common_scopes() -> None:
    shared = make("exp", x)
    program = Function((x,), If(y, make("log", shared), Function((z,), shared)))
    scopes = Scopes(program)
    body = scopes.of[program.body]
    assert scopes.of[shared] is body
    assert body.owner is program
    assert scopes.of[x] is body
    assert scopes.top.encloses(body)
    assert not scopes.inner[(program.body, 0)].encloses(body)


@each("seed", SEEDS)
def test_use_counts(seed: int) -> None:
    root = program(seed)
    counts = use_counts(root)
    order = post_order(root)
    assert set(counts) == set(order)
    assert sum(counts.values()) == sum(len(children(n)) for n in order)
    assert counts[root] == 0


def test_chains_of_lets() -> None:
    bindings = [(Var("a"), x), (Var("b"), y)]
    lets, body = let_chain(make_lets(bindings, z))
    assert [(let.var, let.value) for let in lets] == bindings
    assert body is z


# ---------------------------------------------------------------- variables
@each("seed", SEEDS)
def test_free_and_bound_variables_make_up_all(seed: int) -> None:
    root = program(seed)
    free, bound, every = free_vars(root), bound_vars(root), all_vars(root)
    assert not set(free) & set(bound)
    assert set(every) == set(free) | set(bound)
    assert set(free) <= {x, y}
    assert len(set(every)) == len(every)


def test_binding_closes() -> None:
    f = Function((x,), make("add", x, y))
    closed = bind(f, {y: Constant(1)})
    assert free_vars(closed) == []


# ---------------------------------------------------------------- depth
def tower(kind: str, depth: int) -> Expr:
    top: Expr = x
    for _ in range(depth):
        if kind == "let":
            top = Let(Var("v"), x, top)
        elif kind == "value":
            top = Let(Var("v"), top, x)
        elif kind == "if":
            top = If(x, top, x)
        elif kind == "function":
            top = Function((Var("v"),), top)
        else:
            top = Call(Op.get("add"), (top, top))
    return top


@pytest.mark.parametrize("kind", ["let", "value", "if", "function", "call"])
def test_deep_programs(kind: str, depth: int) -> None:
    levels = depth if kind == "call" else depth // 5
    root = tower(kind, levels)
    assert len(post_order(root)) >= levels
    assert rewrite(root, lambda pre, post: post) is root
    changed = substitute(root, {x: y})
    assert free_vars(changed) == [y]
    assert len(Scopes(root).of) == len(use_counts(root))
    assert len(bound_vars(root)) == (levels if kind in ("let", "value", "function") else 0)


# ---------------------------------------------------------------- modules
def test_modules_share_until_they_change() -> None:
    v = Var("v", TensorType((3,)))
    mod = IRModule.from_expr(Function((v,), v))
    before = mod.snapshot()
    assert before.same_contents(mod)
    assert mod.with_functions({"main": mod["main"]}) is mod
    assert mod.with_functions({"absent": None}) is mod
    other = mod.with_functions({"main": Function((v,), make("exp", v)), "g": mod["main"]})
    assert other is not mod
    assert "g" not in mod
    mod["h"] = Function((v,), v)
    assert "h" not in before
    assert [name for name, _ in other.with_functions({"g": None}).items()] == ["main"]


def test_modules_explain_misuse() -> None:
    mod = IRModule.from_expr(Function((x,), x))
    with pytest.raises(DiagnosticError, match="did you mean `main`"):
        mod["mian"]
    with pytest.raises(DiagnosticError, match="@f has free variables: %y"):
        mod["f"] = Function((x,), y)
    with pytest.raises(TypeError, match=r"must be a relay\.Function"):
        mod["f"] = 3
    with pytest.raises(TypeError, match="a name or a GlobalVar as index"):
        mod[3]


def test_expressions_become_functions() -> None:
    mod = IRModule.from_expr(make("add", x, y))
    assert mod["main"].params == (x, y)
    mod["one"] = Constant(1)
    assert mod["one"].params == ()
    named = Function((x,), x, attrs={"global_symbol": "kernel"})
    assert [name for name, _ in IRModule.from_expr(named).items()] == ["kernel"]


# ---------------------------------------------------------------- spans
def test_spans_count_lines_and_columns_from_one() -> None:
    source = Source("file", "ab\ncde\n")
    span = Span(source, 4, 6)
    assert (span.line, span.column, span.end_line, span.end_column, span.text) == (2, 2, 2, 4, "de")
    assert str(span) == "file:2:2"
    assert [source.line(n) for n in range(5)] == [None, "ab", "cde", "", None]
    assert span == Span(Source("file", "xx\nyyy"), 4, 6)
    assert Span(Source("file"), 0, 1).text is None


def test_what_takes_the_place_of_a_node_gets_its_span_only_if_it_is_new() -> None:
    place = Span(Source("net", "tanh"), 0, 4)
    inner = Call(Op.get("exp"), [x])
    outer = Call(Op.get("tanh"), [inner], span=place)
    assert rewrite(outer, lambda pre, post: inner if pre is outer else post) is inner
    assert inner.span is None
    new = rewrite(outer, lambda pre, post: Call(Op.get("log"), [inner]) if pre is outer else post)
    assert new.span is place
