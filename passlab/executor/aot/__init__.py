"""The ahead-of-time compiler: from Relay to one readable Python module that needs only NumPy."""

from passlab.executor.aot.aot_module import AotModule
from passlab.executor.aot.loading import CompiledProgram
from passlab.executor.aot.module_source import PythonSource, python_source

__all__ = ["AotModule", "CompiledProgram", "PythonSource", "python_source"]
