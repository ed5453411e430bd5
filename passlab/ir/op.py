"""Operators as expressions, the declaration record of each, and the table of all of them.

`Op` is a leaf of programs: one object per name. Its `spec` is the operator's declaration, written in the modules of
`passlab.op`; this module only defines the fields of a declaration. Parser, inference, evaluator, passes and
documentation read it here and do not depend on the module that wrote it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Flag, IntEnum, auto
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

from passlab.arguments import checked
from passlab.errors import Diagnostic, OpNotFoundError, did_you_mean
from passlab.ir.attrs import Attrs
from passlab.ir.expr import Call, Expr, node_of_draft
from passlab.ir.node_errors import not_a_node_error
from passlab.ir.types import Type
from passlab.lazy import OPERATORS, late

_new, _set = object.__new__, object.__setattr__
RELATIONS = f"{OPERATORS}.registered"
UNNAMED = "arg"  # the prefix of unnamed inputs: arg0, arg1
# Relay's name of a fact -> the field of the declaration
FACTS = {
    "TOpPattern": "pattern",
    "TOpIsStateful": "stateful",
    "TNonComputational": "non_computational",
    "FPrimalGradient": "gradient",
}


class OpPattern(IntEnum):
    """The fusion pattern of an operator, numbered as in Relay.

    >>> relay.op.get("exp").spec.pattern, relay.op.get("nn.conv2d").spec.pattern
    (<OpPattern.ELEMWISE: 0>, <OpPattern.OUT_ELEMWISE_FUSABLE: 4>)
    """

    ELEMWISE = 0
    BROADCAST = 1
    INJECTIVE = 2
    COMM_REDUCE = 3
    OUT_ELEMWISE_FUSABLE = 4
    TUPLE = 7
    OPAQUE = 8


class Precision(IntEnum):
    """The treatment of an operator by ToMixedPrecision."""

    ALWAYS = 0
    FOLLOW = 1
    NEVER = 2


class Trait(Flag):
    """Properties of operators that passes and executors query. A law checks each declared trait against the kernel.

    `RESHAPES`: the result has the elements of the first input in the same order, under another shape.
    `MOVES`: each element of the result is an element of the first input.
    `COMMUTATIVE`: the two inputs may be swapped.
    `IN_PLACE`: each element is computed from the same position of the inputs, broadcast by NumPy's rule, in their
    dtype, and the kernel may overwrite one of them.
    `KEEPS_WHOLE`: the result of whole numbers is whole; `MAKES_WHOLE`: every result is.
    `HOMOGENEOUS`: an input scaled by a positive factor gives the result scaled by it, element by element.
    `CLAMPS`: each element of the input is kept between the attributes `a_min` and `a_max`, from 0 on without these.
    `COMPARES`: each element of the result is the comparison of the two elements at its position.
    """

    RESHAPES = auto()
    MOVES = auto()
    COMMUTATIVE = auto()
    IN_PLACE = auto()
    KEEPS_WHOLE = auto()
    MAKES_WHOLE = auto()
    HOMOGENEOUS = auto()
    CLAMPS = auto()
    COMPARES = auto()


NO_TRAITS = Trait(0)


class Reporter(Protocol):
    """The interface with which a type relation sets the type of an input, in addition to returning its result."""

    def assign(self, index: int, ty: Type) -> None:
        """Unify the type of input number `index` with `ty`; a contradiction becomes a located error."""


# (input types, attributes, reporter) -> result type, or None if the known types do not determine it yet. An unknown
# input is an `IncompleteType`. Raises `errors.RelationError` for an illegal use.
Relation = Callable[[Sequence[Type], Any, Reporter], Type | None]


@dataclass(frozen=True)
class Argument:
    """One argument of an operator: its name, and a user's description of its type and meaning."""

    name: str
    type_info: str = "Tensor"
    description: str = ""


