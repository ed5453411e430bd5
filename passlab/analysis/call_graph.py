"""The references between global functions, with their counts."""

from __future__ import annotations

from collections import Counter
from weakref import WeakKeyDictionary

from passlab.arguments import checked
from passlab.infer.order import strongly_connected
from passlab.ir.expr import Function, GlobalVar
from passlab.ir.module import IRModule
from passlab.ir.walk import CHILDREN, post_order

_NAMED: WeakKeyDictionary[IRModule, tuple[object, set[Function]]] = WeakKeyDictionary()


def named_functions(mod: IRModule) -> set[Function]:
    """Return the global functions of a module that are named somewhere: called, passed on or stored.

    The result is cached while the module does not change, since function passes need it once for each function.
    """
    cached = _NAMED.get(mod)
    if cached is None or cached[0] is not mod._functions:  # an edited module has another table
        names = {n.name_hint for _, f in mod.items() for n in post_order(f) if type(n) is GlobalVar}
        cached = _NAMED[mod] = mod._functions, {f for name, f in mod.items() if name in names}
    return cached[1]


@checked
class CallGraph:
    """The references between the global functions of a module.

    The methods take functions by name or as global variables, and raise `DiagnosticError` for other names. All mentions
    count as references, called or not. `names[f]` lists the functions of the module that f refers to, in order of first
    use. `order` lists all functions, each after those it refers to, except in cycles. `recursive` holds the functions
    that can reach themselves.

    >>> mod = passlab.parse("def @f(%x: float32) { exp(%x) } def @main(%x: float32) { @f(@f(%x)) }")
    >>> print(relay.analysis.CallGraph(mod))
    @f, #refs = 2
    @main, #refs = 0
      @f x 2
    """

    def __init__(self, module: IRModule) -> None:
        self.module = module
        self._references: dict[str, Counter[str]] = {}
        self._mentions: Counter[str] = Counter()
        for name, function in module.items():
            order = post_order(function)
            mentions = (child for node in order for child in CHILDREN[type(node)](node))
            counts = Counter(child.name_hint for child in mentions if isinstance(child, GlobalVar))
            self._references[name] = counts
            self._mentions.update(counts)
        self.names: dict[str, list[str]] = {
            name: [callee for callee in counts if callee in module] for name, counts in self._references.items()
        }
        components = strongly_connected(self.names)
        self.order: list[str] = [name for names in components for name in names]
        self.recursive: set[str] = {
            name for names in components for name in names if len(names) > 1 or name in self.names[name]
        }

    def _check_name(self, function: str | GlobalVar) -> str:
        name = function.name_hint if isinstance(function, GlobalVar) else function
        self.module.get_global_var(name)  # raises the error that explains a missing name
        return name

    def callees(self, function: str | GlobalVar) -> dict[str, int]:
        """Return the functions that a function refers to, with the number of references."""
        return dict(self._references[self._check_name(function)])

    def callers(self, function: str | GlobalVar) -> dict[str, int]:
        """Return the functions that refer to a function, with the number of references."""
        name = self._check_name(function)
        return {caller: counts[name] for caller, counts in self._references.items() if counts[name]}

    def global_call_count(self, function: str | GlobalVar) -> int:
        """Return the number of references to global functions in a function."""
        return sum(self.callees(function).values())

    def ref_count(self, function: str | GlobalVar) -> int:
        """Return the number of references to a function."""
        return self._mentions[self._check_name(function)]

    def is_recursive(self, function: str | GlobalVar) -> bool:
        """Return True if a function can reach itself, directly or through others."""
        return self._check_name(function) in self.recursive

    def topological_order(self) -> list[str]:
        """Return all functions, each after those it refers to; mutually recursive ones are adjacent."""
        return list(self.order)

    def reachable(self, *entries: str | GlobalVar) -> set[str]:
        """Return the functions that `entries` refer to directly or through others, including `entries`."""
        stack = [self._check_name(entry) for entry in entries]
        result = set(stack)
        while stack:
            for callee in self.names[stack.pop()]:
                if callee not in result:
                    result.add(callee)
                    stack.append(callee)
        return result

    def print_var(self, function: str | GlobalVar) -> str:
        """Return the references of one function as text."""
        name = self._check_name(function)
        inner = [f"  @{callee} x {count}" for callee, count in sorted(self._references[name].items())]
        return "\n".join([f"@{name}, #refs = {self.ref_count(name)}", *inner])

    def __str__(self) -> str:
        return "\n".join(self.print_var(name) for name in self.topological_order())

    __repr__ = __str__
