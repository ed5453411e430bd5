"""A recording whose every name wants to be markup."""

from __future__ import annotations

import passlab
from passlab import transform
from passlab.ir import IRModule

MARKUP = '</style></div><script>document.title = "taken"</script><img src="http://127.0.0.1:9/x" onerror="document.title=1">\u202e'


def hostile_recording() -> passlab.Recording:
    """A pass with such a name works on such a function, and the next one fails with such a message."""
    source = passlab.parse("def @main(%x: Tensor[(2), float32]) { add(exp(%x), 1f) }")
    mod = IRModule({MARKUP: source["main"]})

    @transform.function_pass(opt_level=0, name=f"Log{MARKUP}")
    def to_log(func, mod, ctx):
        return passlab.relay.Function(func.params, passlab.relay.log(func.body))

    @transform.module_pass(opt_level=0, name="Fails")
    def fails(mod, ctx):
        raise ValueError(MARKUP)

    return passlab.record(mod, [transform.InferType(), to_log, fails], name=MARKUP)
