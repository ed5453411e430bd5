"""A compiled module behind the interface of executors: inputs are set, the program is run, outputs are read."""

from __future__ import annotations

from typing import Any

import numpy as np

from passlab.errors import Diagnostic, RunError, did_you_mean
from passlab.evaluate.arguments import check_argument
from passlab.executor.aot.loading import CompiledFunction


class AotModule:
    """Runs a compiled module. Inputs are set by name or number and stay set; outputs are the fields of a tuple."""

    def __init__(self, compiled: CompiledFunction) -> None:
        self.compiled = compiled
        self.params = compiled.function.params
        self.names = [p.name_hint for p in self.params]
        self.inputs: dict[int, Any] = {}
        self.result: Any = None

    def set_input(self, key: str | int | None = None, value: Any = None, **params: Any) -> None:
        """Set an input by name or number, and others by name. Raises `RunError` for what does not fit."""
        given = {} if key is None else {key: value}
        for name, array in (*given.items(), *params.items()):
            number = self._number(name)
            self.inputs[number] = check_argument(self.params[number], array)

    def _number(self, key: str | int) -> int:
        if isinstance(key, str):
            if key not in self.names:
                raise RunError(Diagnostic(f"there is no input `{key}`", hint=did_you_mean(key, self.names)))
            return self.names.index(key)
        if not 0 <= key < len(self.names):
            raise RunError(f"there are {len(self.names)} inputs, none of number {key}")
        return key

    def run(self, **inputs: Any) -> None:
        """Set the inputs given and run. Raises `RunError` when an input is missing or the program fails."""
        self.set_input(**inputs)
        missing = [name for i, name in enumerate(self.names) if i not in self.inputs]
        if missing:
            raise RunError(f"inputs are not set: {', '.join(missing[:8])}")
        self.result = (self.compiled(*[self.inputs[i] for i in range(len(self.names))]),)

    def get_num_inputs(self) -> int:
        """How many inputs there are."""
        return len(self.names)

    def get_input(self, key: str | int) -> Any:
        """The value of an input, None before it is set."""
        return self.inputs.get(self._number(key))

    def get_num_outputs(self) -> int:
        """How many outputs the last run gave; a tuple counts by its fields."""
        return len(self._outputs())

    def get_output(self, index: int, out: np.ndarray[Any, Any] | None = None) -> Any:
        """Return an output of the last run, written into `out` if given."""
        outputs = self._outputs()
        if not 0 <= index < len(outputs):
            raise RunError(f"there are {len(outputs)} outputs, none of number {index}")
        if out is None:
            return outputs[index]
        np.copyto(out, outputs[index])
        return out

    def _outputs(self) -> tuple[Any, ...]:
        if self.result is None:
            raise RunError("the program has not been run yet")
        (value,) = self.result
        return value if isinstance(value, tuple) else self.result
