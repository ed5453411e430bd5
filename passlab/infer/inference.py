"""Type inference of modules and expressions.

Functions whose signature is known (typed already, or annotated completely) are inferred one by one. The others are
inferred in groups of mutually recursive functions, callees first. Typed functions cost a table lookup.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast
from weakref import WeakSet

from passlab.arguments import checked
from passlab.errors import Diagnostic, TypeInferenceError
from passlab.infer.constraints import ConstraintGenerator
from passlab.infer.inference_state import InferenceState
from passlab.infer.kinds import kind_error
from passlab.infer.order import strongly_connected
from passlab.infer.solution import Solution
from passlab.infer.solver import WeakenedError
from passlab.infer.type_env import TypeEnv, type_dependency_of
from passlab.ir.adt import TypeData
from passlab.ir.diagnostics import show_diagnostics
from passlab.ir.expr import Expr, ExprT, Function, GlobalVar
from passlab.ir.gc_pause import building
from passlab.ir.module import IRModule
from passlab.ir.node_errors import not_a_node_error
from passlab.ir.walk import post_order

SHOWN_ERRORS = 50
_DEFINITIONS: WeakSet[TypeData] = WeakSet()  # data types found to be well-kinded


def infer_module(mod: IRModule) -> IRModule:
    """Return `mod` with every node typed: the same object if it was typed, or if types could be added in place.

    Missing annotations of variables, result types of functions and type arguments of calls are filled in, which creates
    new nodes; all others stay the same objects. Raises `TypeInferenceError` with every independent finding; the module
    is then unchanged.

    >>> mod = passlab.infer.infer_module(passlab.text.parse("def @main() { 1f + 2f }"))
    >>> print(mod["main"].ret_type)
    float32
    """
    if not isinstance(mod, IRModule):
        raise not_a_node_error(mod, "a module")
    env = TypeEnv(mod)
    # Most functions of a compiled program are typed kernels that depend on nothing: they cost no call.
    others = [(n, f) for n, f in mod.items() if f._checked_type is None or f._type_dependency is not None]
    untyped = [name for name, fn in others if not _has_valid_type(fn, env)]
    if not untyped:
        return mod
    with building(), show_diagnostics(mod):
        return _typed_module(mod, env, untyped)


def _typed_module(mod: IRModule, env: TypeEnv, untyped: list[str]) -> IRModule:
    """Return `mod` with the functions `untyped` typed."""
    changes: dict[str, Function] = {}
    errors = _definition_errors(mod)
    for group in inference_groups(env, untyped):
        errors += _infer_group(env, group, changes)
    if errors:
        raise TypeInferenceError(*_shown_errors(errors))
    for name, fn in env.functions.items():
        env.global_var(mod.get_global_var(name), fn.checked_type)
    return mod.with_functions(changes).with_global_vars(env.new_global_vars)


@checked
def infer_expr(expr: ExprT, mod: IRModule | None = None) -> ExprT:
    """Return `expr` with every node typed, under the functions and data types of `mod`; the same object when possible.

    Free variables must be annotated, or be determined by their uses. Raises `TypeInferenceError`.

    >>> print(passlab.infer.infer_expr(relay.sum(relay.var("x", shape=(2, 3)), axis=[0])).checked_type)
    Tensor[(3), float32]
    """
    if not isinstance(expr, Expr):
        raise not_a_node_error(expr)
    env = TypeEnv(mod)
    if expr._checked_type is not None and not isinstance(expr, GlobalVar) and _has_valid_type(expr, env):
        return expr
    errors: list[Diagnostic] = []
    for group in _unsigned_groups(env, _mentioned_names(env, expr)):
        errors += _infer_group(env, group, {})
    if not errors:
        exprs: list[Expr] = [expr]
        roots, errors = _infer(env, exprs, [])
        if not errors:
            return cast(ExprT, roots[0])  # inference does not change the class of a root
    raise TypeInferenceError(*_shown_errors(errors))


def _mentioned_names(env: TypeEnv, expr: Expr) -> list[str]:
    """Return the functions without a known signature that an expression refers to, directly or indirectly.

    Passes type expressions by the thousand, so this examines only untyped nodes, and nothing else of the module.
    """
    names: dict[str, None] = {}
    stack, seen = [expr], set[Expr]()
    while stack:
        for node in post_order(stack.pop(), enter=lambda n: not _has_valid_type(n, env), seen=seen):
            if type(node) is GlobalVar and node.name_hint in env.functions and node.name_hint not in names:
                if env.signature(node.name_hint) is None:
                    names[node.name_hint] = None
                    stack.append(env.functions[node.name_hint])
    return list(names)


def _has_valid_type(expr: Expr, env: TypeEnv) -> bool:
    """Whether an expression has a type that is valid in this module."""
    if expr._checked_type is None:
        return False
    dependency = type_dependency_of(expr)
    return dependency is None or env.satisfies(dependency)


def _definition_errors(mod: IRModule) -> list[Diagnostic]:
    """Return the kind errors of the data types that a module defines. A correct one is checked once per process."""
    errors = []
    for data in mod.type_definitions.values():
        if data not in _DEFINITIONS:
            error = kind_error(data, mod, None)
            if error is None:
                _DEFINITIONS.add(data)
            else:
                errors.append(error)
    return errors


def inference_groups(env: TypeEnv, names: list[str]) -> list[list[str]]:
    """Return functions in the order of inference: groups without a known signature, then the others one by one."""
    return [*_unsigned_groups(env, names), *([name] for name in names if env.signature(name) is not None)]


def _unsigned_groups(env: TypeEnv, names: Iterable[str]) -> list[list[str]]:
    """Return the functions without a known signature, in groups, callees first."""
    unsigned = [n for n in names if env.signature(n) is None]
    if not unsigned:
        return []
    names_to_infer = set(unsigned)
    references = {}
    for name in unsigned:
        global_names = (node.name_hint for node in post_order(env.functions[name]) if isinstance(node, GlobalVar))
        references[name] = list(dict.fromkeys(n for n in global_names if n in names_to_infer))
    return strongly_connected(references)


def _infer_group(env: TypeEnv, names: list[str], changes: dict[str, Function]) -> list[Diagnostic]:
    """Infer a group of global functions together, and record the replaced ones in `changes`. Returns the errors."""
    fns = [env.functions[n] for n in names]
    recursive = [n for n in names if env.signature(n) is None]
    roots, errors = _infer(env, fns, recursive)
    if errors or not roots:
        env.failed.update(names)
        return errors
    for name, fn, root in zip(names, fns, roots, strict=True):
        assert isinstance(root, Function)
        env.add_typed_function(name, root)
        if root is not fn:
            changes[name] = root
    return []


def _infer(env: TypeEnv, roots: list[Expr] | list[Function], names: list[str]) -> tuple[list[Expr], list[Diagnostic]]:
    """Infer some expressions together; `names` are the names of roots that are global functions without a signature.

    Returns the typed roots, or no roots and the errors; both are empty if all errors were reported before.
    """
    try:
        state, generator = _generate(env, roots, names, exact=False)
    except WeakenedError:
        state, generator = _generate(env, roots, names, exact=True)
    solution = Solution(state, generator.order)
    errors = [*state.errors, *solution.undetermined_types()]
    if errors or state.depends_on_error:  # what depends on an error reported for another function adds none
        return [], errors
    for name in names:
        env.set_signature(name, solution.final(state.signatures[name]))
    solution.write()
    generator.close()
    return [solution.changed.get(root, root) for root in roots], []


def _generate(
    env: TypeEnv, roots: list[Expr] | list[Function], names: list[str], exact: bool
) -> tuple[InferenceState, ConstraintGenerator]:
    state = InferenceState(env, exact)
    generator = ConstraintGenerator(state)
    for name, root in zip(names, roots, strict=False):
        assert isinstance(root, Function)
        generator.declare(name, root)
    for root in roots:
        generator.run(root)
    state.solver.solve()
    return state, generator


def _shown_errors(errors: list[Diagnostic]) -> list[Diagnostic]:
    """Return the findings to show, without duplicates, up to a readable number."""
    unique = list({(d.message, id(d.place), d.found): d for d in errors}.values())
    if len(unique) > SHOWN_ERRORS:
        rest = Diagnostic(f"and {len(unique) - SHOWN_ERRORS} more errors", severity="note")
        unique = [*unique[:SHOWN_ERRORS], rest]
    return unique
