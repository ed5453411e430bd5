"""Errors for names of TVM that passlab lacks; each suggests an alternative."""

from __future__ import annotations

from passlab.errors import Diagnostic, PasslabError, UnknownNameError

NUMPY = "kernels are NumPy here: `op.add_kernel(function)`, or the manual's page *Writing an operator*"
TUNING = "there is nothing to tune: kernels run on NumPy; leave the tuning out and call `relay.build`"
PARTITION = "partition with `relay.transform.MergeComposite` and `PartitionGraph`"
DEVICES = "every device is this CPU: leave the device's own code out"
# Packages of TVM by their first names after `tvm`, longest match first.
INSTEAD = {
    "auto_scheduler": TUNING,
    "autotvm": TUNING,
    "meta_schedule": TUNING,
    "contrib.cutlass": "write the patterns of a compiler with `relay.op.contrib.register_pattern_table`",
    "contrib.pipeline_executor": "run the parts one after the other with `relay.create_executor`",
    "contrib.torch": "`relay.frontend.from_pytorch` reads PyTorch's exported programs",
    "build": "`relay.build` compiles a program of Relay",
    "build_config": "`tvm.transform.PassContext`",
    "contrib": DEVICES,
    "lower": "`relay.build` compiles a program of Relay",
    "relay.op.contrib": "write the patterns of a compiler with `relay.op.contrib.register_pattern_table`",
    "relay.op.op": NUMPY,
    "relay.op": NUMPY,
    "driver": "`passlab` on the command line, or `relay.build`",
    "driver.tvmc": "`passlab opt`, `passlab run` on the command line",
    "micro": DEVICES,
    "relax": "Relax is another language: passlab has Relay",
    "relay.collage": PARTITION,
    "relay.transform.CollagePartition": PARTITION,
    "relay.transform.RewriteAnnotatedOps": "`relay.transform.PlanDevices`",
    "relay.frontend": "`relay.frontend.from_onnx`, `from_pytorch`; or write `mod.astext()` with TVM and read it here",
    "relay.op.strategy": NUMPY,
    "rpc": DEVICES,
    "script": "TVMScript is not read; Relay text is: `relay.parse`",
    "target.datatype": "dtypes come from NumPy and `ml_dtypes` (bfloat16, float8_e4m3fn, int4, ...)",
    "te": NUMPY,
    "tir": NUMPY,
    "topi": NUMPY,
}


class CompatError(PasslabError, ImportError):
    """The addresses of `tvm` cannot be installed.

    >>> from passlab import compat
    >>> issubclass(compat.CompatError, Exception)
    True
    """


class MissingInCompatError(PasslabError, ImportError):
    """A module of TVM has no counterpart in passlab."""


def missing_module(name: str) -> MissingInCompatError:
    """Return the error for a module such as `tvm.autotvm`, with an alternative."""
    return MissingInCompatError(_finding(name))


def missing_name(name: str) -> UnknownNameError:
    """Return the error for a name such as `tvm.te.create_schedule`, with an alternative."""
    return UnknownNameError(_finding(name))


def _finding(name: str) -> Diagnostic:
    parts = name.split(".")[1:]
    prefixes = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
    hint = next((INSTEAD[prefix] for prefix in prefixes if prefix in INSTEAD), None)
    hint = hint or "the manual's page *Differences from TVM* says what is there"
    return Diagnostic(f"passlab has no `{name}`", hint=hint)
