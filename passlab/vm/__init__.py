"""The virtual machine: instruction table, compiler, verifier, executables and the machine that runs them."""

from passlab.faces import face
from passlab.vm.benchmarking import BenchmarkResult
from passlab.vm.compiling.compiler import VMCompiler, compile, optimize
from passlab.vm.executable import Executable, VMFunction
from passlab.vm.files.saving import KernelLibrary
from passlab.vm.machine import Machine
from passlab.vm.profiler import VirtualMachineProfiler
from passlab.vm.report import Report
from passlab.vm.virtual_machine import VirtualMachine

__all__ = [
    "BenchmarkResult", "Executable", "KernelLibrary", "Machine", "Report", "VMCompiler", "VMFunction", "VirtualMachine",
    "VirtualMachineProfiler", "compile", "optimize",
]  # fmt: skip

# The debugger stands on the lab, above this room, so it is loaded when asked for.
__getattr__, __dir__ = face(__name__, {"Debugger": "passlab.lab.time_travel.debugger:Debugger"})