@dataclass(frozen=True)
class OpSpec:
    """The declaration of an operator.

    `inputs` names the arguments (`variadic` if any number may follow); `attrs` is the record class of its attributes.
    `relation` computes the result type from the input types, statically and at run time. `kernel(attrs, *arrays,
    out=None)` computes with NumPy: tuple arguments are passed as tuples of arrays, and several results are returned as
    a tuple. With `out` (an array, or a tuple of arrays) the result is also written there and `out` returned. `raw` is
    the kernel without its guard against NumPy's warnings, for an executor that has switched them off itself
    (`np.errstate(all="ignore")`) for a whole run. `shape_function(attrs, *arrays)` computes the result type of an
    operator whose result shape depends on data.

    `layout(call, arguments)` converts a call to other data layouts (`passlab.op.layout_rules`); an operator without it
    gets its data in the original layout. `precision` is None if the effect of shorter floats is unknown.

    For people and tests: `doc` describes the result, `shapes` maps input shapes to result shapes, and `source` names
    the algorithm. `edge_cases` are calls at the limits of what is legal (`passlab.op.edge_cases`), and `example` is a
    call in Relay text, by default the first of them. `registered` says that a user declared the operator in Relay's
    way, step by step (`passlab.op.registered`), `arguments` what that user wrote about its arguments. `extra` holds the
    facts that users register for the operator, each at its level in `levels`; `declared` keeps the fields of this
    record that such a fact replaces (`FACTS`).
    """

    name: str
    inputs: tuple[str, ...]
    relation: Relation
    kernel: Callable[..., Any] | None
    raw: Callable[..., Any] | None = None
    attrs: type[Attrs] | None = None
    variadic: bool = False
    pattern: OpPattern = OpPattern.OPAQUE
    traits: Trait = NO_TRAITS
    stateful: bool = False
    non_computational: bool = False
    shape_function: Callable[..., Type] | None = None
    gradient: Callable[[OpCall, Expr], list[Expr]] | None = None
    no_gradient: str = ""  # the reason, for an operator without a gradient
    precision: Precision | None = None
    layout: Callable[..., Any] | None = None
    builder: Callable[..., Expr] | None = None
    doc: str = ""
    shapes: str = ""
    source: str = ""
    example: str = ""
    edge_cases: tuple[str, ...] = ()
    level: int = 10
    registered: bool = False
    arguments: dict[str, Argument] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)
    levels: dict[str, int] = field(default_factory=dict)
    declared: dict[str, Any] = field(default_factory=dict)

    @property
    def computes(self) -> bool:
        """Whether compiled programs run the operator's kernel.

        That includes quantized operators: Relay declares them non-computational, since it rewrites them first.
        """
        return not self.non_computational or self.name.startswith("qnn.")


class Op(Expr):
    """An operator in a program. `Op.get(name)` returns the one object of that name.

    >>> relay.op.get("nn.conv2d").num_inputs, relay.op.get("add") is relay.op.get("add")
    (2, True)
    """

    __slots__ = ("name", "spec")
    field_names = ("name",)
    is_operator = True
    name: str
    spec: OpSpec

    def __new__(cls, name: str, spec: OpSpec) -> Op:
        node: Op = _new(cls._draft)
        node.name = name
        node.spec = spec
        return node_of_draft(node, cls, None)

    @staticmethod
    def get(name: str) -> Op:
        """Return the operator called `name`. Raises `OpNotFoundError`, which suggests similar names."""
        op = find_op(name)
        if op is None:
            raise OpNotFoundError(Diagnostic(f"there is no operator `{name}`", hint=did_you_mean(str(name), _registry)))
        return op

    @staticmethod
    def list_op_names() -> list[str]:
        """Return the names of all operators, sorted."""
        _load()
        return sorted(_registry)

    @property
    def num_inputs(self) -> int:
        """The number of arguments; for a variadic operator, the number of required ones."""
        return len(self.spec.inputs)

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """The arguments in order, with a user's types and descriptions."""
        return tuple(self.spec.arguments.get(name, Argument(name)) for name in self.spec.inputs)

    @property
    def description(self) -> str:
        """The documentation of the result."""
        return self.spec.doc

    @property
    def attrs_type_key(self) -> str:
        """Relay's name of the record of attributes, "" for an operator without one."""
        return self.spec.attrs.type_key if self.spec.attrs else ""

    @property
    def support_level(self) -> int:
        """The level in Relay's list of operators."""
        return self.spec.level

    def get_attr(self, name: str) -> Any:
        """Return a fact about the operator under Relay's name (`TOpPattern`, `TOpIsStateful`, ...), or None."""
        return getattr(self.spec, FACTS[name]) if name in FACTS else self.spec.extra.get(name)

    def has_attr(self, name: str) -> bool:
        """Whether the operator has a fact of this Relay name."""
        return self.get_attr(name) is not None

    @checked
    def set_attr(self, attr_name: str, value: Any, plevel: int = 10) -> None:
        """Set a user's fact about the operator, unless it was set at a higher level."""
        levels: dict[str, int] = self.spec.levels
        if plevel >= levels.get(attr_name, plevel):
            levels[attr_name] = plevel
            self.spec.extra[attr_name] = value
            if attr_name in FACTS:
                self.spec.declared.setdefault(attr_name, self.get_attr(attr_name))
                _set(self.spec, FACTS[attr_name], value)

    @checked
    def reset_attr(self, attr_name: str) -> None:
        """Remove a user's fact of any level."""
        self.spec.levels.pop(attr_name, None)
        self.spec.extra.pop(attr_name, None)
        if attr_name in self.spec.declared:
            _set(self.spec, FACTS[attr_name], self.spec.declared.pop(attr_name))

    # ------------------------------------------------------------ operators that a user registers
    @checked
    def set_num_inputs(self, n: int) -> None:
        """Set the number of inputs of a user's operator; those that `add_argument` has not named are numbered."""
        inputs = self.spec.inputs[:n]
        self._redeclare(inputs=(*inputs, *(f"{UNNAMED}{i}" for i in range(len(inputs), n))))

    @checked
    def add_argument(self, name: str, type: str = "", description: str = "") -> None:
        """Name the next input of a user's operator; `type` and `description` are added to its documentation."""
        inputs = list(self.spec.inputs)
        unnamed = next((i for i, input_name in enumerate(inputs) if input_name == f"{UNNAMED}{i}"), len(inputs))
        inputs[unnamed : unnamed + 1] = [name]
        doc = f"{self.spec.doc}\n{name}: {description}" + (f" ({type})" if type else "")
        arguments = {**self.spec.arguments, name: Argument(name, type, description)}
        self._redeclare(inputs=tuple(inputs), doc=doc, arguments=arguments)

    def set_attrs_type_key(self, key: str) -> None:
        """Accept the name of the record of attributes; a user's operator takes any attributes, as a `DictAttrs`."""
        self._redeclare()

    def set_support_level(self, level: int) -> None:
        """Set the level of a user's operator in the list of operators."""
        self._redeclare(level=level)

    @checked
    def add_type_rel(self, rel_name: str, type_rel_func: Callable[..., Type | None] | None = None) -> None:
        """Set the type relation: `type_rel_func(arg_types, attrs)` returns the result type, or None to wait.

        Without a function `rel_name` is one of Relay's: "Identity", "Broadcast", "BroadcastComp". The function is
        called when the types of all inputs are known. Raises `OpNotFoundError` for an unknown name.
        """
        self._redeclare(relation=late(RELATIONS, "named_relation")(rel_name, type_rel_func))

    def add_kernel(self, kernel: Callable[..., Any]) -> None:
        """Set the kernel of a user's operator: `kernel(attrs, *arrays)` computes an array with NumPy.

        What it returns becomes an array of the dtype that the type relation says.
        """
        self._redeclare(kernel=late(f"{OPERATORS}.user_kernels", "kernel_with_out")(kernel))

    def _redeclare(self, **changes: Any) -> None:
        if not self.spec.registered:
            finding = Diagnostic(f"the operator `{self.name}` is declared by passlab and keeps its declaration")
            raise OpNotFoundError(finding)
        _set(self, "spec", late(RELATIONS, "with_builder")(replace(self.spec, **changes)))

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"Op({self.name})"


