"""Relay's Python interface under Relay's names: `from passlab import relay`.

Every name is loaded on first use. Operators without a dot in their name are functions of this module (`relay.add`), the
others are in submodules (`relay.nn.conv2d`, `relay.qnn.op.quantize`). Nothing is defined here: the names come from
`__init__.pyi`.
"""

from __future__ import annotations

from passlab.lazy import lazy_module, names_in_stub

_NAMES = {
    **names_in_stub(__file__, __name__),
    "Module": "passlab.ir.module:IRModule",  # Relay's second names
    "TypeKind": "passlab.ir.types:Kind",
    "pretty_print": "passlab.text.printer:pretty",
    "contrib": "passlab.relay.op.contrib",
    "feature": "passlab.analysis.census",
    "param_dict": "passlab.executor.param_dict",
}


def _operator(name: str) -> object:
    from passlab.relay.operators import OperatorNamespace

    return OperatorNamespace("", __name__).find(name)


def _operators() -> list[str]:
    from passlab.relay.operators import OperatorNamespace

    return OperatorNamespace("", __name__).names()


__getattr__, __dir__ = lazy_module(__name__, _NAMES, _operator, _operators)
