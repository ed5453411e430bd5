"""Algebraic data types: their definitions, constructors, and the patterns that match values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from zlib import crc32

from passlab.arguments import checked
from passlab.ir.expr import Expr, Var, node_of_draft, unwrap
from passlab.ir.node_errors import check_all, check_kind
from passlab.ir.span import Span
from passlab.ir.types import FuncType, GlobalTypeVar, Immutable, Type, TypeCall, TypeVar

_new, _set = object.__new__, object.__setattr__


def constructor_tag(type_name: str, index: int) -> int:
    """Return the tag of constructor number `index` of a type: the upper byte is a hash of the type's name.

    Tags are compared only within one type; the byte makes mix-ups visible in a debugger.
    """
    return (crc32(type_name.encode("utf-8", "surrogatepass")) % 0xFF + 1) << 24 | index


class Constructor(Expr):
    """A constructor of the type `belong_to`, taking `inputs` (types). `tag` is -1 until the type is defined.

    >>> maybe, a = relay.GlobalTypeVar("Maybe"), relay.TypeVar("A")
    >>> just = relay.Constructor("Just", [a], maybe)
    >>> just.name_hint, len(just.inputs)
    ('Just', 1)
    """

    __slots__ = ("belong_to", "inputs", "name_hint", "tag")
    field_names = ("name_hint", "inputs", "belong_to", "tag")
    name_hint: str
    inputs: tuple[Type, ...]
    belong_to: GlobalTypeVar
    tag: int

    def __new__(
        cls, name_hint: str, inputs: Sequence[Type], belong_to: GlobalTypeVar, tag: int = -1, span: Span | None = None
    ) -> Constructor:
        node: Constructor = _new(cls._draft)
        node.name_hint = check_kind(name_hint, str, "a name")
        node.inputs = check_all(inputs, Type, "a type")
        node.belong_to = check_kind(belong_to, GlobalTypeVar, "a global type variable")
        node.tag = tag
        return node_of_draft(node, cls, span)

    def __str__(self) -> str:
        return self.name_hint

    __repr__ = __str__


class TypeData(Type):
    """The definition of a type: its `header`, type parameters and constructors. An `extern` type has no constructors.

    The constructors of a definition get their tags when it is created, so a definition owns its constructor objects.

    >>> maybe, a = relay.GlobalTypeVar("Maybe"), relay.TypeVar("A")
    >>> just = relay.Constructor("Just", [a], maybe)
    >>> print(str(passlab.IRModule({}, {maybe: relay.TypeData(maybe, [a], [just])})).strip())
    type Maybe[A] {
      Just(A),
    }
    """

    __slots__ = ("constructors", "extern", "header", "type_vars")
    header: GlobalTypeVar
    type_vars: tuple[TypeVar, ...]
    constructors: tuple[Constructor, ...]
    extern: bool

    def __init__(
        self,
        header: GlobalTypeVar,
        type_vars: Sequence[TypeVar],
        constructors: Sequence[Constructor],
        extern: bool = False,
    ) -> None:
        _set(self, "header", check_kind(header, GlobalTypeVar, "a global type variable"))
        _set(self, "type_vars", check_all(type_vars, TypeVar, "a type variable"))
        _set(self, "constructors", check_all(constructors, Constructor, "a constructor"))
        _set(self, "extern", extern)
        _set(self, "_inside", 0)  # a definition is not part of a type: `check_kind` refuses it there
        _set(self, "parts", 1)
        for index, constructor in enumerate(self.constructors):
            if constructor.tag == -1:
                _set(constructor, "tag", constructor_tag(header.name_hint, index))

    @checked
    def constructor_type(self, constructor: Constructor) -> FuncType:
        """Return the polymorphic function type of one of the constructors."""
        return FuncType(constructor.inputs, TypeCall(self.header, self.type_vars), self.type_vars)

    def __repr__(self) -> str:
        return f"TypeData({self.header.name_hint}, {', '.join(c.name_hint for c in self.constructors)})"


def constructor_numbers(definitions: Iterable[TypeData]) -> dict[Constructor, int]:
    """Return a unique number for each constructor: its tag, unless a constructor of another type has the same.

    Tags alone may collide: one in 255 pairs of types has names with the same hash byte.
    """
    used: set[int] = set()
    numbers: dict[Constructor, int] = {}
    for data in sorted(definitions, key=lambda data: data.header.name_hint):
        for constructor in data.constructors:
            number = constructor.tag
            while number in used:
                number += 1 << 12
            used.add(number)
            numbers[constructor] = number
    return numbers


class Pattern(Immutable):
    """Base class of match patterns."""

    __slots__ = ("__weakref__", "span")
    span: Span | None


class PatternWildcard(Pattern):
    """`_`: matches everything.

    >>> print(relay.Match(relay.var("x"), [relay.Clause(relay.PatternWildcard(), relay.const(1.0))]))
    free_var %x;
    match (%x) {
      _ => {
        1f
      },
    }
    """

    __slots__ = ()

    def __init__(self, span: Span | None = None) -> None:
        _set(self, "span", span)


class PatternVar(Pattern):
    """`%x`: matches everything and binds it.

    >>> relay.PatternVar(relay.var("head")).var.name_hint
    'head'
    """

    __slots__ = ("var",)
    var: Var

    def __init__(self, var: Var, span: Span | None = None) -> None:
        _set(self, "var", check_kind(var, Var, "a variable"))
        _set(self, "span", span)


class PatternConstructor(Pattern):
    """`Cons(p, q)`: matches values of that constructor whose fields match.

    >>> mod = passlab.parse("type B { T, F } def @main(%b: B) { match (%b) { T => 1, F => 0 } }")
    >>> mod["main"].body.clauses[0].lhs.constructor.name_hint
    'T'
    """

    __slots__ = ("constructor", "patterns")
    constructor: Constructor
    patterns: tuple[Pattern, ...]

    def __init__(
        self, constructor: Constructor, patterns: Sequence[Pattern] | None = None, span: Span | None = None
    ) -> None:
        _set(self, "constructor", check_kind(constructor, Constructor, "a constructor"))
        _set(self, "patterns", check_all(() if patterns is None else patterns, Pattern, "a pattern"))
        _set(self, "span", span)


class PatternTuple(Pattern):
    """`(p, q)`: matches tuples of that size whose fields match.

    >>> len(relay.PatternTuple([relay.PatternVar(relay.var("a")), relay.PatternWildcard()]).patterns)
    2
    """

    __slots__ = ("patterns",)
    patterns: tuple[Pattern, ...]

    def __init__(self, patterns: Sequence[Pattern] | None = None, span: Span | None = None) -> None:
        _set(self, "patterns", check_all(() if patterns is None else patterns, Pattern, "a pattern"))
        _set(self, "span", span)


class Clause(Immutable):
    """One arm of a match: `lhs => rhs`.

    >>> clause = relay.Clause(relay.PatternWildcard(), relay.const(1.0))
    >>> print(type(clause.lhs).__name__, clause.rhs.data)
    PatternWildcard 1.0
    """

    __slots__ = ("__weakref__", "lhs", "rhs", "span")
    lhs: Pattern
    rhs: Expr
    span: Span | None

    def __init__(self, lhs: Pattern, rhs: Expr, span: Span | None = None) -> None:
        _set(self, "lhs", check_kind(lhs, Pattern, "a pattern"))
        _set(self, "rhs", unwrap(rhs))
        _set(self, "span", span)


def pattern_nodes(root: Pattern) -> list[Pattern]:
    """Return every pattern inside `root`, outer before inner, left to right."""
    patterns: list[Pattern] = []
    stack = [root]
    while stack:
        pattern = stack.pop()
        patterns.append(pattern)
        if isinstance(pattern, (PatternConstructor, PatternTuple)):
            stack.extend(reversed(pattern.patterns))
    return patterns


def pattern_vars(root: Pattern) -> list[Var]:
    """Return the variables a pattern binds, left to right."""
    return [p.var for p in pattern_nodes(root) if isinstance(p, PatternVar)]


def pattern_with(pattern: Pattern, new: Callable[[Expr], Expr]) -> Pattern:
    """Return a pattern with its variables replaced, the same object if none was."""
    done: dict[Pattern, Pattern] = {}
    for at in reversed(pattern_nodes(pattern)):  # inner patterns before outer ones
        result = at
        if isinstance(at, PatternVar):
            var = new(at.var)
            if not isinstance(var, Var):
                raise TypeError(f"the pattern variable %{at.var.name_hint} can only be replaced by a variable")
            if var is not at.var:
                result = PatternVar(var, at.span)
        elif isinstance(at, (PatternConstructor, PatternTuple)):
            parts = [done[part] for part in at.patterns]
            if all(a is b for a, b in zip(parts, at.patterns, strict=True)):
                result = at
            elif isinstance(at, PatternTuple):
                result = PatternTuple(parts, at.span)
            else:
                result = PatternConstructor(at.constructor, parts, at.span)
        done[at] = result
    return done[pattern]
