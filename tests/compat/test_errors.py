"""Errors that programs for TVM catch: each is a `TVMError`, whoever raised it."""

from __future__ import annotations

from typing import Any

import pytest

import passlab
from passlab.errors import PasslabError


def test_what_a_hook_or_a_pass_raises_is_a_tvm_error() -> None:
    import tvm

    @tvm.ir.instrument.pass_instrument
    class Refusing:
        def enter_pass_ctx(self) -> None:
            raise RuntimeError("refused")

    @tvm.transform.module_pass(opt_level=0)
    def refusing(mod: Any, ctx: Any) -> Any:
        raise RuntimeError("refused")

    with pytest.raises(tvm.error.TVMError, match="refused"):
        tvm.transform.PassContext.current().override_instruments([Refusing()])
    with pytest.raises(tvm.TVMError, match="refused"):
        refusing(tvm.IRModule())


def test_every_error_of_passlab_is_a_tvm_error() -> None:
    import tvm

    kinds = [PasslabError]
    for kind in kinds:  # the list grows by their subclasses
        kinds += kind.__subclasses__()
        assert issubclass(kind, tvm.error.TVMError), kind
    with pytest.raises(tvm.error.TVMError):
        passlab.parse("def @main(")
