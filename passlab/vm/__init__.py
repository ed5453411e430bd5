"""The virtual machine: instruction table, compiler, bytecode verifier, executables and the engines that run them."""

from passlab.lazy import lazy_module
from passlab.vm.benchmarking import BenchmarkResult
from passlab.vm.compiling.compiler import VMCompiler, compile, optimize
from passlab.vm.executable import Executable, VMFunction
from passlab.vm.files.saving import KernelLibrary
from passlab.vm.machine import Machine
from passlab.vm.relay_api import VirtualMachine
from passlab.vm.report import Report, VirtualMachineProfiler

__all__ = [
    "BenchmarkResult",
    "Executable",
    "KernelLibrary",
    "Machine",
    "Report",
    "VMCompiler",
    "VMFunction",
    "VirtualMachine",
    "VirtualMachineProfiler",
    "compile",
    "optimize",
]

# The debugger stands above this package, so it is loaded on first use.
__getattr__, __dir__ = lazy_module(__name__, {"Debugger": "passlab.debugger.debugger:Debugger"})
