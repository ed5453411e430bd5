"""The ways in which people write passes: what changes the program (a `way`), and what makes a pass of it (a `form`).

Each way takes a function, and replaces its calls by a rule; each form makes a pass of a way and a rule.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps

from passlab import IRModule, parse, relay, transform
from passlab.ir.expr import Call
from passlab.ir.op import Op
from passlab.ir.walk import rewrite
from passlab.relay.dataflow_pattern import DFPatternCallback, is_op, wildcard
from passlab.relay.dataflow_pattern import rewrite as rewrite_patterns
from passlab.transform import function_pass, module_pass

Rule = Callable[[Call], Call]


# ---------------------------------------------------------------- rules
def is_call(node, name):
    return isinstance(node, Call) and isinstance(node.op, Op) and node.op.name == name


def nothing(call):
    """Keeps everything."""
    return call


def exchanged(call):
    """Right where at most one operand has an effect: a product is the same in both orders."""
    return relay.multiply(call.args[1], call.args[0]) if is_call(call, "multiply") else call


def turned(call):
    """Wrong: a difference is not."""
    return relay.subtract(call.args[1], call.args[0]) if is_call(call, "subtract") else call


RULES = {"nothing": nothing, "right": exchanged, "wrong": turned}


# ---------------------------------------------------------------- ways
def by_rewrite(func, rule):
    return rewrite(func, lambda old, new: rule(new), only=(Call,))


class Mutates(relay.ExprMutator):
    def __init__(self, rule):
        super().__init__()
        self.rule = rule

    def visit_call(self, call):
        return self.rule(super().visit_call(call))


def by_mutator(func, rule):
    return Mutates(rule).visit(func)


class Mixed(relay.MixedModeMutator):
    def __init__(self, rule):
        super().__init__()
        self.rule = rule

    def rewrite_call(self, pre, post):
        return self.rule(post)


def by_mixed_mutator(func, rule):
    return Mixed(rule).visit(func)


class Matches(DFPatternCallback):
    def __init__(self, name, rule):
        super().__init__(rewrite_once=True)
        self.rule = rule
        self.pattern = is_op(name)(wildcard(), wildcard())

    def callback(self, pre, post, node_map):
        return self.rule(post)


def by_pattern(func, rule):
    for name in ("multiply", "subtract"):
        func = rewrite_patterns(Matches(name, rule), func)
    return func


class Builds(relay.ExprMutator):
    """Builds every node anew, as one does who has not read that unchanged ones may be kept."""

    def __init__(self, rule):
        super().__init__()
        self.rule = rule

    def visit_call(self, call):
        return self.rule(
            relay.Call(self.visit(call.op), [self.visit(a) for a in call.args], call.attrs, call.type_args)
        )

    def visit_tuple(self, node):
        return relay.Tuple([self.visit(field) for field in node.fields])

    def visit_tuple_getitem(self, node):
        return relay.TupleGetItem(self.visit(node.tuple_value), node.index)

    def visit_if(self, node):
        return relay.If(self.visit(node.cond), self.visit(node.true_branch), self.visit(node.false_branch))

    def visit_let(self, let):
        return relay.Let(let.var, self.visit(let.value), self.visit(let.body))

    def visit_function(self, func):
        return relay.Function(func.params, self.visit(func.body), func.ret_type, func.type_params, func.attrs)

    def visit_match(self, node):
        clauses = [relay.Clause(c.lhs, self.visit(c.rhs)) for c in node.clauses]
        return relay.Match(self.visit(node.data), clauses, node.complete)

    def visit_ref_create(self, node):
        return relay.RefCreate(self.visit(node.value))

    def visit_ref_read(self, node):
        return relay.RefRead(self.visit(node.ref))

    def visit_ref_write(self, node):
        return relay.RefWrite(self.visit(node.ref), self.visit(node.value))


def by_construction(func, rule):
    return Builds(rule).visit(func)


class Renames(Mutates):
    """Replaces parameters as well, as passes do that change types."""

    def __init__(self, rule):
        super().__init__(rule)
        self.fresh = {}

    def visit_var(self, var):
        return self.fresh.get(var, var)

    def visit_function(self, func):
        self.fresh |= {param: relay.Var(f"{param.name_hint}_new", param.type_annotation) for param in func.params}
        return super().visit_function(func)


def by_new_variables(func, rule):
    return Renames(rule).visit(func)


WAYS = {
    "rewrite": by_rewrite,
    "ExprMutator": by_mutator,
    "MixedModeMutator": by_mixed_mutator,
    "pattern": by_pattern,
    "construction": by_construction,
    "new variables": by_new_variables,
}


# ---------------------------------------------------------------- forms
def decorated_function(way, rule):
    """A factory, with a decorator that reads what the function does not: the commonest way to write ten of them."""
    name = f"decorated_{rule.__name__}"

    @function_pass(opt_level=0, name=name)
    def changes(func, mod, ctx):
        return way(func, rule)

    return changes


def called_decorator(way, rule):
    def changes(func, mod, ctx):
        return way(func, rule)

    return transform.function_pass(changes, opt_level=0, required=["InferType"])


@function_pass(opt_level=0)
class DecoratedClass:
    def __init__(self, way, rule=nothing):
        self.way, self.rule = way, rule

    def transform_function(self, func, mod, ctx):
        return self.way(func, self.rule)


class DerivedClass(transform.FunctionPass):
    info = transform.PassInfo(0, "DerivedClass", [])

    def __init__(self, way, rule):
        self.way, self.rule = way, rule

    def transform_function(self, func, mod, ctx):
        return self.way(func, self.rule)


class DerivedModuleClass(transform.ModulePass):
    info = transform.PassInfo(0, "DerivedModuleClass", [])

    def __init__(self, way, rule):
        self.way, self.rule = way, rule

    def transform_module(self, mod, ctx):
        return IRModule(
            {var: self.way(function, self.rule) for var, function in mod.functions.items()}, mod.type_definitions
        )


def lambda_in_a_list(way, rule):
    passes = [function_pass(lambda f, m, c: f, opt_level=0), function_pass(lambda f, m, c: way(f, rule), opt_level=0)]
    return passes[-1]


def edits_its_module(way, rule):
    @module_pass(opt_level=0)
    def edits(mod, ctx):
        for var in mod.get_global_vars():
            mod[var] = way(mod[var], rule)
        return mod

    return edits


def by_text(way, rule):
    @transform.module_pass(opt_level=0, name="reads its text")
    def reads(mod, ctx):
        again = transform.InferType()(parse(mod.astext()))
        for var in again.get_global_vars():
            again.update_func(var, way(again[var], rule))
        return again

    return reads


def logged(function):
    """A decorator of the author's own."""

    @wraps(function)
    def calls(*args):
        return function(*args)

    return calls


