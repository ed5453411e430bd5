"""Visitors and mutators: the walk-through of a constant folder written as a class, then the laws."""

from __future__ import annotations

import numpy as np
import pytest

from passlab import relay
from passlab.errors import PassTypeError
from passlab.evaluate import evaluate_expr
from passlab.ir import (
    Call,
    Constant,
    Expr,
    Function,
    FuncType,
    If,
    Let,
    Op,
    TensorType,
    Tuple,
    TupleGetItem,
    TupleType,
    TypeVar,
    Var,
    structural_equal,
)  # fmt: skip
from passlab.ir.functor import (
    EXPR_METHODS,
    ExprFunctor,
    ExprMutator,
    ExprRewriter,
    ExprVisitor,
    MixedModeMutator,
    MixedModeVisitor,
    TypeFunctor,
    TypeMutator,
    TypeVisitor,
    post_order_rewrite,
)  # fmt: skip
from passlab.ir.walk import post_order
from tests.each import each
from tests.ir.random_programs import Generator


# ---------------------------------------------------------------- the walk-through
class CallChecker(ExprVisitor):
    """Whether a program calls anything."""

    def check(self, expr: Expr) -> bool:
        self.result = False
        self.visit(expr)
        return self.result

    def visit_call(self, call: Call) -> None:
        self.result = True


class IfCollapser(ExprMutator):
    """Replaces every if by its true branch."""

    def collapse_ifs(self, expr: Expr) -> Expr:
        return self.visit(expr)

    def visit_if(self, node: If) -> Expr:
        return self.visit(node.true_branch)


class ConstantChecker(ExprVisitor):
    """Whether an expression is a constant or a tuple of such."""

    def __init__(self) -> None:
        super().__init__()
        self.constant: dict[Expr, bool] = {}

    def check(self, expr: Expr) -> bool:
        if expr not in self.constant:
            self.visit(expr)
        return self.constant.get(expr, False)

    def visit_constant(self, node: Constant) -> None:
        self.constant[node] = True

    def visit_tuple(self, node: Tuple) -> None:
        self.constant[node] = all(self.check(field) for field in node.fields)


class ConstantFolder(ExprMutator):
    """Replaces what depends on constants alone by its value."""

    def __init__(self) -> None:
        super().__init__()
        self.checker = ConstantChecker()

    def visit_let(self, let: Let) -> Expr:
        value = self.visit(let.value)
        if isinstance(value, Constant):
            self.memo_map[let.var] = value
            return self.visit(let.body)
        return let.with_fields(var=self.visit(let.var), value=value, body=self.visit(let.body))

    def visit_tuple_getitem(self, item: TupleGetItem) -> Expr:
        result = super().visit_tuple_getitem(item)
        return result.tuple_value.fields[result.index] if isinstance(result.tuple_value, Tuple) else result

    def visit_call(self, call: Call) -> Expr:
        result = super().visit_call(call)
        if not result.args or not isinstance(result.op, Op) or result.op.spec.stateful:
            return result
        if all(self.checker.check(arg) for arg in result.args):
            return relay.const(evaluate_expr(result))
        return result


def add(a: Expr, b: Expr) -> Call:
    return relay.add(a, b)


def one(value: float = 1.0) -> Constant:
    return Constant(np.float32(value))


def test_call_checker() -> None:
    x = Var("x")
    assert CallChecker().check(Tuple((x, add(x, x))))
    assert not CallChecker().check(Function((x,), Tuple((x, one()))))


def test_if_collapser() -> None:
    x, y = Var("x"), Var("y")
    program = Function((x, y), If(x, If(x, y, x), one()))
    assert structural_equal(IfCollapser().collapse_ifs(program), Function((x, y), y))


def test_constant_folder() -> None:
    x, v = Var("x"), Var("v")
    program = Let(v, add(one(1), one(2)), add(x, TupleGetItem(Tuple((add(v, v), x)), 0)))
    assert structural_equal(ConstantFolder().visit(program), add(x, one(6)))
    untouched = Let(v, add(x, x), add(v, x))
    assert ConstantFolder().visit(untouched) is untouched


