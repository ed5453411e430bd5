"""`IRModule`: the functions and type definitions of one program, by name.

A module can be changed through its own methods (`mod["f"] = fn`), as in Relay, but its tables are replaced, never
edited, so `snapshot()` costs nothing and a snapshot never changes with its original. Passes use `with_functions`, which
returns the same module if nothing changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, overload

from passlab.arguments import checked
from passlab.errors import Diagnostic, DiagnosticError, NodeTypeError, did_you_mean
from passlab.ir.adt import Constructor, TypeData
from passlab.ir.attrs import DictAttrs, attribute
from passlab.ir.expr import NO_ATTRS, Expr, Function, GlobalVar, unwrap
from passlab.ir.node_errors import check_kind, not_a_node_error
from passlab.ir.span import Source
from passlab.ir.types import GlobalTypeVar
from passlab.ir.variables import check_closed, free_vars
from passlab.lazy import LIBRARY, PRINTER, PROGRAM_JSON, late, notebook_forms


class IRModule:
    """A table of functions and one of type definitions.

    `functions` and `type_definitions` may be keyed by name or by `GlobalVar` / `GlobalTypeVar`.

    >>> x = relay.var("x", shape=(2,))
    >>> mod = passlab.IRModule.from_expr(relay.Function([x], relay.exp(x)))
    >>> [var.name_hint for var in mod.get_global_vars()], mod["main"].params[0] is x
    (['main'], True)
    """

    _repr_mimebundle_ = notebook_forms

    __slots__ = (
        "__weakref__",
        "_constructors",
        "_functions",
        "_global_vars",
        "_imports",
        "_types",
        "attrs",
        "history",
        "recorded",
        "source",
    )

    def __init__(
        self,
        functions: Mapping[Any, Expr] | None = None,
        type_definitions: Mapping[Any, TypeData] | None = None,
        attrs: DictAttrs | None = None,
        source: Source | None = None,
    ) -> None:
        self._functions: dict[str, Function] = {}
        self._global_vars: dict[str, GlobalVar] = {}
        self._types: dict[str, TypeData] = {}
        self._constructors: dict[str, Constructor] = {}
        self._imports: frozenset[str] = frozenset()
        self.attrs = NO_ATTRS if attrs is None else attrs
        self.history: Any = None  # the recording that produced the module; neither compared nor printed
        self.recorded: Any = None  # a weak reference to the recording that the module is a step of
        self.source = source
        for given, what, hint in (
            (functions, "a table of functions by name", "of one function: `IRModule.from_expr(...)`"),
            (type_definitions, "a table of data types by name", ""),
        ):
            if given is not None and not isinstance(given, Mapping):
                raise not_a_node_error(given, what, hint)
        for data in (type_definitions or {}).values():
            self.add_type(data)
        for name, function in (functions or {}).items():
            self[name] = function

    # ------------------------------------------------------------ creating
    @staticmethod
    def from_expr(
        expr: Expr, functions: Mapping[Any, Expr] | None = None, type_defs: Mapping[Any, TypeData] | None = None
    ) -> IRModule:
        """Return a module whose `main` is `expr`: a function as it is, any other expression over its free variables."""
        mod = IRModule(functions, type_defs)
        expr = unwrap(expr)
        if not isinstance(expr, Function):
            expr = Function(free_vars(expr), expr, span=expr.span)
        mod[str(expr.attrs.get("global_symbol") or "main")] = expr
        return mod

    def snapshot(self) -> IRModule:
        """Return a module with the same contents, all shared."""
        new = self._copy(self._functions)
        new.history = self.history
        return new

    def _copy(self, functions: dict[str, Function]) -> IRModule:
        new = object.__new__(IRModule)
        new._functions = functions
        new._global_vars = self._global_vars
        new._types, new._constructors = self._types, self._constructors
        new.attrs, new.source, new._imports = self.attrs, self.source, self._imports
        new.history = new.recorded = None
        return new

    def __copy__(self) -> IRModule:
        return self.snapshot()

    def __deepcopy__(self, memo: object) -> IRModule:
        return self.snapshot()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the JSON of `ir.save_json`, without source locations; a typed module is typed again."""
        reduced: tuple[Any, ...] = late(PROGRAM_JSON, "pickled")(self)
        return reduced

    @checked
    def with_functions(self, changes: Mapping[Any, Function | None]) -> IRModule:
        """Return a module with some functions replaced, added, or (None) removed; `self` if nothing changes."""
        functions = dict(self._functions)
        for key, function in changes.items():
            if function is None:
                functions.pop(_name(key), None)
            else:
                functions[_name(key)] = function
        same = len(functions) == len(self._functions) and all(
            functions.get(name) is function for name, function in self._functions.items()
        )
        if same:
            return self
        new = self._copy(functions)
        missing = {
            _name(k): k if isinstance(k, GlobalVar) else GlobalVar(k)
            for k in changes
            if _name(k) not in self._global_vars
        }
        if missing:
            new._global_vars = {**self._global_vars, **missing}
        return new

    @checked
    def with_global_vars(self, global_vars: Mapping[str, GlobalVar]) -> IRModule:
        """Return a module with the global variables of some names replaced; `self` for none.

        For inference: a global variable has one type, so a function whose signature changed gets a new one.
        """
        if all(self._global_vars.get(name) is var for name, var in global_vars.items()):
            return self
        new = self.snapshot()
        new._global_vars = {**self._global_vars, **global_vars}
        return new

    def same_as(self, other: object) -> bool:
        """Whether `other` is this object."""
        return self is other

    @checked
    def same_contents(self, other: IRModule) -> bool:
        """Whether both modules hold the same objects under the same names."""
        return (
            _same_table(self._functions, other._functions)
            and _same_table(self._types, other._types)
            and self.attrs == other.attrs
        )

    def with_attr(self, key: str, value: Any) -> IRModule:
        """Return a module with one attribute set."""
        new = self.snapshot()
        new.attrs = self.attrs.with_values(attribute(key, value))
        return new

    @checked
    def with_attrs(self, changes: Mapping[str, Any]) -> IRModule:
        """Return a module with several attributes set."""
        new = self.snapshot()
        new.attrs = self.attrs.with_values(changes)
        return new

    def without_attr(self, *keys: str) -> IRModule:
        """Return a module without some attributes."""
        new = self.snapshot()
        new.attrs = self.attrs.without(*keys)
        return new

    @checked
    def get_attr(self, key: str, default: Any = None) -> Any:
        """Return the value of a module attribute, or `default`."""
        return self.attrs.get(key, default)

    # ------------------------------------------------------------ functions
    @property
    def functions(self) -> Mapping[GlobalVar, Function]:
        """The functions by global variable, in the order they were added. Read-only."""
        return MappingProxyType({self._global_vars[name]: f for name, f in self._functions.items()})

    def items(self) -> Iterator[tuple[str, Function]]:
        """Return the functions by name, in the order they were added."""
        return iter(self._functions.items())

    def functions_items(self) -> list[tuple[GlobalVar, Function]]:
        """Return the functions by global variable, as a list."""
        return [(self._global_vars[name], f) for name, f in self._functions.items()]

    @overload
    def __getitem__(self, key: GlobalTypeVar) -> TypeData: ...
    @overload
    def __getitem__(self, key: str | GlobalVar) -> Function: ...
    def __getitem__(self, key: str | GlobalVar | GlobalTypeVar) -> Function | TypeData:
        """Return the function of a name or global variable, or the definition of a global type variable."""
        if isinstance(key, GlobalTypeVar):
            return self.type_data(key.name_hint)
        name = _name(key)
        try:
            return self._functions[name]
        except KeyError:
            raise self._unknown("function", name, self._functions) from None

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(value, TypeData):
            self.add_type(value)
            return
        self.add(key, value)

    def __delitem__(self, key: Any) -> None:
        self.remove(key)

    def add(self, key: Any, value: Expr) -> None:
        """Set the function of a name.

        Any other expression becomes the body of a function without parameters. Raises `NodeTypeError` if the value is
        not an expression.
        """
        name = _name(key)
        if isinstance(value, GlobalVar):
            target = self[value]
            value = Function(target.params, target.body, target.ret_type, target.type_params, target.attrs, target.span)
        if not isinstance(value, Function):
            if not isinstance(value, Expr):
                raise NodeTypeError(f"@{name} must be a relay.Function, not {type(value).__name__}")
            value = Function((), value, span=value.span)
        check_closed(name, value)
        var = key if isinstance(key, GlobalVar) else GlobalVar(name)
        if name not in self._global_vars:
            self._global_vars = {**self._global_vars, name: var}
        self._functions = {**self._functions, name: value}

    def _add(self, var: Any, val: Any, update: bool = True) -> None:
        """Set a function or a type definition; Relay's `_add`. Without `update` a name in use is rejected."""
        if not update and not isinstance(val, TypeData) and _name(var) in self._functions:
            raise DiagnosticError(
                Diagnostic(f"@{_name(var)} is defined twice", hint="pass `update=True` to replace it")
            )
        self[var] = val

    def update_func(self, var: Any, func: Function) -> None:
        """Replace the function of a global variable."""
        self.add(var, func)

    def remove(self, key: Any) -> None:
        """Remove a function."""
        self[key]
        self._functions = {n: f for n, f in self._functions.items() if n != _name(key)}

    def update(self, other: Any) -> None:
        """Add the definitions of a module or of a dict of functions; functions replace functions of the same name."""
        other = other if isinstance(other, IRModule) else IRModule(other)
        for name, data in other._types.items():
            if self._types.get(name) is not data:
                self.add_type(data, replace=True)
        self._global_vars = {**other._global_vars, **self._global_vars}
        self._functions = {**self._functions, **other._functions}
        self._imports |= other._imports

    def __contains__(self, key: object) -> bool:
        return isinstance(key, (str, GlobalVar)) and _name(key) in self._functions

    def __len__(self) -> int:
        return len(self._functions)

    def __iter__(self) -> Iterator[GlobalVar]:
        return iter(self.functions)

    @checked
    def get_global_var(self, name: str) -> GlobalVar:
        """Return the global variable of a function. Raises `DiagnosticError` for an unknown name, with similar ones."""
        if name not in self._functions:
            raise self._unknown("function", name, self._functions)
        return self._global_vars[name]

    def get_global_vars(self) -> list[GlobalVar]:
        """Return all global variables that have a function."""
        return [self._global_vars[name] for name in self._functions]

    @checked
    def global_var(self, name: str) -> GlobalVar:
        """Return the global variable of a name, created if needed: parsers meet calls before definitions."""
        if name not in self._global_vars:
            self._global_vars = {**self._global_vars, name: GlobalVar(name)}
        return self._global_vars[name]

    # ------------------------------------------------------------ types
    @property
    def type_definitions(self) -> Mapping[GlobalTypeVar, TypeData]:
        """The type definitions by global type variable. Read-only."""
        return MappingProxyType({data.header: data for data in self._types.values()})

    def add_type(self, data: TypeData, replace: bool = False) -> None:
        """Add a type definition. Raises `DiagnosticError` if its name, or the name of a constructor, is in use."""
        check_kind(data, TypeData, "a data type")
        name = data.header.name_hint
        old = self._types.get(name)
        if old is data:
            return
        if old is not None and not replace:
            raise DiagnosticError(f"the type `{name}` is defined twice")
        other_constructors = {n: c for n, c in self._constructors.items() if c.belong_to.name_hint != name}
        for constructor in data.constructors:
            if constructor.name_hint in other_constructors:
                owner = other_constructors[constructor.name_hint].belong_to.name_hint
                raise DiagnosticError(
                    Diagnostic(
                        f"a constructor with the name `{constructor.name_hint}` was previously defined",
                        constructor.span,
                        notes=((f"by the type `{owner}`", None),),
                    )
                )
        self._types = {**self._types, name: data}
        self._constructors = {**other_constructors, **{c.name_hint: c for c in data.constructors}}

    @checked
    def type_data(self, name: str) -> TypeData:
        """Return the definition of a type. Raises `DiagnosticError` for an unknown name, with similar ones."""
        if name not in self._types:
            raise self._unknown("type", name, self._types)
        return self._types[name]

    @checked
    def find_type(self, name: str) -> TypeData | None:
        """Return the definition of a type, or None."""
        return self._types.get(name)

    @checked
    def get_global_type_var(self, name: str) -> GlobalTypeVar:
        """Return the global type variable of a type that the module defines."""
        return self.type_data(name).header

    def get_global_type_vars(self) -> list[GlobalTypeVar]:
        """Return the global type variables of all types that the module defines."""
        return [data.header for data in self._types.values()]

    @checked
    def get_type(self, name: str) -> tuple[Any, ...]:
        """Return (global type variable, constructor, constructor, ...) of a type."""
        data = self.type_data(name)
        return (data.header, *data.constructors)

    @checked
    def find_constructor(self, name: str) -> Constructor | None:
        """Return the constructor of a name, or None."""
        return self._constructors.get(name)

    @checked
    def get_constructor(self, key: int | str, name: str | None = None) -> Constructor:
        """Return the constructor with a tag, or with a type and a name. Raises `DiagnosticError` without one."""
        if isinstance(key, int):
            for constructor in self._constructors.values():
                if constructor.tag == key:
                    return constructor
            raise DiagnosticError(f"there is no constructor with the tag {key}")
        for constructor in self.type_data(key).constructors:
            if constructor.name_hint == name:
                return constructor
        raise self._unknown("constructor", str(name), [c.name_hint for c in self.type_data(key).constructors])

    @checked
    def import_from_std(self, file_name: str) -> IRModule:
        """Add a file of the standard library (such as "prelude.rly") to this module; a second call changes nothing."""
        if file_name not in self._imports:
            self.update(late(LIBRARY, "standard")(file_name))
            self._imports |= {file_name}
        return self

    # ------------------------------------------------------------ text
    @checked
    def astext(self, show_meta_data: bool = True, annotate: Any = None, spans: bool = False) -> str:
        """Return the module as Relay text, which parses back to an equal module; `spans` adds origins of nodes."""
        text: str = late(PRINTER, "astext")(self, show_meta_data=show_meta_data, annotate=annotate, spans=spans)
        return text

    def __str__(self) -> str:
        text: str = late(PRINTER, "pretty")(self)
        return text

    __repr__ = __str__

    def _unknown(self, what: str, name: str, names: Any) -> DiagnosticError:
        hint = did_you_mean(name, names) or f"the module has {', '.join(sorted(names)[:8]) or 'none'}"
        return DiagnosticError(Diagnostic(f"there is no {what} `{name}` in the module", hint=hint))


def _name(key: Any) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, GlobalVar):
        return key.name_hint
    raise not_a_node_error(
        key, "a name or a GlobalVar as index of a module", '`mod["main"]` is the function of that name'
    )


def _same_table(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return a is b or (len(a) == len(b) and all(b.get(k) is v for k, v in a.items()))
