"""PlanDevices: which device each value gets, where copies stand, what cannot be."""

from __future__ import annotations

import re

import numpy as np
import pytest

from passlab import transform
from passlab.analysis.well_formed import well_formed
from passlab.devices import Device, VirtualDevice, cuda
from passlab.errors import PassError, PassTypeError
from passlab.evaluate import Evaluator
from passlab.infer import infer_module
from passlab.ir import IRModule
from passlab.ir.equal import assert_structural_equal
from passlab.text.parser import parse
from tests.passes.law_programs import PROGRAMS, arguments, module
from tests.passes.test_laws import flat

CPU, GPU = VirtualDevice(Device("cpu")), VirtualDevice(Device("cuda"))
SHORT = {
    "[CPU": "[virtual_device=meta[VirtualDevice][0]", "[GPU": "[virtual_device=meta[VirtualDevice][1]",
    "CPU->GPU": "src_virtual_device=meta[VirtualDevice][0], dst_virtual_device=meta[VirtualDevice][1]",
    "GPU->CPU": "src_virtual_device=meta[VirtualDevice][1], dst_virtual_device=meta[VirtualDevice][0]",
    "CPU": "virtual_device=meta[VirtualDevice][0]", "GPU": "virtual_device=meta[VirtualDevice][1]",
    "PINNED": "constrain_result=True", "T": "Tensor[(2), float32]",
}  # fmt: skip


def program(text: str) -> IRModule:
    """Read a program in which devices, pins and the one tensor type have short names."""
    for short, long in SHORT.items():
        text = text.replace(short, long) if short != "T" else text.replace(": T", f": {long}")
    return infer_module(parse(text, init_meta_table={"VirtualDevice": [CPU, GPU]}))