# ---------------------------------------------------------------- laws
@each("mutator", [ExprMutator, MixedModeMutator, ExprRewriter])
@each("seed", range(30))
def test_a_mutator_that_changes_nothing_returns_the_same_object(mutator: type, seed: int) -> None:
    program = Generator(seed).program(30)
    result = mutator()
    assert (result.rewrite if mutator is ExprRewriter else result.visit)(program) is program


@each("seed", range(30))
def test_a_visitor_meets_every_node_once_in_evaluation_order(seed: int) -> None:
    program = Generator(seed).program(30)
    met: list[Expr] = []

    def method(self: ExprVisitor, node: Expr) -> None:
        getattr(ExprVisitor, f"visit_{EXPR_METHODS[type(node)]}")(self, node)
        met.append(node)

    everything = type("Everything", (ExprVisitor,), {f"visit_{name}": method for name in EXPR_METHODS.values()})
    everything().visit(program)
    assert met == post_order(program)


@each("seed", range(30))
def test_visit_may_be_overridden_to_see_every_step(seed: int) -> None:
    program = Generator(seed).program(30)
    met: dict[Expr, None] = {}

    class Printer(ExprVisitor):
        def visit(self, node: Expr) -> None:
            met[node] = None
            super().visit(node)

    Printer().visit(program)
    assert set(met) == set(post_order(program))


@each("seed", range(30))
def test_mutators_agree(seed: int) -> None:
    program = Generator(seed).program(30)

    class ByVisitor(ExprMutator):
        def visit_constant(self, node: Constant) -> Expr:
            return Tuple((node,))

        def visit_call(self, node: Call) -> Expr:
            result = super().visit_call(node)
            return result.with_fields(args=result.args[::-1])

    class ByMixedMode(MixedModeMutator):
        visit_constant = ByVisitor.visit_constant

        def rewrite_call(self, pre: Call, post: Call) -> Expr:
            return post.with_fields(args=post.args[::-1])

    class ByRewriter(ExprRewriter):
        def rewrite_constant(self, pre: Constant, post: Constant) -> Expr:
            return Tuple((post,))

        def rewrite_call(self, pre: Call, post: Call) -> Expr:
            return post.with_fields(args=post.args[::-1])

    want = ByVisitor().visit(program)
    assert structural_equal(ByMixedMode().visit(program), want)
    assert structural_equal(ByRewriter().rewrite(program), want)
    assert structural_equal(post_order_rewrite(program, ByRewriter()), want)


def test_mixed_mode_sees_inputs_first() -> None:
    x = Var("x")
    inner = add(x, x)
    outer = add(inner, Tuple((inner, x)))
    seen: list[Expr] = []

    class Order(MixedModeVisitor):
        def visit_call(self, call: Call) -> None:
            seen.append(call)

        def visit_tuple(self, tup: Tuple) -> None:
            seen.append(tup)

    Order().visit(outer)
    assert seen == [inner, outer.args[1], outer]
    seen.clear()
    Order(visit_limit=2).visit(outer)
    assert seen.count(inner) == 2
    with pytest.raises(PassTypeError, match="1 to 9"):
        Order(visit_limit=10)


# ---------------------------------------------------------------- misuse
@pytest.mark.parametrize(
    ("base", "name", "meant"),
    [
        (ExprVisitor, "visit_calls", "visit_call"),
        (ExprMutator, "visit_tuple_get_item", "visit_tuple_getitem"),
        (ExprFunctor, "visit_lett", "visit_let"),
        (MixedModeMutator, "rewrite_cal", "rewrite_call"),
        (ExprRewriter, "rewrite_tupel", "rewrite_tuple"),
        (TypeVisitor, "visit_tensortype", "visit_tensor_type"),
    ],
)
def test_a_misspelt_method_is_refused_when_the_class_is_made(base: type, name: str, meant: str) -> None:
    with pytest.raises(PassTypeError, match=f"did you mean `{meant}`"):
        type("Mine", (base,), {name: lambda self, node: node})


def test_other_methods_are_free() -> None:
    class Mine(ExprMutator):
        def rewrite_whole_graph(self, expr: Expr) -> Expr:
            return self.visit(expr)

        visit_count = 0

    assert Mine().rewrite_whole_graph(one()) is not None


