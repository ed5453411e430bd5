"""`relay.backend.Executor` and `Runtime`: names out of a table, with options that are checked."""

from __future__ import annotations

import pytest

from passlab import relay
from passlab.devices import VirtualDevice, cuda
from passlab.errors import RunError
from passlab.relay.backend import Executor, Runtime


def test_options_are_read_by_name():
    executor = Executor("aot", {"interface-api": "c"})
    assert executor["interface-api"] == "c"
    assert "interface-api" in executor
    assert "woof" not in executor
    assert executor["link-params"] is True
    assert Executor("graph")["link-params"] is False
    assert Runtime("crt", {"system-lib": True})["system-lib"] is True
    assert not Runtime("crt")["system-lib"]
    assert Executor("aot", {"interface-api": "c"}) == executor != Executor("aot")
    assert len({executor, Executor("aot", {"interface-api": "c"}), Runtime("cpp")}) == 2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Executor("woof"), 'Executor "woof" is not defined'),
        (lambda: Runtime("woof"), 'Runtime "woof" is not defined'),
        (lambda: Executor("aot", {"woof": "bark"}), 'Attribute "woof" is not available on this Executor'),
        (lambda: Runtime("crt", {"woof": "bark"}), 'Attribute "woof" is not available on this Runtime'),
        (
            lambda: Executor("aot", {"interface-api": True}),
            'Attribute "interface-api" should have type "runtime.String" but instead found "IntImm"',
        ),
        (
            lambda: Runtime("crt", {"system-lib": "yes"}),
            'Attribute "system-lib" should have type "IntImm" but instead found "runtime.String"',
        ),
        (lambda: Executor.list_registered_options("woof"), 'Executor "woof" is not defined'),
    ],
)
def test_unknown_names_and_options_are_refused(make, message):
    with pytest.raises(RunError) as caught:
        make()
    assert message in str(caught.value)


def test_what_there_is_can_be_listed():
    assert Executor.list_registered() == ["aot", "graph"]
    assert set(Runtime.list_registered()) == {"cpp", "crt"}
    assert Executor.list_registered_options("aot")["interface-api"] == "runtime.String"
    assert Executor.list_registered_options(Executor("aot"))["workspace-byte-alignment"] == "IntImm"
    assert Runtime.list_registered_options("crt")["system-lib"] == "IntImm"


def test_a_program_is_built_for_a_choice():
    net = relay.Function([], relay.const(2.0) + relay.const(3.0))
    module = relay.build(net, executor=Executor("aot"), runtime=Runtime("cpp")).module()
    module.run()
    assert float(module.get_output(0)) == 5


def test_a_virtual_device_has_the_numbers_of_its_device():
    place = VirtualDevice(cuda(1))
    assert (place.device_type_int, place.device_type, place.virtual_device_id) == (2, 2, 1)
