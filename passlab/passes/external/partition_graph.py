"""Move each marked region into a global function for its compiler.

before:
    def @main(%x: Tensor[(2), float32]) {
      %0 = exp(annotation.compiler_begin(%x, compiler="toy"));
      %1 = annotation.compiler_begin(annotation.compiler_end(%0, compiler="toy"), compiler="default");
      annotation.compiler_end(nn.relu(%1), compiler="default")
    }
after:
    def @main(%x: Tensor[(2), float32]) {
      nn.relu(@tvmgen_default_toy_main_0(%x))
    }
    def @tvmgen_default_toy_main_0(%toy_0_i0: Tensor[(2), float32], Compiler="toy", Primitive=1, Inline=1,
        global_symbol="tvmgen_default_toy_main_0") -> Tensor[(2), float32] {
      exp(%toy_0_i0)
    }

keep:
    def @main(%x: Tensor[(2), float32]) { exp(%x) }
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from passlab.analysis.regions import DEFAULT, Region, Regions
from passlab.analysis.type_variables import free_type_vars
from passlab.errors import Diagnostic, PassTypeError
from passlab.ir.expr import Call, Constant, Expr, Function, GlobalVar, Tuple, TupleGetItem, Var, set_span
from passlab.ir.module import IRModule
from passlab.ir.types import FuncType, TupleType, TypeVar
from passlab.ir.walk import note_rewrite, rebuild, result_of, rewrite
from passlab.rewriting.region_lets import without_marks, without_region_lets
from passlab.transform.base import ModulePass, infer_types, is_optimizable
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass


@standard_pass(opt_level=0, required=("InferType",), contract=EXACT)
class PartitionGraph(ModulePass):
    """Replace each region for a compiler other than `default` by a call of a new global function; drop all marks.

    The function is called `tvmgen_<mod_name>_<compiler>_<function>_<number>`, where the number counts the opening marks
    of the function. It has the attributes `Compiler`, `Primitive=1`, `Inline=1` and `global_symbol`. Its parameters are
    the inputs of the region, each value once; constants move inside, unless `bind_constants` is off. Several results,
    and the fields of tuples among them, are returned as one tuple. The optimizer that `register_compiler_optimize`
    registered for a compiler gets each function as `main` of a module, without attributes. Types are inferred
    afterwards. Raises `PassError` if the marks do not form regions or a region depends on its own result, and
    `PassTypeError` if an optimizer returns something other than a module.
    """

    mod_name: str = "default"
    bind_constants: bool = True

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        own = {name: f for name, f in mod.items() if is_optimizable(f) and not f.is_primitive}
        plain = mod.with_functions({n: without_region_lets(without_marks(f, DEFAULT), mod) for n, f in own.items()})
        mod = infer_types(mod if plain.same_contents(mod) else plain)
        changes: dict[Any, Function] = {}
        names = {name for name, _ in mod.items()}
        by_compiler: dict[str, list[GlobalVar]] = {}
        for name in own:
            partition = _Partition(f"tvmgen_{self.mod_name}", name, self.bind_constants, names)
            result = partition.partition(mod[name])
            if result is not mod[name]:
                changes[name] = result
            changes.update(partition.functions)
            for var, function in partition.functions.items():
                by_compiler.setdefault(str(function.attrs["Compiler"]), []).append(var)
        changed = mod.with_functions(changes)
        return mod if changed is mod else infer_types(_optimize(changed, by_compiler))


def _optimize(mod: IRModule, functions: Mapping[str, Sequence[GlobalVar]]) -> IRModule:
    """Return the module with the functions of each compiler optimized by the hook registered for it."""
    for compiler, names in functions.items():
        hook = _HOOKS.get(compiler)
        if hook is not None:
            mod = mod.with_functions({var: _optimized(infer_types(mod), mod[var], hook, compiler) for var in names})
    return mod


def _optimized(mod: IRModule, func: Function, hook: Callable[[IRModule], IRModule], compiler: str) -> Function:
    """Return a function optimized by a hook, which gets it as `main` without attributes: they would keep passes off."""
    plain = Function(func.params, func.body, func.ret_type, func.type_params, span=func.span)
    alone: dict[Any, Function | None] = {name: None for name, _ in mod.items()}
    result: Any = hook(infer_types(mod.with_functions(alone).with_functions({"main": plain})))
    if not isinstance(result, IRModule):
        what = f"the optimizer registered for {compiler} did not return a module"
        raise PassTypeError(Diagnostic(what, expected="IRModule", found=type(result).__name__))
    main = result["main"]
    return Function(main.params, main.body, main.ret_type, main.type_params, func.attrs, func.span)


_HOOKS: dict[str, Callable[[IRModule], IRModule]] = {}


def register_compiler_optimize(compiler: str, hook: Callable[[IRModule], IRModule] | None) -> None:
    """Register the optimizer of the functions that PartitionGraph creates for a compiler: module -> module, or None.

    Each function is `main` of a module of its own, without attributes: PartitionGraph adds them afterwards.

    TVM's programs register it as the global function `relay.ext.<compiler>.optimize`.
    """
    if hook is None:
        _HOOKS.pop(compiler, None)
    else:
        _HOOKS[compiler] = hook


def valid_name(text: str) -> str:
    """Return a text with each character that is not allowed in the name of a function replaced by `_`."""
    return re.sub(r"\W", "_", text, flags=re.ASCII)


class _Partition:
    """Moves the regions of one function into functions of their own."""

    def __init__(self, prefix: str, name: str, bind_constants: bool, global_names: set[str]) -> None:
        self.prefix = prefix
        self.name = name
        self.bind_constants = bind_constants
        self.global_names = global_names
        self.functions: dict[GlobalVar, Function] = {}
        self.result: dict[Expr, Expr] = {}

    def partition(self, func: Function) -> Function:
        """Return the function with its regions replaced by calls."""
        regions = Regions(func)
        if not regions.all:
            return func
        for item in regions.items_in_order(func):
            if isinstance(item, Region):
                self._outline_region(item, [*regions.inputs(item)])
            elif item not in self.result and (result := rebuild(item, self._new)) is not item:
                note_rewrite(item, result)
                self.result[item] = result
        return result_of(func, self.result)

    def _new(self, expr: Expr) -> Expr:
        return self.result.get(expr, expr)

    def _outline_region(self, region: Region, inputs: list[Expr]) -> None:
        """Create the function of a region, and replace its end marks by the results of its call."""
        outside = [e for e in inputs if not (self.bind_constants and _is_constant(e))]
        params = [Var(f"{region.compiler}_{region.number}_i{i}", e.checked_type) for i, e in enumerate(outside)]
        inside: dict[Expr, Expr] = {e: e for e in inputs}
        inside.update(zip(outside, params, strict=True))
        for begin in region.begins:
            inside[begin] = inside[begin.args[0]]
        outputs = list(dict.fromkeys(leaf for end in region.ends for leaf in _leaves(end.args[0])))
        flat = [field for out in outputs for field in _fields(out)] if len(outputs) > 1 else outputs
        body = rewrite(flat[0] if len(flat) == 1 else Tuple(flat), replace=inside)
        var = self._add_function(region, params, body, outputs)
        call = Call(var, [self._new(e) for e in outside])
        set_span(call, outputs[0].span)
        value: dict[Expr, Expr] = {outputs[0]: call}
        if len(outputs) > 1:
            projections = iter([TupleGetItem(call, i) for i in range(len(flat))])
            for out in outputs:
                fields = [next(projections) for _ in _fields(out)]
                value[out] = Tuple(fields) if isinstance(out.checked_type, TupleType) else fields[0]
        for end in region.ends:
            result = self.result[end] = rewrite(end.args[0], replace=dict(value))
            note_rewrite(end, result)

    def _add_function(self, region: Region, params: Sequence[Var], body: Expr, outputs: Sequence[Expr]) -> GlobalVar:
        name = self._unique_name(valid_name(f"{self.prefix}_{region.compiler}_{self.name}_{region.number}"))
        types = _free_types(params, outputs)
        attrs = {"Compiler": region.compiler, "Primitive": 1, "Inline": 1, "global_symbol": name}
        ret = outputs[0].checked_type if len(outputs) == 1 else None
        var = GlobalVar(name)
        self.functions[var] = Function(params, body, ret, types, attrs, outputs[0].span)
        return var

    def _unique_name(self, name: str) -> str:
        result, count = name, 0
        while result in self.global_names:
            count += 1
            result = f"{name}_{count}"
        self.global_names.add(result)
        return result


def _free_types(params: Sequence[Var], outputs: Sequence[Expr]) -> list[TypeVar]:
    """Return the type variables of the enclosing function that the new function must be generic in."""
    types = [p.type_annotation for p in params if p.type_annotation is not None]
    return list(free_type_vars(FuncType(types, outputs[0].checked_type)))


def _is_constant(expr: Expr) -> bool:
    return all(type(leaf) is Constant for leaf in _leaves(expr))


def _fields(expr: Expr) -> list[Expr]:
    """Return the fields of a tuple, or any other expression itself."""
    ty = expr.checked_type
    return [TupleGetItem(expr, i) for i in range(len(ty.fields))] if isinstance(ty, TupleType) else [expr]


def _leaves(expr: Expr) -> list[Expr]:
    """Return the leaves of nested tuple literals, left to right; any other expression is one leaf."""
    result: list[Expr] = []
    stack = [expr]
    while stack:
        at = stack.pop()
        if type(at) is Tuple and at.fields:
            stack.extend(at.fields[::-1])
        else:
            result.append(at)
    return result
