"""Order does not matter: families of operators read in any order, and executors used first in a new process."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from passlab.ir import Op
from passlab.op import MODULES

IN_ORDER = """
def facts(names):
    from passlab.ir.op import Op
    found = {}
    for name in names:
        spec = Op.get(name).spec
        kinds = [f for f in vars(type(spec)).get("__dataclass_fields__", {})]
        values = {f: getattr(spec, f) for f in kinds}
        plain = {f: v for f, v in values.items() if isinstance(v, (str, int, float, tuple, type(None)))}
        has = [f for f, v in values.items() if callable(v)]
        found[name] = repr(sorted(plain.items())) + repr(sorted(has))
    return found

import importlib, json, random, sys
from passlab.op import MODULES
rooms = list(MODULES)
if sys.argv[1] != "as declared":
    random.Random(sys.argv[1]).shuffle(rooms)
for room in rooms:
    importlib.import_module(f"passlab.op.{room}")
from passlab.ir.op import _registry
print(json.dumps(facts(sorted(_registry))))
"""
ALONE = """
import importlib, os, sys
from passlab.op import MODULES
import passlab.op.declare
for room in MODULES:
    child = os.fork()
    if child == 0:
        try:
            importlib.import_module(f"passlab.op.{room}")
        except BaseException as error:
            print(room, repr(error), flush=True)
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        sys.exit(room)
"""
CASTS = """
import json, random, sys
import numpy as np
import passlab
from passlab import relay, transform
kind, dtypes = sys.argv[1], sys.argv[3].split()
random.Random(int(sys.argv[2])).shuffle(dtypes)
found = {}
for dtype in dtypes:
    mod = passlab.parse(f'def @main(%x: Tensor[(4), float32]) {{ cast(cast(%x, dtype="{dtype}"), dtype="float32") }}')
    run = relay.create_executor(kind, transform.InferType()(mod)).evaluate()
    found[dtype] = run(np.asarray([0.0, 1.0, 2.5, 7.0], "float32")).tolist()
print(json.dumps(found))
"""
# What types that hold whole numbers only, and those that hold fractions, leave of 0, 1, 2.5 and 7.
WHOLE, EXACT = [0.0, 1.0, 2.0, 7.0], [0.0, 1.0, 2.5, 7.0]
DTYPES = {
    "int4": WHOLE,
    "uint4": WHOLE,
    "int8": WHOLE,
    "uint8": WHOLE,
    "int16": WHOLE,
    "uint64": WHOLE,
    "bool": [0.0, 1.0, 1.0, 1.0],
    "float16": EXACT,
    "bfloat16": EXACT,
    "float64": EXACT,
}


def run(code: str, *args: str) -> str:
    done = subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    return done.stdout


def facts(order: str, fault: str = "") -> dict[str, str]:
    """What the operators are once all families have been read in an order."""
    data: dict[str, str] = json.loads(
        run(IN_ORDER.replace("rooms = list(MODULES)", f"{fault}\nrooms = list(MODULES)"), order)
    )
    return data


def assert_order_does_not_matter(fault: str = "") -> None:
    declared = facts("as declared", fault)
    assert len(declared) > 250
    assert declared.keys() <= set(Op.list_op_names())
    for order in ("one", "other"):
        assert facts(order, fault) == declared


def assert_casts(kind: str, fault: str = "") -> None:
    data = json.loads(run(fault + CASTS, kind, "1", " ".join(DTYPES)))
    for dtype, expected in DTYPES.items():
        np.testing.assert_array_equal(data[dtype], expected, err_msg=f"{dtype} on {kind}")


def test_families_may_be_read_in_any_order():
    assert_order_does_not_matter()


def test_each_family_can_be_read_alone():
    assert len(MODULES) > 20
    run(ALONE)


@pytest.mark.rotating
@pytest.mark.parametrize("kind", ["debug", "vm", "aot", "graph"])
def test_an_executor_needs_no_other_to_have_run(kind: str):
    assert_casts(kind)


# ---------------------------------------------------------------- faults that these laws see
FIRST_ROOM_MATTERS = """
from importlib import import_module as read
def reading(name):
    module = read(name)
    if len([room for room in MODULES if f"passlab.op.{room}" in sys.modules]) == 1:
        from passlab.ir.op import _registry
        spec = next(op.spec for op in _registry.values() if op.spec is not None)
        object.__setattr__(spec, "level", 99)  # of whichever operator was declared first
    return module
importlib.import_module = reading
"""
FIRST_DTYPE_STAYS = """
from passlab.ir.op import Op
spec = Op.get("cast").spec
first, kernel = [], spec.kernel
def remembering(attrs, x, out=None):
    if attrs.dtype != "float32":
        first.append(attrs)
        attrs = first[0]
    return kernel(attrs, x, out=out)
for name in ("kernel", "raw"):
    object.__setattr__(spec, name, remembering)
"""


def test_a_family_that_depends_on_what_was_read_before_is_seen():
    with pytest.raises(AssertionError):
        assert_order_does_not_matter(FIRST_ROOM_MATTERS)


def test_what_a_first_run_leaves_behind_is_seen():
    with pytest.raises(AssertionError, match="on debug"):
        assert_casts("debug", FIRST_DTYPE_STAYS)


def test_a_family_that_needs_another_to_have_been_read_is_seen():
    fault = f"sys.modules['passlab.op.{MODULES[0]}'] = None"  # what imports it fails
    with pytest.raises(AssertionError, match=MODULES[0]):
        run(ALONE.replace("import passlab.op.declare", f"import passlab.op.declare\n{fault}"))
