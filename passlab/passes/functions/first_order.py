"""Defunctionalization: functions used as values become ADT values, and their calls become matches on these.

    %f(x)   becomes   @apply_T(%f, x)    with    type Defunc_T { Defunc_T_0(captured ...), ... }

For each function type T in use there is one data type, with a constructor for each function literal and for each global
function used as a value; `apply_T` selects the code by the constructor (Reynolds, "Definitional interpreters for
higher-order programming languages", 1972). Generic functions are copied for each instance.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from passlab.analysis.purity import LocalPurity
from passlab.errors import Diagnostic, DiagnosticError
from passlab.infer import infer_expr, infer_module
from passlab.ir.adt import Clause, Constructor, PatternConstructor, PatternVar, TypeData
from passlab.ir.expr import Call, Expr, Function, GlobalVar, Let, Match, Var
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.types import FuncType, GlobalTypeVar, Type, TypeCall, holds, map_type, type_nodes
from passlab.ir.variables import free_vars
from passlab.ir.walk import children, make_lets, note_rewrite, post_order, rebuild, rewrite, substitute, use_counts
from passlab.passes.functions.function_data import DataInstances
from passlab.rewriting.at_types import at_types
from passlab.rewriting.fresh_copy import fresh_copy
from passlab.rewriting.let_binding import BindingPlan, bind_beside_effects

INSTANCES = 250  # of one generic function: polymorphic recursion would create instances without end
_TAG_LENGTH = 60


def first_order(function: Function, mod: IRModule) -> Function:
    """Return a function that neither takes, creates nor calls functions as values; itself if it is first-order already.

    The data types and functions that it needs are added to `mod`. Functions may be passed, returned, bound, and stored
    in tuples, references and data. Raises `DiagnosticError`, and adds nothing, for a function that is generic or whose
    own parameters or result hold functions; for operators and constructors as values, and for generic functions as
    values other than arguments. A kernel (a primitive function) as a value is wrapped in a function that calls it.
    """
    conversion = _FirstOrder(mod)
    result = conversion.entry(function)
    conversion.finish()
    return result


def _is_kernel(node: Expr) -> bool:
    return type(node) is Function and node.is_primitive


def _holds_functions(ty: Type) -> bool:
    return holds(ty, FuncType)


def wrap_kernel_values(function: Function) -> Function:
    """Return a function in which kernels are only called: a kernel as a value becomes a literal that calls it."""
    order = post_order(function, enter=lambda n: not _is_kernel(n))
    kernels: dict[Expr, Any] = {n: n for n in order if _is_kernel(n)}
    lets = [n for n in order if type(n) is Let]
    for let in reversed(lets):  # outer bindings first
        if let.value in kernels:
            kernels[let.var] = kernels[let.value]

    def value(part: Expr) -> Expr:
        kernel = kernels.get(part)
        if kernel is None:
            return part
        params = [Var(p.name_hint, p.checked_type) for p in kernel.params]
        return Function(params, Call(kernel, params), kernel.checked_type.ret_type, span=part.span)

    def rule(pre: Expr, post: Expr) -> Expr:
        if isinstance(post, Call):
            args = tuple(map(value, post.args))
            return post if args == post.args else post.with_fields(args=args)
        if isinstance(post, Let):
            bound = post.value if _is_kernel(post.value) else value(post.value)
            return post.with_fields(value=bound, body=value(post.body))
        return post if _is_kernel(post) else rebuild(post, value)

    return rewrite(function, rule, enter=lambda n: not _is_kernel(n)) if kernels else function


class _FunctionData:
    """The data type that replaces a function type: its header, the constructors so far, and its `apply` function."""

    def __init__(self, ty: FuncType, header: GlobalTypeVar, apply: GlobalVar, params: list[Var]) -> None:
        self.type = ty
        self.header = header
        self.apply = apply
        self.params = params
        self.constructors: list[Constructor] = []
        self.clauses: list[Clause] = []
        self.global_constructors: dict[Expr, Constructor] = {}  # of global functions

    def constructor(self, inputs: list[Type]) -> Constructor:
        """Add a constructor."""
        result = Constructor(f"{self.header.name_hint}_{len(self.constructors)}", inputs, self.header)
        self.constructors.append(result)
        return result


class _FirstOrder:
    """The state of one conversion: the data types of function types, and the new global functions."""

    def __init__(self, mod: IRModule) -> None:
        self.mod = mod
        self.typed = infer_module(mod) if any(f.checked_type_ is None for _, f in mod.items()) else mod
        self.kinds: dict[Type, _FunctionData] = {}
        self.instances: dict[tuple[str, tuple[Type, ...]], GlobalVar] = {}
        self.worklist: list[tuple[str, tuple[Type, ...], GlobalVar]] = []
        self.functions: dict[GlobalVar, Function] = {}
        self.names = {name for name, _ in mod.items()} | {t.name_hint for t in mod.get_global_type_vars()}
        self.names |= {c.name_hint for data in mod.type_definitions.values() for c in data.constructors}
        self.records = DataInstances(self.typed, self.data, self.unique_name)
        self.higher_order = _higher_order_functions(self.typed, self.changes_type)
        self._counts: dict[str, int] = {}  # of the instances of each generic function
        self._numbers: Counter[str] = Counter()  # the last number appended to each stem of a name

    def entry(self, function: Function) -> Function:
        """Return the first-order form of a function whose parameters and result are tensors and data."""
        source: Any = infer_expr(function, self.typed)
        if (
            source.type_params
            or self.changes_type(source.checked_type.ret_type)
            or any(self.changes_type(p.checked_type) for p in source.params)
        ):
            what = "the function is generic, or takes or returns functions"
            raise DiagnosticError(Diagnostic(what, function.span, found=str(source.checked_type)))
        if not _is_higher_order(source, self.higher_order, self.changes_type):
            return function
        result = _BodyRewriter(self, at_types(source, self.typed)).function()
        while self.worklist:
            name, types, var = self.worklist.pop()
            self.functions[var] = _BodyRewriter(self, self._instance(name, types)).function()
        return result

    def _instance(self, name: str, types: tuple[Type, ...]) -> Function:
        source = self.typed[name]
        own = dict(zip(source.type_params, types, strict=True))
        copy = fresh_copy(source.with_fields(type_params=()), types=own)
        return at_types(infer_expr(copy, self.typed), self.typed)

    def finish(self) -> None:
        """Add the new definitions to the module."""
        for kind in self.kinds.values():
            self.mod.add_type(TypeData(kind.header, (), kind.constructors))
        for data in self.records.instances.values():
            self.mod.add_type(data)
        for var, function in self.functions.items():
            self.mod.add(var, function)
        for kind in self.kinds.values():
            body: Expr = Match(kind.params[0], kind.clauses)
            if not kind.clauses:  # never called, as there is no such value; a match without arms would have no type
                body = Call(kind.apply, kind.params)
            self.mod.add(kind.apply, Function(kind.params, body, self.data(kind.type.ret_type)))

    # ------------------------------------------------------------ names and types
    def unique_name(self, stem: str) -> str:
        """Return an unused name."""
        result = stem
        while result in self.names:
            self._numbers[stem] += 1
            result = f"{stem}_{self._numbers[stem]}"
        self.names.add(result)
        return result

    def changes_type(self, ty: Type) -> bool:
        """Return True if a type contains function types, or data types that contain some."""
        return _holds_functions(ty) or self.records.names(ty)

    def data(self, ty: Any) -> Any:
        """Return a type (or None) with each function type replaced by its data type."""
        if ty is None or not self.changes_type(ty):
            return ty
        for node in type_nodes(ty):  # parts come first
            if type(node) is FuncType and node not in self.kinds:
                self._declare(node)
        return self._map_parts(ty)

    def _map_parts(self, ty: Type) -> Type:
        return map_type(ty, self._replacement)

    def _replacement(self, ty: Type) -> Type | None:
        if type(ty) is FuncType:
            return TypeCall(self.kinds[ty].header, ())
        return self.records.instance(ty) if type(ty) is TypeCall and ty.func in self.records.kinds else None

    def _declare(self, ty: FuncType) -> None:
        """Declare the data type of a function type; those of its parts exist already."""
        if ty.type_params:
            what = "a generic function is used as a value"
            raise DiagnosticError(Diagnostic(what, found=str(ty), hint="give it a type, or call it by its name"))
        tag = _tag(ty)
        header = GlobalTypeVar(self.unique_name(f"Defunc_{tag}"))
        params = [
            Var("f", TypeCall(header, ())),
            *(Var(f"a{i}", self._map_parts(t)) for i, t in enumerate(ty.arg_types)),
        ]
        self.kinds[ty] = _FunctionData(ty, header, GlobalVar(self.unique_name(f"apply_{tag}")), params)

    def kind(self, ty: FuncType) -> _FunctionData:
        """Return the data type of a function type."""
        self.data(ty)
        return self.kinds[ty]

    def function(self, var: GlobalVar, types: tuple[Type, ...]) -> GlobalVar:
        """Return the first-order form of a global function for some type arguments."""
        name = var.name_hint
        if name not in self.higher_order:
            return var
        key = (name, types)
        if key not in self.instances:
            self._counts[name] = self._counts.get(name, 0) + 1
            if self._counts[name] > INSTANCES or len(types) != len(self.typed[name].type_params):
                what = f"@{name} is used at types without end, or that are not known"
                raise DiagnosticError(Diagnostic(what, var.span, hint="only functions with finitely many instances"))
            result = GlobalVar(self.unique_name("_".join([name, *map(_tag, types)]) if types else f"{name}_defunc"))
            self.instances[key] = result
            self.worklist.append((name, types, result))
        return self.instances[key]

    def global_value(self, var: GlobalVar) -> Expr:
        """Return a global function as a value."""
        ty: Any = self.typed[var].checked_type
        kind = self.kind(ty)
        if var not in kind.global_constructors:
            result = kind.global_constructors[var] = kind.constructor([])
            called = Call(self.function(var, ()), kind.params[1:])
            kind.clauses.append(Clause(PatternConstructor(result), called))
        return Call(kind.global_constructors[var], ())


def _tag(ty: Type) -> str:
    """Return the text of a type as part of a name."""
    return re.sub(r"\W+", "_", str(ty)).strip("_")[:_TAG_LENGTH].rstrip("_")


# ---------------------------------------------------------------- the functions to be converted
def _higher_order_functions(mod: IRModule, changes_type: Callable[[Type], bool]) -> set[str]:
    """Return the names of the functions that are not first-order."""
    callers: dict[str, list[str]] = {}
    worklist = []
    for name, function in mod.items():
        for node in post_order(function):
            if type(node) is GlobalVar:
                callers.setdefault(node.name_hint, []).append(name)
        if function.type_params or _is_higher_order(function, set(), changes_type):
            worklist.append(name)
    result = set(worklist)
    while worklist:
        for caller in callers.get(worklist.pop(), ()):
            if caller not in result:
                result.add(caller)
                worklist.append(caller)
    return {name for name in result if not mod[name].attrs.get("Compiler") and not mod[name].is_primitive}


def _is_higher_order(function: Function, others: set[str], changes_type: Callable[[Type], bool]) -> bool:
    """Return True if a typed function contains a function as a value, or refers to one of the functions `others`."""
    order = post_order(function, enter=lambda n: not _is_kernel(n))
    callees = {n.op for n in order if type(n) is Call} | {function}
    for node in order:
        if type(node) is GlobalVar and node.name_hint in others:
            return True
        if type(node) in (Op, Constructor) or (node in callees and (type(node) is GlobalVar or _is_kernel(node))):
            continue
        if node is not function and node.checked_type_ is not None and changes_type(node.checked_type_):
            return True
    return False


# ---------------------------------------------------------------- one function
class _BodyRewriter:
    """The rewriting of one typed global function without type parameters."""

    def __init__(self, conversion: _FirstOrder, function: Function) -> None:
        self._conversion = conversion
        plan, purity = BindingPlan(function), LocalPurity()
        # Arguments are evaluated before the callee, which becomes the first argument: one with effects is bound first.
        impure = {n.op for n in plan.order if type(n) is Call and not purity.of(n.op)}
        bound = bind_beside_effects(function, conversion.typed, (plan.crossing | impure).__contains__)
        self._function: Any = infer_expr(wrap_kernel_values(bound), conversion.typed)
        self._order = post_order(self._function, enter=lambda n: not _is_kernel(n))
        self._result: dict[Expr, Expr] = {}
        self._lets: dict[Expr, list[Var]] = {}  # the variables that each function literal is bound to
        self._direct: set[Expr] = set()  # kernels, and variables bound to them
        self._kernels: dict[Expr, Expr] = {}  # the kernel of each variable bound to one
        uses = use_counts(self._function)
        self._inline = {n.op for n in self._order if type(n) is Call and type(n.op) is Function and uses[n.op] == 1}
        for node in self._order:
            if _is_kernel(node):
                self._direct.add(node)
            elif type(node) is Let and type(node.value) is Function:
                self._lets.setdefault(node.value, []).append(node.var)
            if type(node) is Let and _is_kernel(node.value):
                self._kernels[node.var] = node.value
        self._direct |= self._kernels.keys()

    def function(self) -> Function:
        """Return the first-order form of the function."""
        obstacles = list(self._obstacles())
        if obstacles:
            raise DiagnosticError(*obstacles)
        for node in self._order[:-1]:
            result = self._node(node)
            if result is not node:
                self._result[node] = result
                note_rewrite(node, result)
        return self._root(self._function)

    def _root(self, function: Function) -> Function:
        params = tuple(self._result.get(p, p) for p in function.params)
        ret = self._conversion.data(function.ret_type)
        return function.with_fields(params=params, body=self._new(function.body), ret_type=ret)

    def _obstacles(self) -> Iterator[Diagnostic]:
        for node in self._order:
            callee = node.op if type(node) is Call else None
            for part in children(node):
                if part is callee or (type(node) is Let and part in (node.var, node.value) and part in self._direct):
                    continue
                if type(part) is Op:
                    yield Diagnostic("an operator is used as a value", node.span, hint="wrap it in `fn`")
                elif type(part) is Constructor and part.inputs:
                    hint = "run EtaExpand(expand_constructor=True) first"
                    yield Diagnostic(f"the constructor `{part}` is used as a value", node.span, hint=hint)
            if type(node) is Function and node is not self._function and node.type_params and not _is_kernel(node):
                yield Diagnostic("a generic function is used as a value", node.span, hint="make it a global function")

    def _new(self, node: Expr) -> Expr:
        if type(node) is GlobalVar:
            return self._conversion.global_value(node)
        return self._result.get(node, node)

    def _node(self, node: Expr) -> Expr:
        if type(node) is Var:
            return self._var(node)
        if type(node) is Call:
            return self._call(node)
        if type(node) is Function:
            return node if node in self._direct or node in self._inline else self._literal(node)
        if type(node) is Match and self._conversion.records.kinds:
            return self._match(node)
        return node if type(node) is GlobalVar else rebuild(node, self._new)

    def _match(self, match: Match) -> Expr:
        """Return a match on data that holds functions, with the constructors of its patterns replaced."""
        result = rebuild(match, self._new)
        assert isinstance(result, Match)
        ty = match.data.checked_type
        if not self._conversion.records.names(ty):
            return result
        clauses = [Clause(self._conversion.records.pattern(c.lhs, ty), c.rhs, c.span) for c in result.clauses]
        return Match(result.data, clauses, result.complete, result.span)

    def _var(self, var: Var) -> Var:
        old = var.type_annotation if var.type_annotation is not None else var.checked_type
        ty = old if var in self._direct else self._conversion.data(old)
        return var if ty is old else Var(var.name_hint, ty, var.span, var.virtual_device)

    def _call(self, call: Call) -> Expr:
        callee = call.op
        args = [self._new(a) for a in call.args]
        types = tuple(map(self._conversion.data, call.type_args))
        if type(callee) is GlobalVar:
            result = self._conversion.function(callee, call.type_args)
            if result is callee:
                return rebuild(call, lambda e: e if e is callee else self._new(e))
            return Call(result, args, call.attrs, (), call.span)
        if type(callee) is Constructor and callee.belong_to in self._conversion.records.kinds:
            ty = call.checked_type
            assert isinstance(ty, TypeCall)
            return Call(self._conversion.records.constructor(ty, callee), args, None, (), call.span)
        if type(callee) in (Op, Constructor) or callee in self._direct:
            new_call: Any = rebuild(call, lambda e: self._kernels.get(e, e) if e is callee else self._new(e))
            same = all(a is b for a, b in zip(types, call.type_args, strict=True))
            direct_call: Expr = new_call if same else new_call.with_fields(type_args=types)
            return direct_call
        if type(callee) is Function and callee in self._inline:
            params: Any = [self._new(p) for p in callee.params]
            return make_lets(zip(params, args, strict=True), self._new(callee.body))
        kind: Any = callee.checked_type
        return Call(self._conversion.kind(kind).apply, [self._new(callee), *args], None, (), call.span)

    def _literal(self, literal: Function) -> Expr:
        """Return the data that represents a function literal, after adding its case to the apply function."""
        ty: Any = literal.checked_type
        kind = self._conversion.kind(ty)
        function = self._root(literal)
        own_names = {self._new(v): kind.params[0] for v in self._lets.get(literal, ())}
        captured = [v for v in free_vars(function) if v not in own_names]
        result = kind.constructor([v.type_annotation or v.checked_type for v in captured])
        inner = [Var(v.name_hint, t, v.span) for v, t in zip(captured, result.inputs, strict=True)]
        mapping: dict[Expr, Expr] = {**own_names, **dict(zip(captured, inner, strict=True))}
        mapping.update(zip(function.params, kind.params[1:], strict=True))
        pattern = PatternConstructor(result, [PatternVar(v) for v in inner])
        kind.clauses.append(Clause(pattern, substitute(function.body, mapping)))
        return Call(result, captured, span=literal.span)
