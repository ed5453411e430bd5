"""PassInfo, and the exact texts of passes and contexts (pass-infra-semantics, section 1)."""

from __future__ import annotations

import pytest

from passlab.errors import PassError, PassTypeError
from passlab.transform import FunctionPass, ModulePass, Pass, PassContext, PassInfo, Sequential
from tests.transform.programs import idle, replacing


def test_fields_in_the_order_level_name_required():
    info = PassInfo(3, "A", ["B"])
    assert (info.opt_level, info.name, info.required) == (3, "A", ["B"])


def test_required_may_be_none():
    assert PassInfo(1, "A").required == [] == PassInfo(1, "A", None).required


def test_the_list_of_required_passes_cannot_be_changed_from_outside():
    info = PassInfo(1, "A", ["B"])
    info.required.append("C")
    assert info.required == ["B"]


def test_text_without_requirements():
    expected = "The meta data of the pass - pass name: A, opt_level: 2, required passes: []\n"
    assert str(PassInfo(2, "A")) == expected


def test_text_with_requirements_is_two_lines():
    expected = "The meta data of the pass - pass name: A, opt_level: 2, required passes: [\nB, C, ]\n"
    assert str(PassInfo(2, "A", ["B", "C"])) == expected


def test_infos_compare_by_value():
    assert PassInfo(1, "A", ["B"]) == PassInfo(1, "A", ("B",)) != PassInfo(2, "A", ["B"])
    assert len({PassInfo(1, "A"), PassInfo(1, "A")}) == 1


@pytest.mark.parametrize("arguments", [(2.5, "A"), (1, 7), (1, "A", "B"), (1, "A", [3]), (None, "A")])
def test_wrong_arguments_are_type_errors(arguments):
    with pytest.raises(PassTypeError):
        PassInfo(*arguments)


def test_text_of_passes():
    assert str(idle("A", 2)) == "Run Module pass: A at the optimization level 2"
    assert str(replacing("exp", "tanh", name="B")) == "Run Function pass: B at the optimization level 0"
    pipeline = Sequential([idle("A"), idle("B"), idle("C")], opt_level=1, name="three")
    expected = "Run Sequential pass: three at the optimization level 1. The passes will be executed are: [A B C ]"
    assert str(pipeline) == expected


def test_text_of_a_context():
    context = PassContext(3, ["A"], ["B", "C"], config={"relay.FuseOps.max_depth": 4})
    assert str(context) == (
        "Pass context information: \n\topt_level: 3\n\trequired passes: [A]\n\tdisabled passes: [B, C]\n"
        "\tinstruments: []\n\tconfig: {'relay.FuseOps.max_depth': 4}"
    )


def test_kinds_of_passes():
    assert isinstance(idle(), ModulePass)
    assert isinstance(replacing("exp", "tanh"), FunctionPass)
    assert isinstance(Sequential(), Pass)


def test_pass_errors_are_both_passlab_and_python_errors():
    assert issubclass(PassTypeError, PassError)
    assert issubclass(PassTypeError, TypeError)