_registry: dict[str, Op] = {}
_loaded = False
loaded_op: Callable[[str], Op | None] = _registry.get  # the operator of a name, None if it is not loaded yet


def _load() -> None:
    """Load all declarations, once: a program without operators does not need them."""
    global _loaded
    if not _loaded:
        _loaded = True  # before loading: declarations look operators up themselves
        try:
            late(OPERATORS, "load")()
        except BaseException:
            _loaded = False  # after an interrupt, for example: incomplete declarations must not count as loaded
            raise


if TYPE_CHECKING:

    class OpCall(Call):
        """The call of an operator, as `is_op_call` and `is_call_of` recognise it."""

        op: Op
        attrs: Any  # the operator's record

        def with_fields(self, **changes: Any) -> OpCall: ...

else:
    OpCall = Call


def is_op_call(node: object) -> TypeGuard[OpCall]:
    """Whether a node is the call of an operator."""
    return type(node) is Call and type(node.op) is Op


def is_call_of(node: object, *names: str) -> TypeGuard[OpCall]:
    """Whether a node is the call of an operator of one of these names."""
    return type(node) is Call and type(node.op) is Op and node.op.name in names


def callee_of(call: Call) -> Expr:
    """Return what a call runs: for a kernel in memory form, the first argument, which names it."""
    return call.args[0] if call.args and is_call_of(call, "vm.invoke_tvm_op") else call.op


def op_name(node: object) -> str:
    """Return the name of the operator that a node calls, "" for any other node."""
    return node.op.name if type(node) is Call and type(node.op) is Op else ""


def has_trait(node: object, trait: Trait) -> TypeGuard[OpCall]:
    """Whether a node is the call of an operator that has a trait, or one of several joined by `|`."""
    return type(node) is Call and type(node.op) is Op and bool(node.op.spec.traits._value_ & trait._value_)


def find_op(name: str) -> Op | None:
    """Return the operator called `name`, or None."""
    try:
        op = _registry.get(name)
    except TypeError:  # a list, say
        raise not_a_node_error(name, "the name of an operator") from None
    if op is None and not _loaded:
        _load()
        op = _registry.get(name)
    return op


def declare_op(spec: OpSpec) -> Op:
    """Add a declaration to the table. Raises `OpNotFoundError` if the name is in use."""
    if spec.name in _registry:
        raise OpNotFoundError(
            Diagnostic(f"the operator `{spec.name}` is declared twice", hint="an operator has one declaration")
        )
    op = Op(spec.name, spec)
    _registry[spec.name] = op
    return op


@checked
def register_op_attr(op_name: str, attr_key: str, value: Any = None, level: int = 10) -> Any:
    """Set an attribute of an operator; without a value, return a decorator that does, for a function.

    Registering again replaces the previous value, so that a notebook cell may run twice; a value of lower `level` does
    not replace one of higher. Raises `OpNotFoundError` for an unknown operator.
    """
    op = Op.get(op_name)

    def register(value: Any) -> Any:
        op.set_attr(attr_key, value, level)
        return value

    return register if value is None else register(value)


def remove_op(name: str) -> None:
    """Remove a declaration: for operators declared in a notebook cell that is run twice, and for tests."""
    _registry.pop(name, None)
