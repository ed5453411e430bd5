"""The names of `passlab.vm`.

Written from the declarations by `pytest tests/package --bless`; a test holds it to them.
"""

from passlab.debugger.debugger import Debugger as Debugger
from passlab.vm.benchmarking import BenchmarkResult as BenchmarkResult
from passlab.vm.compiling.compiler import VMCompiler as VMCompiler
from passlab.vm.compiling.compiler import compile as compile
from passlab.vm.compiling.compiler import optimize as optimize
from passlab.vm.executable import Executable as Executable
from passlab.vm.executable import VMFunction as VMFunction
from passlab.vm.files.saving import KernelLibrary as KernelLibrary
from passlab.vm.machine import Machine as Machine
from passlab.vm.relay_api import VirtualMachine as VirtualMachine
from passlab.vm.report import Report as Report
from passlab.vm.report import VirtualMachineProfiler as VirtualMachineProfiler
