"""A node as Python that builds it again: what it takes is a variable of the same type.

    x = relay.var("x", shape=(4, 8), dtype="float32")
    w = relay.var("w", shape=(8, 8), dtype="float32")
    relay.nn.dense(x, w, units=8)

Other expressions, and calls that this would not build again exactly, are given as Relay text to parse.
"""

from __future__ import annotations

import keyword
import re
from math import isfinite
from operator import attrgetter

from passlab import relay
from passlab.display.text.listing import marked_text
from passlab.errors import PasslabError
from passlab.ir.adt import Constructor
from passlab.ir.dtypes import dtype_name
from passlab.ir.equal import structural_equal
from passlab.ir.expr import Call, Constant, Expr, GlobalVar, Tuple, TupleGetItem, Var
from passlab.ir.op import Op
from passlab.ir.types import TensorType
from passlab.ir.walk import children, with_children

_PLAIN = re.compile(r"[^<>\n]*")  # an attribute that is an object, such as <...>, has no Python
HEAD = "from passlab import relay\n"


def python_of(node: Expr) -> str:
    """Return Python whose last line is an expression of the node, over variables for its operands."""
    cut, taken = _cut(node)
    call = _call(cut, {var: name for name, var in taken.items()})
    if call:
        return "\n".join([HEAD, *(_declaration(name, var) for name, var in taken.items()), call])
    text = marked_text(cut).text
    try:
        same = structural_equal(relay.parse_expr(text), cut, map_free_vars=True)
    except PasslabError:
        same = False
    if same:
        return f"{HEAD}\nrelay.parse_expr({_quoted(text)})"
    return (
        f"{HEAD}\n# It refers to other functions or data types, which are parts of the program.\ntext = {_quoted(text)}"
    )


def _cut(node: Expr) -> tuple[Expr, dict[str, Var]]:
    """The node with its operands cut off, and a variable for each, by its name in Python."""
    taken: dict[str, Var] = {}
    if not isinstance(node, (Call, Tuple, TupleGetItem)):
        return node, taken
    new: dict[Expr, Expr] = {}
    parts = children(node)
    for child in parts:
        if isinstance(child, (Op, GlobalVar, Constructor)) or child in new:
            continue
        if isinstance(child, Constant) and not child.data.shape:
            continue
        hint = child.name_hint if isinstance(child, Var) else "x"
        name = _free_name(hint, taken)
        type_ = child.checked_type_ or (child.type_annotation if isinstance(child, Var) else None)
        new[child] = taken[name] = Var(name, type_)
    return with_children(node, parts, tuple(new.get(child, child) for child in parts)), taken


def _free_name(hint: str, taken: dict[str, Var]) -> str:
    """A name for Python that is not taken yet."""
    name = re.sub(r"\W", "_", hint) or "x"
    name = f"x_{name}" if name[0].isdigit() else f"{name}_" if keyword.iskeyword(name) or name == "relay" else name
    number = 1
    while (one := name if number == 1 else f"{name}{number}") in taken:
        number += 1
    return one


def _declaration(name: str, var: Var) -> str:
    type_ = var.type_annotation
    if isinstance(type_, TensorType) and all(isinstance(dim, int) for dim in type_.shape):
        return f'{name} = relay.var("{name}", shape={tuple(type_.shape)!r}, dtype="{type_.dtype}")'
    if type_ is None:
        return f'{name} = relay.var("{name}")'
    text = f"free_var %{name}: {type_};\n%{name}"
    return f"{name} = relay.parse_expr({text!r})"


def _quoted(text: str) -> str:
    return f'"""{text}"""' if "\n" in text and '"""' not in text and "\\" not in text else repr(text)


def _call(node: Expr, names: dict[Expr, str]) -> str:
    """A call as a call of a function of `relay`; "" for other nodes, and for calls that would become another node."""
    if isinstance(node, Tuple):
        return f"relay.Tuple([{', '.join(_operand(field, names) for field in node.fields)}])"
    if isinstance(node, TupleGetItem):
        return f"relay.TupleGetItem({_operand(node.tuple_value, names)}, {node.index})"
    if not isinstance(node, Call) or not isinstance(node.op, (Op, GlobalVar)):
        return ""
    given = [_operand(arg, names) for arg in node.args]
    if isinstance(node.op, GlobalVar):
        return f"relay.Call(relay.GlobalVar({node.op.name_hint!r}), [{', '.join(given)}])"
    attrs = {} if node.attrs is None else dict(node.attrs.items())
    try:
        made = attrgetter(node.op.name)(relay)(*node.args, **attrs)
        wrapped = not isinstance(made, Expr)  # several results, which can be unpacked
        same = structural_equal(made.astuple() if wrapped else made, node, map_free_vars=True)
    except (PasslabError, TypeError, AttributeError):
        return ""
    given += [f"{key}={list(value) if isinstance(value, tuple) else value!r}" for key, value in attrs.items()]
    code = f"relay.{node.op.name}({', '.join(given)}){'.astuple()' if wrapped else ''}"
    return code if same and _PLAIN.fullmatch(code) is not None else ""


def _operand(node: Expr, names: dict[Expr, str]) -> str:
    if not isinstance(node, Constant):
        return names[node]
    value = node.data.item()
    plain = repr(value) if not isinstance(value, float) or isfinite(value) else f'float("{value}")'
    return f'relay.const({plain}, "{dtype_name(node.data.dtype)}")'
