"""All faults by name."""

from __future__ import annotations

from tests.planted.faults import (
    evaluate,
    executor,
    external,
    fold,
    functions,
    fuse,
    gradient,
    layout,
    lowering,
    normal_form,
    op,
    op_nn,
    precision,
    rewriting,
    simplify,
    vm,
)

PACKAGES = (
    op,
    op_nn,
    rewriting,
    simplify,
    fold,
    fuse,
    precision,
    layout,
    normal_form,
    functions,
    gradient,
    external,
    lowering,
    evaluate,
    vm,
    executor,
)
FAULTS = {fault.name: fault for package in PACKAGES for fault in package.FAULTS}
