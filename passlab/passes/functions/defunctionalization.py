"""Replace functions that are used as values by ADT values.

before:
    def @main(%x: int32) -> int32 { @twice(fn (%y: int32) -> int32 { add(%y, %x) }, 3) }
    def @twice(%f: fn (int32) -> int32, %x: int32) -> int32 { %f(%f(%x)) }
after:
    type Defunc_fn_int32_int32 { Defunc_fn_int32_int32_0(int32), }
    def @main(%x: int32) -> int32 { @twice_defunc(Defunc_fn_int32_int32_0(%x), 3) }
    def @twice(%f: fn (int32) -> int32, %x: int32) -> int32 { %f(%f(%x)) }
    def @twice_defunc(%f: Defunc_fn_int32_int32, %x: int32) -> int32 {
      @apply_fn_int32_int32(%f, @apply_fn_int32_int32(%f, %x))
    }
    def @apply_fn_int32_int32(%f: Defunc_fn_int32_int32, %a0: int32) -> int32 {
      match (%f) { Defunc_fn_int32_int32_0(%x) => { add(%a0, %x) } }
    }

keep:
    def @main(%x: int32) -> int32 { @inc(@inc(%x)) }
    def @inc(%x: int32) -> int32 { add(%x, 1) }
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from passlab.analysis.purity import LocalPurity
from passlab.errors import Diagnostic, DiagnosticError
from passlab.infer import infer_expr, infer_module
from passlab.ir.adt import Clause, Constructor, Pattern, PatternConstructor, PatternTuple, PatternVar, TypeData
from passlab.ir.expr import Call, Expr, Function, GlobalVar, Let, Match, Var
from passlab.ir.module import IRModule
from passlab.ir.op import Op, callee_of
from passlab.ir.types import FuncType, GlobalTypeVar, TupleType, Type, TypeCall, holds, map_type, type_nodes
from passlab.ir.variables import free_vars
from passlab.ir.walk import children, make_lets, note_rewrite, post_order, rebuild, rewrite, substitute, use_counts
from passlab.rewriting.fresh_copy import fresh_copy
from passlab.rewriting.let_binding import BindingPlan, bind_beside_effects
from passlab.transform.base import ModulePass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass

# Specialize generic functions passed as arguments to the types at which they are used.


def at_types(function: Function, mod: IRModule) -> Function:
    """Return a typed function without type parameters, typed, with no generic functions among its arguments.

    Generic functions elsewhere (returned, in tuples, in data) stay.
    """
    while any(_is_generic(e) for call in post_order(function) if type(call) is Call for e in (call.op, *call.args)):
        wrapped = _wrap_generics(function, _bound_generics(function))
        result = _copy_called_generics(wrapped if wrapped is function else infer_expr(wrapped, mod))
        if result is function:  # only global and recursive functions are left
            return function
        function = infer_expr(result, mod)  # type: ignore[assignment]
    return function


def _is_generic(expr: Expr) -> bool:
    if type(expr) is Function and expr.is_primitive:
        return False
    ty = expr.checked_type_
    return type(expr) in (Function, GlobalVar, Var) and type(ty) is FuncType and bool(ty.type_params)


def _bound_generics(function: Function) -> dict[Expr, Expr]:
    """Return the non-recursive generic functions bound to variables."""
    result: dict[Expr, Expr] = {}
    for node in post_order(function):
        if type(node) is Let and _is_generic(node.value) and node.var not in free_vars(node.value):
            result[node.var] = node.value
    for var, value in result.items():
        while value in result:
            value = result[var] = result[value]
    return result


def _wrap_generics(function: Function, bound: dict[Expr, Expr]) -> Expr:
    """Wrap each generic argument %f in `fn (%x: T) { %f(%x) }`, and inline the functions bound to variables."""

    def expected_types(call: Call) -> tuple[Type, ...]:
        ty: Any = call.op.checked_type_
        if type(ty) is not FuncType or len(ty.type_params) != len(call.type_args):
            return ()
        substitution: dict[Type, Type] = dict(zip(ty.type_params, call.type_args, strict=True))
        return tuple(map_type(t, substitution.get) for t in ty.arg_types)

    def visit(pre: Expr, post: Expr) -> Expr:
        if type(post) is Let:
            return post.body if pre.var in bound and post.var not in free_vars(post.body) else post  # type: ignore[attr-defined]
        assert isinstance(pre, Call)
        assert isinstance(post, Call)
        args = list(post.args)
        for i, (arg, ty) in enumerate(zip(pre.args, expected_types(pre), strict=False)):
            if _is_generic(arg) and type(ty) is FuncType and not ty.type_params:
                params = [Var(f"a{k}", t) for k, t in enumerate(ty.arg_types)]
                args[i] = Function(params, Call(bound.get(args[i], args[i]), params), ty.ret_type)
        callee = bound.get(post.op, post.op)
        same = callee is post.op and all(a is b for a, b in zip(args, post.args, strict=True))
        return post if same else post.with_fields(op=callee, args=tuple(args))

    return rewrite(function, visit, only=(Call, Let))


def _copy_called_generics(function: Expr) -> Expr:
    """Replace each called generic function literal by a copy for the types of the call."""

    def visit(pre: Call, post: Call) -> Expr:
        if type(post.op) is not Function or not _is_generic(pre.op):
            return post
        types = dict(zip(post.op.type_params, pre.type_args, strict=True))
        result: Expr = post.with_fields(op=fresh_copy(post.op.with_fields(type_params=()), types=types), type_args=())
        return result

    return rewrite(function, visit, only=(Call,))


# Defunctionalization: functions used as values become ADT values, and their calls become matches on these.

# The conversion of data types that contain function types, such as `GradCell[T] { One(fn () -> T), ... }`.


def types_of_functions(mod: IRModule) -> frozenset[GlobalTypeVar]:
    """Return the data types of a module that contain function types, directly or through other types."""
    direct: list[GlobalTypeVar] = []
    users: dict[GlobalTypeVar, list[GlobalTypeVar]] = {}
    for header, data in mod.type_definitions.items():
        inputs = [ty for c in data.constructors for ty in c.inputs]
        if any(holds(ty, FuncType) for ty in inputs):
            direct.append(header)
        for node in _type_nodes(inputs):
            if isinstance(node, GlobalTypeVar):
                users.setdefault(node, []).append(header)
    reached = set(direct)
    while direct:
        new = [user for user in users.get(direct.pop(), ()) if user not in reached]
        reached.update(new)
        direct += new
    return frozenset(reached)


def _type_nodes(types: Iterable[Type]) -> list[Type]:
    """Return all parts of types, with the headers of type calls."""
    return [part for ty in types for node in type_nodes(ty) for part in (node, getattr(node, "func", node))]


class DataInstances:
    """The instances of such types that a program uses, each converted to a type of its own.

    `data(ty)` returns a type with functions replaced by data; it converts the inputs of constructors.
    """

    def __init__(self, mod: IRModule, data: Callable[[Type], Type], name: Callable[[str], str]) -> None:
        self.kinds = types_of_functions(mod)
        self.instances: dict[TypeCall, TypeData] = {}
        self._definitions = mod.type_definitions
        self._data = data
        self._name = name
        self._headers: dict[TypeCall, GlobalTypeVar] = {}

    def names(self, ty: Type) -> bool:
        """Return whether a type contains one of these types."""
        return (
            bool(self.kinds)
            and holds(ty, TypeCall)
            and any(isinstance(t, TypeCall) and t.func in self.kinds for t in type_nodes(ty))
        )

    def instance(self, ty: TypeCall) -> TypeCall:
        """Return the type that replaces an instance."""
        header = self._headers.get(ty)
        if header is None:
            source = self._source(ty)
            header = self._headers[ty] = GlobalTypeVar(self._name(source.header.name_hint))
            results = [
                Constructor(self._name(c.name_hint), [*map(self._data, self.inputs(ty, c))], header)
                for c in source.constructors
            ]
            self.instances[ty] = TypeData(header, (), results)
        return TypeCall(header, ())

    def inputs(self, ty: TypeCall, constructor: Constructor) -> list[Type]:
        """Return the input types of a constructor in an instance of its type."""
        types: Mapping[Type, Type] = dict(zip(self._source(ty).type_vars, ty.args, strict=True))
        return [map_type(part, types.get) for part in constructor.inputs]

    def constructor(self, ty: TypeCall, constructor: Constructor) -> Constructor:
        """Return the constructor that replaces one of an instance; other constructors are returned unchanged."""
        if constructor.belong_to not in self.kinds:
            return constructor
        self.instance(ty)
        return self.instances[ty].constructors[self._source(ty).constructors.index(constructor)]

    def _source(self, ty: TypeCall) -> TypeData:
        assert isinstance(ty.func, GlobalTypeVar)
        return self._definitions[ty.func]

    def pattern(self, root: Pattern, ty: Type) -> Pattern:
        """Return a pattern on a value of a type, with its constructors replaced."""
        done: dict[Pattern, Pattern] = {}
        stack: list[tuple[Pattern, Type, bool]] = [(root, ty, False)]
        while stack:
            at, of, ready = stack.pop()
            if not isinstance(at, (PatternConstructor, PatternTuple)):
                done[at] = at
            elif not ready:
                stack.append((at, of, True))
                stack += [(part, t, False) for part, t in zip(at.patterns, self._fields(at, of), strict=True)]
            elif isinstance(at, PatternTuple):
                done[at] = PatternTuple([done[p] for p in at.patterns], at.span)
            else:
                assert isinstance(of, TypeCall)
                constructor = self.constructor(of, at.constructor)
                done[at] = PatternConstructor(constructor, [done[p] for p in at.patterns], at.span)
        return done[root]

    def _fields(self, pattern: PatternConstructor | PatternTuple, ty: Type) -> Iterable[Type]:
        if isinstance(pattern, PatternTuple):
            assert isinstance(ty, TupleType)
            return ty.fields
        assert isinstance(ty, TypeCall)
        return self.inputs(ty, pattern.constructor)


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
            args = tuple([arg if arg is callee_of(post) else value(arg) for arg in post.args])
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
        return holds(ty, FuncType) or self.records.names(ty)

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
        """Declare the data type of a function type; the data types of its parts exist already."""
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
    callees = {callee for n in order if type(n) is Call for callee in (n.op, callee_of(n))} | {function}
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
            old = node.type_annotation if node.type_annotation is not None else node.checked_type
            ty = old if node in self._direct else self._conversion.data(old)
            return node if ty is old else Var(node.name_hint, ty, node.span, node.virtual_device)
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

    def _call(self, call: Call) -> Expr:
        callee = call.op
        if (kernel := callee_of(call)) is not callee:
            kept = self._kernels.get(kernel, kernel)
            return rebuild(call, lambda e: kept if e is kernel else self._new(e))
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


@standard_pass(opt_level=0, required=("InferType",), contract=EXACT)
class Defunctionalization(ModulePass):
    """Rewrite a function of a module, and all functions it reaches, so that no function is passed, returned or stored.

    The function is `entry`. Each function type in use becomes a data type `Defunc_...` with one constructor for each
    function used as a value, and a global function `apply_...` that selects the code by the constructor. Generic
    functions are copied for each instance, and for each use as an argument. The original functions stay: run
    RemoveUnusedFunctions. Relay names these types by their kind alone, so that different ones collide, and accepts
    functions only as arguments.

    `Defunctionalization(func, mod)` is Relay's function: it returns the rewritten function instead of a pass, and adds
    the new definitions to `mod`.
    """

    entry: str = "main"

    def __new__(cls, *args: Any, **options: Any) -> Any:
        if args and isinstance(args[0], Function):
            return first_order(args[0], args[1] if len(args) > 1 else options.get("mod") or IRModule())
        return super().__new__(cls)

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return mod.with_functions({self.entry: first_order(mod[self.entry], mod)})