CASES = {
    "everything goes to the default": (
        "def @main(%a: T, %b: T) { subtract(add(%a, %b), 1f) }",
        "def @main(%a {GPU}: T, %b {GPU}: T, GPU) { subtract(add(%a, %b), 1f) }",
    ),
    "inputs go where they are used": (
        "def @main(%a: T, %b: T) { subtract(on_device(negative(%a), CPU), negative(%b)) }",
        """def @main(%a {CPU}: T, %b {GPU}: T, GPU) {
          %0 = device_copy(on_device(negative(%a), CPU, PINNED), CPU->GPU);
          subtract(%0, negative(%b)) }""",
    ),
    "a copy says where both its ends are": (
        "def @main(%a: T, %b: T) { subtract(device_copy(negative(%a), CPU->GPU), %b) }",
        """def @main(%a {CPU}: T, %b {GPU}: T, GPU) {
          subtract(device_copy(on_device(negative(%a), CPU, PINNED), CPU->GPU), %b) }""",
    ),
    "one copy serves all uses": (
        "def @main(%a: T) { %0 = on_device(negative(%a), CPU); subtract(%0, exp(%0)) }",
        """def @main(%a {CPU}: T, GPU) {
          %0 = device_copy(on_device(negative(%a), CPU, PINNED), CPU->GPU);
          subtract(%0, exp(%0)) }""",
    ),
    "a copy to the same device is none": (
        "def @main(%a: T) { on_device(exp(on_device(negative(%a), CPU)), CPU) }",
        "def @main(%a {CPU}: T, CPU) { exp(negative(%a)) }",
    ),
    "what let binds has a device": (
        "def @main(%a: T, %b: T) { let %l = exp(%a); let %r = exp(%b); subtract(on_device(%l, CPU), %r) }",
        """def @main(%a {CPU}: T, %b {GPU}: T, GPU) {
          let %l = on_device(exp(%a), CPU, PINNED);
          let %r = on_device(exp(%b), GPU, PINNED);
          subtract(device_copy(%l, CPU->GPU), %r) }""",
    ),
    "a variable bound on a device is copied where it is used": (
        "def @main(%a: T) { let %l = on_device(exp(%a), CPU); (negative(%l), exp(on_device(%l, CPU))).0 }",
        """def @main(%a {CPU}: T, GPU) {
          let %l = on_device(exp(%a), CPU, PINNED);
          (negative(device_copy(%l, CPU->GPU)), exp(device_copy(%l, CPU->GPU))).0 }""",
    ),
    "an input that two devices read is copied to the second": (
        "def @main(%a: T, %b: T, %c: T) { subtract(on_device(add(%a, %b), CPU), on_device(add(%b, %c), GPU)) }",
        """def @main(%a {CPU}: T, %b {CPU}: T, %c {GPU}: T, GPU) {
          %0 = device_copy(on_device(add(%a, %b), CPU, PINNED), CPU->GPU);
          subtract(%0, add(device_copy(%b, CPU->GPU), %c)) }""",
    ),
    "a value that two devices read is copied once": (
        """def @main(%a: T) {
          %0 = exp(%a);
          subtract(on_device(negative(%0), CPU), add(on_device(sqrt(%0), GPU), on_device(tanh(%0), GPU))) }""",
        """def @main(%a {CPU}: T, GPU) {
          %0 = exp(%a);
          %1 = device_copy(on_device(%0, CPU, PINNED), CPU->GPU);
          subtract(device_copy(on_device(negative(%0), CPU, PINNED), CPU->GPU), add(sqrt(%1), tanh(%1))) }""",
    ),
    "a projection is copied, not the tuple": (
        "def @main(%a: T) { %0 = on_device(split(%a, indices_or_sections=2), CPU); %1 = %0.0; add(%1, exp(%1)) }",
        """def @main(%a {CPU}: T, GPU) {
          %1 = split(%a, indices_or_sections=2);
          %2 = %1.0;
          %3 = device_copy(on_device(%2, CPU, PINNED), CPU->GPU);
          add(%3, exp(%3)) }""",
    ),
    "parameters tell callers": (
        """def @main(%a: T, %b: T) {
          let %f = fn (%x: T) { exp(on_device(%x, CPU)) };
          subtract(%f(%a), %b) }""",
        """def @main(%a {CPU}: T, %b {GPU}: T, GPU) {
          let %f = fn (%x {CPU}: T, GPU) { exp(device_copy(%x, CPU->GPU)) };
          subtract(%f(%a), %b) }""",
    ),
    "callers tell parameters": (
        """def @main(%a: T, %b: T) {
          let %f = fn (%x: T) { exp(%x) };
          subtract(on_device(%f(%a), CPU), %b) }""",
        """def @main(%a {CPU}: T, %b {GPU}: T, GPU) {
          let %f = fn (%x {CPU}: T, CPU) { exp(%x) };
          subtract(device_copy(on_device(%f(%a), CPU, PINNED), CPU->GPU), %b) }""",
    ),
    "global functions too": (
        """def @f(%a: T, %b: T) { add(%a, on_device(%b, CPU)) }
        def @main(%x: T, %y: T) { @f(%y, %x) }""",
        """def @f(%a {GPU}: T, %b {CPU}: T, GPU) { add(%a, device_copy(%b, CPU->GPU)) }
        def @main(%x {CPU}: T, %y {GPU}: T, GPU) { @f(%y, %x) }""",
    ),
    "a function in a tuple is where the tuple is": (
        """def @main(%x: T, %y: T) {
          let %f = fn (%a: T) { exp(%a) };
          let %t = (%f, on_device(%x, CPU, PINNED));
          %0 = %t.0;
          %0(%y) }""",
        """def @main(%x {CPU}: T, %y {CPU}: T, CPU) {
          let %f = fn (%a {CPU}: T, CPU) { exp(%a) };
          let %t = on_device((%f, %x), CPU, PINNED);
          %0 = %t.0;
          %0(%y) }""",
    ),
    "shapes are asked for on the host": (
        'def @main(%x: T) { vm.shape_of(on_device(%x, GPU, PINNED), dtype="int64") }',
        'def @main(%x {GPU}: T, CPU) { vm.shape_of(%x, dtype="int64") }',
    ),
    "branches end where the choice is used": (
        "def @main(%c: bool, %x: T) { if (%c) { on_device(exp(%x), CPU) } else { on_device(negative(%x), CPU) } }",
        """def @main(%c {GPU}: bool, %x {CPU}: T, GPU) {
          if (%c) { device_copy(on_device(exp(%x), CPU, PINNED), CPU->GPU) }
          else { device_copy(on_device(negative(%x), CPU, PINNED), CPU->GPU) } }""",
    ),
}


