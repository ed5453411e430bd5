"""The declarations against Relay's own facts: names, number of inputs, attributes, fusion, purity, level."""

from __future__ import annotations

import csv
from pathlib import Path

from passlab.ir.op import Op, OpPattern
from tests.each import each

FACTS = list(csv.DictReader((Path(__file__).parent / "relay_operators.csv").read_text().splitlines()))
# Names in Relay's table that have no declaration there, only an attribute set on them: nothing is known to agree with.
BARE = {"hardswish", "scatter"}
# Where Relay's record is one of another operator: two have the name SimulatedQuantizeAttrs, and the function that makes
# nn.contrib_dense_pack gives it another record than the operator says.
OTHER_RECORD = {"dyn.strided_slice", "nn.avg_pool2d_grad", "nn.contrib_dense_pack", "qnn.simulated_quantize"}
# Here a copy between devices is no work of a kernel: FuseOps leaves it alone, and no pass has to unwrap it again.
NO_KERNEL = {"device_copy"}


# Operators of Relay that are left out: only schedules of TVM read what they make, and no pass here makes them.
_TRANSFORMED = [f"contrib_conv{kind}_{part}" for kind in ("2d_winograd", "3d_winograd", "2d_gemm")
                for part in ("weight_transform", "without_weight_transform")]  # fmt: skip
LEFT_OUT = {f"nn.{name}" for name in (*_TRANSFORMED, "bitpack", "bitserial_conv2d", "bitserial_dense")}
OWN = "contrib."  # the prefix of operators that Relay does not have


def is_of_relay(name: str) -> bool:
    return not name.startswith(OWN)


def test_every_operator_of_relay_is_declared_and_no_other_but_under_contrib() -> None:
    assert {row["name"] for row in FACTS} - LEFT_OUT == set(filter(is_of_relay, Op.list_op_names()))


def test_the_prefix_for_operators_of_ones_own_takes_none_of_relay() -> None:
    assert all(is_of_relay(row["name"]) for row in FACTS)
    assert not is_of_relay("contrib.hardtanh")


@each("row", [r for r in FACTS if r["name"] not in BARE | LEFT_OUT], ids=lambda r: r["name"])
def test_a_declaration_agrees_with_relay(row: dict[str, str]) -> None:
    spec = Op.get(row["name"]).spec
    assert len(spec.inputs) == Op.get(row["name"]).num_inputs == int(row["inputs"])
    assert spec.pattern.name.lower() == (row["pattern"] or OpPattern.OPAQUE.name.lower())
    assert spec.stateful == bool(row["stateful"])
    assert spec.non_computational == (bool(row["non_computational"]) or row["name"] in NO_KERNEL)
    assert spec.level == Op.get(row["name"]).support_level == int(row["level"])
    if row["attributes"] and row["name"] not in OTHER_RECORD:
        assert spec.attrs is not None
        assert [field.name for field in spec.attrs.schema] == row["attributes"].split()
