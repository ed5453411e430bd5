"""Options of a context (pass-infra-semantics, section 3)."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from passlab.errors import ConfigError
from passlab.transform import PassContext, config, register_config_option

DEPTH = "relay.FuseOps.max_depth"
FLAG = "relay.FuseOps.link_params"


@dataclass(frozen=True)
class Unrolling:
    """A record for an option of its own type."""

    steps: int = 1
    explicit: bool = True


@pytest.fixture
def unrolling(monkeypatch):
    monkeypatch.setattr(config, "_options", dict(config._options))
    return register_config_option("testing.unrolling", Unrolling, Unrolling(), "For these tests.").key


def test_an_unknown_key_is_an_attribute_error_with_candidates():
    with pytest.raises(AttributeError) as caught:
        PassContext(config={"relay.FuseOps.max_dept": 1})
    text = str(caught.value)
    assert "Invalid config option 'relay.FuseOps.max_dept'" in text
    assert "did you mean `relay.FuseOps.max_depth`" in text
    assert "candidates are: " in text
    assert " ,relay.FuseOps.max_depth ," in text


def test_none_is_refused():
    with pytest.raises(ConfigError, match=f"{DEPTH} is None"):
        PassContext(config={DEPTH: None})


def test_a_value_of_another_type_is_refused():
    with pytest.raises(ConfigError, match=f"expect config {DEPTH} to have type IntImm but get str"):
        PassContext(config={DEPTH: "deep"})


def test_an_empty_config_is_no_config():
    assert PassContext(config={}).config == {} == PassContext(config=None).config


def test_booleans_and_integers_share_a_type():
    context = PassContext(config={DEPTH: True, FLAG: 1})
    assert context.config == {DEPTH: 1, FLAG: True}
    assert PassContext.list_configs()["relay.backend.use_auto_scheduler"]["type"] == "IntImm"


def test_a_dict_becomes_the_record_of_the_option(unrolling):
    assert PassContext(config={unrolling: {"steps": 4}}).config[unrolling] == Unrolling(4)


def test_a_dict_with_an_unknown_field_is_refused(unrolling):
    with pytest.raises(ConfigError, match="has no field `step`") as caught:
        PassContext(config={unrolling: {"step": 4}})
    assert "did you mean `steps`" in str(caught.value)


def test_a_key_is_registered_once(unrolling):
    with pytest.raises(ConfigError, match="registered twice"):
        register_config_option(unrolling, int)


def test_the_same_registration_again_is_no_error(unrolling):
    again = register_config_option(unrolling, Unrolling, Unrolling(), "For these tests.")
    assert again.key == unrolling


def test_reading_an_option():
    context = PassContext(config={DEPTH: 3})
    assert context.get_config(DEPTH) == 3
    assert PassContext().get_config(DEPTH) == 256
    assert PassContext().get_config(DEPTH, 7) == 7


def test_reading_a_key_that_is_not_registered_raises():
    with pytest.raises(ConfigError):
        PassContext().get_config("relay.nothing")


def test_reading_a_value_of_the_wrong_type_put_in_later_raises():
    context = PassContext()
    context.config[DEPTH] = "deep"
    with pytest.raises(ConfigError):
        context.get_config(DEPTH)


def test_options_of_external_compilers_have_keys_of_their_own():
    assert PassContext(config={"relay.ext.mine.options": {"a": 1}}).config["relay.ext.mine.options"] == {"a": 1}


def test_every_registered_option_takes_its_own_default():
    for option in config.list_options():
        if option.default is not None:
            assert option.convert(option.default) == option.default
            assert option.doc
