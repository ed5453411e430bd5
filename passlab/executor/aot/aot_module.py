"""A compiled module with the interface of graph executors: set inputs, run, get outputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from passlab.arguments import checked
from passlab.errors import RunError
from passlab.evaluate.arguments import check_argument
from passlab.evaluate.ownership import private_copy
from passlab.executor.aot.loading import CompiledProgram
from passlab.executor.outputs import RunsByInputs, output_number, write_output


@checked
class AotModule(RunsByInputs):
    """Runs a compiled module. Inputs are set by name or number and stay set; outputs are the fields of a tuple."""

    def __init__(self, compiled: CompiledProgram) -> None:
        self.compiled = compiled
        self.params = compiled.function.params
        super().__init__([p.name_hint for p in self.params])
        self.inputs: dict[int, Any] = {}
        self.result: Any = None

    def _set(self, number: int, value: Any) -> None:
        self.inputs[number] = private_copy(check_argument(self.params[number], value))

    def run(self, **inputs: Any) -> None:
        """Set `inputs` and run. Raises `RunError` if an input is missing or the program fails."""
        self.set_input(**inputs)
        missing = [name for i, name in enumerate(self.names) if i not in self.inputs]
        if missing:
            raise RunError(f"inputs are not set: {', '.join(missing[:8])}")
        self.result = (self.compiled(*[self.inputs[i] for i in range(len(self.names))]),)

    def get_input(self, key: Any, out: np.ndarray[Any, Any] | None = None) -> Any:
        """Return the value of an input, written into `out` if given; None before it is set.

        Values are arrays of the input's shape and dtype.
        """
        value = self.inputs.get(self._input_number(key))
        return value if out is None or value is None else write_output(value, out)

    def get_num_outputs(self) -> int:
        """Return the number of outputs of the last run; a tuple counts as its fields."""
        return len(self._outputs())

    def get_output(self, index: int, out: np.ndarray[Any, Any] | None = None) -> Any:
        """Return an output of the last run, an array as a copy, written into `out` if given."""
        outputs = self._outputs()
        value = outputs[output_number(index, len(outputs))]
        if out is not None:
            return write_output(value, out)
        return value.copy() if isinstance(value, np.ndarray) else value

    def _outputs(self) -> tuple[Any, ...]:
        if self.result is None:
            raise RunError("the program has not been run yet")
        (value,) = self.result
        return value if isinstance(value, tuple) else self.result
