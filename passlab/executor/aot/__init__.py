"""The ahead-of-time compiler: from Relay to one readable Python module that needs only NumPy."""

from passlab.executor.aot.loading import CompiledFunction
from passlab.executor.aot.module_source import PythonSource, python_source

__all__ = ["CompiledFunction", "PythonSource", "python_source"]
