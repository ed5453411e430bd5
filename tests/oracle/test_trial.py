"""`Trial` takes sensible options only, and a comparison under noise blames nobody where the program fails."""

from __future__ import annotations

import pytest

import passlab
from passlab.errors import PassTypeError, RunError
from passlab.oracle.trial import Trial
from passlab.oracle.validation import examine
from passlab.transform import Rounds


@pytest.mark.parametrize("seed", [-1, True, 1.0, "1", None])
def test_a_seed_is_a_whole_number_from_zero_on(seed: object) -> None:
    with pytest.raises(PassTypeError) as caught:
        Trial(seed=seed)
    assert caught.value.diagnostics[0].message == "a seed is a whole number from 0 on"
    assert caught.value.diagnostics[0].found == repr(seed)
    assert Trial(seed=0).seed == 0


def test_a_program_that_fails_under_noise_is_not_blamed(monkeypatch: pytest.MonkeyPatch) -> None:
    before = passlab.parse("def @main(%x: Tensor[(2), float32]) { exp(%x) }")
    after = passlab.parse("def @main(%x: Tensor[(2), float32]) { multiply(exp(%x), 1.00001f) }")
    assert examine("p", before, after, Rounds(1), Trial()).outcome == "broken"

    def fail(*args: object) -> list[object]:
        raise RunError("it does not run with noise")

    monkeypatch.setattr(Trial, "noisy", fail)
    assert examine("p", before, after, Rounds(1), Trial()).outcome == "kept"


@pytest.mark.parametrize("sign", ["", "negative"])
def test_a_sum_of_numbers_of_one_sign_keeps_it_under_noise(sign: str) -> None:
    """The length of a vector of zeros, as of a node of a graph without neighbours, is no root of a negative number."""
    text = f"""
        def @main(%x: Tensor[(3, 4), float32]) {{
          %0 = concatenate((multiply(%x, 0.3f), zeros(shape=[64, 4], dtype="float32")), axis=0);
          %1 = {sign}(sum({sign}(multiply(%0, %0)), axis=[1]));
          sum(sqrt(%1))
        }}"""
    before = passlab.parse(text)
    after = passlab.parse(text.replace("sum(sqrt(%1))", "multiply(sum(sqrt(%1)), 1.5f)"))
    assert examine("p", before, after, Rounds(1), Trial()).outcome == "broken"