def test_a_mutator_must_return_expressions() -> None:
    class Forgetful(ExprMutator):
        def visit_constant(self, node: Constant) -> None:
            return None

    with pytest.raises(PassTypeError, match="visit_constant must return an expression"):
        Forgetful().visit(Tuple((one(),)))


def test_a_binder_must_stay_a_variable() -> None:
    class Inliner(ExprMutator):
        def visit_var(self, node: Var) -> Expr:
            return one()

    x = Var("x")
    with pytest.raises(PassTypeError, match="override visit_function"):
        Inliner().visit(Function((x,), x))


def test_a_functor_without_a_case_says_so() -> None:
    with pytest.raises(NotImplementedError, match="visit_constant"):
        ExprFunctor().visit(one())
    with pytest.raises(PassTypeError, match="cannot visit a str"):
        ExprVisitor().visit("no node")


# ---------------------------------------------------------------- depth
def tower(kind: str, depth: int) -> Expr:
    x = Var("x")
    top: Expr = x
    for _ in range(depth):
        if kind == "let":
            top = Let(Var("v"), x, top)
        elif kind == "if":
            top = If(x, x, top)
        elif kind == "function":
            top = Function((Var("v"),), top)
        else:
            top = add(top, x)
    return top


class Counter(ExprVisitor):
    def __init__(self) -> None:
        self.count = 0

    def visit_call(self, node: Call) -> None:
        self.count += 1
        super().visit_call(node)

    def visit_let(self, node: Let) -> None:
        self.count += 1
        super().visit_let(node)

    def visit_if(self, node: If) -> None:
        self.count += 1
        super().visit_if(node)

    def visit_function(self, node: Function) -> None:
        self.count += 1
        super().visit_function(node)


@pytest.mark.parametrize("kind", ["call", "let", "if", "function"])
def test_deep_programs(kind: str, depth: int) -> None:
    levels = depth if kind == "let" else depth // 10
    program = tower(kind, levels)
    counter = Counter()
    counter.visit(program)
    assert counter.count == levels
    assert ExprMutator().visit(program) is program
    assert MixedModeMutator().visit(program) is program


def test_deep_programs_in_overridden_mutators(depth: int) -> None:
    class Doubler(ExprMutator):
        def visit_call(self, node: Call) -> Expr:
            result = super().visit_call(node)
            return result.with_fields(args=result.args[::-1])

    result = Doubler().visit(tower("call", depth // 5))
    assert isinstance(result.args[0], Var)
    assert len(post_order(result)) == depth // 5 + 2


def test_what_a_deep_method_raises_arrives() -> None:
    class Failing(Counter):
        def visit_var(self, node: Var) -> None:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Failing().visit(tower("call", 5_000))


# ---------------------------------------------------------------- types
def test_type_mutator() -> None:
    class Half(TypeMutator):
        def visit_tensor_type(self, ty: TensorType) -> TensorType:
            return TensorType(ty.shape, "float16")

    a = TypeVar("A")
    ty = FuncType((TensorType((3,)), a), TupleType((TensorType(()), a)), (a,))
    assert Half().visit(ty) is FuncType(
        (TensorType((3,), "float16"), a), TupleType((TensorType((), "float16"), a)), (a,)
    )
    assert TypeMutator().visit(ty) is ty
    with pytest.raises(NotImplementedError, match="visit_func_type"):
        TypeFunctor().visit(ty)


def test_type_visitor_goes_deep(depth: int) -> None:
    ty: TupleType | TensorType = TensorType((3,))
    for _ in range(depth // 10):
        ty = TupleType((ty, ty))

    class Count(TypeVisitor):
        seen = 0

        def visit_tuple_type(self, ty: TupleType) -> None:
            self.seen += 1
            super().visit_tuple_type(ty)

    count = Count()
    count.visit(ty)
    assert count.seen == depth // 10


@pytest.mark.parametrize(
    "cls", [ExprFunctor, ExprVisitor, ExprMutator, MixedModeVisitor, MixedModeMutator, TypeVisitor]
)
def test_a_visitor_that_is_initialised_again_has_seen_nothing(cls):
    visitor = cls()
    visitor.memo_map[Var("x", TensorType((2,), "float32"))] = None
    visitor.__init__()
    assert not visitor.memo_map