def with_a_decorator_of_its_own(way, rule):
    @function_pass(opt_level=0)
    @logged
    def noted(func, mod, ctx):
        return way(func, rule)

    return noted


def partial_function(way, rule):
    def changes(how, what, func, mod, ctx):
        return how(func, what)

    return function_pass(partial(changes, way, rule), opt_level=0, name="partial")


class Callable_:
    def __init__(self, way, rule):
        self.way, self.rule = way, rule

    def __call__(self, func, mod, ctx):
        return self.way(func, self.rule)


def object_with_call(way, rule):
    return function_pass(Callable_(way, rule), opt_level=0, name="object")


def bound_method(way, rule):
    class Rewriter:
        def run(self, func, mod, ctx):
            return way(func, rule)

    return function_pass(Rewriter().run, opt_level=0)


def pipeline_of_passes(way, rule):
    return transform.Sequential([decorated_function(way, rule), transform.FoldConstant()], name="pipeline")


FORMS = {
    "decorator in a factory": decorated_function,
    "called decorator": called_decorator,
    "decorated class": DecoratedClass,
    "derived class": DerivedClass,
    "derived module class": DerivedModuleClass,
    "lambda in a list": lambda_in_a_list,
    "edits its module": edits_its_module,
    "through text": by_text,
    "own decorator": with_a_decorator_of_its_own,
    "partial": partial_function,
    "object": object_with_call,
    "bound method": bound_method,
    "pipeline": pipeline_of_passes,
}