@pytest.mark.parametrize("name", CASES)
class TestEachCase:
    def test_the_plan_is_what_is_expected(self, name: str):
        before, after = CASES[name]
        assert_structural_equal(transform.PlanDevices(GPU)(program(before)), program(after))

    def test_a_plan_stays_as_it_is(self, name: str):
        result = transform.PlanDevices(GPU)(program(CASES[name][0]))
        assert transform.PlanDevices(GPU)(result) is result


SCOPES = [CPU, VirtualDevice(Device("cpu"), None, "a"), VirtualDevice(Device("cpu"), None, "b")]


def scoped(text: str) -> IRModule:
    """Read a program in which ANY, A and B name no memory scope of the CPU and two of them."""
    for number, short in enumerate(("ANY", "A", "B")):
        text = re.sub(rf"\b{short}\b", f"meta[VirtualDevice][{number}]", text)
    text = re.sub(r"\bV\b", "virtual_device", re.sub(r"\bT\b", SHORT["T"], text))
    return infer_module(parse(text, init_meta_table={"VirtualDevice": SCOPES}))


def test_memory_scopes_flow_through_what_leaves_them_open():
    before = """def @f(%x {V=B}: T, V=B) -> T { %x }
      def @main(%a {V=ANY}: T, %b {V=A}: T, %c {V=B}: T, V=A) {
        %0 = @f(on_device(%a, V=ANY, constrain_body=False));
        %1 = @f(on_device(%b, V=ANY, constrain_body=False));
        %2 = @f(on_device(%c, V=ANY, constrain_body=False));
        on_device(add(add(%0, %1), %2), V=ANY, constrain_body=False) }"""
    after = """def @f(%x {V=B}: T, V=B) -> T { %x }
      def @main(%a {V=B}: T, %b {V=A}: T, %c {V=B}: T, V=A) {
        %0 = @f(device_copy(%b, src_virtual_device=A, dst_virtual_device=B));
        %1 = on_device(add(add(@f(%a), %0), @f(%c)), V=B, constrain_result=True);
        device_copy(%1, src_virtual_device=B, dst_virtual_device=A) }"""
    result = transform.PlanDevices(GPU)(scoped(before))
    assert_structural_equal(result, scoped(after))
    assert transform.PlanDevices(GPU)(result) is result


@pytest.mark.parametrize("config", [GPU, cuda(), "cuda", "gpu"])
def test_the_default_may_be_given_in_many_ways(config: object):
    before, after = CASES["everything goes to the default"]
    assert_structural_equal(transform.PlanDevices(config)(program(before)), program(after))


def test_other_defaults_are_refused():
    with pytest.raises(PassTypeError, match="bad default device"):
        transform.PlanDevices(3)(program("def @main(%x: T) { %x }"))


@pytest.mark.parametrize(
    "text",
    [
        "def @main(%x: T) { add(on_device(exp(%x), CPU, PINNED), on_device(exp(%x), GPU, PINNED)) }",
        "def @main(%x {CPU}: T, GPU) { exp(%x) }",
        "def @main(%x: T) { let %y = on_device(%x, CPU, PINNED); let %z = on_device(%x, GPU, PINNED); add(%y, %z) }",
    ],
)
def test_nothing_is_on_two_devices(text: str):
    with pytest.raises(PassError, match="at once") as caught:
        transform.PlanDevices()(program(text))
    assert caught.value.diagnostics[0].place is not None


@pytest.mark.parametrize("name", PROGRAMS)
def test_devices_change_no_value(name: str):
    mod = module(name)
    typed = infer_module(transform.PlanDevices("cuda")(mod))
    assert well_formed(typed)
    args = arguments(mod)
    for a, b in zip(flat(Evaluator(typed).run("main", args)), flat(Evaluator(mod).run("main", args)), strict=True):
        np.testing.assert_array_equal(a, b)
