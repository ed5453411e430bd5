"""The names of `passlab`, each written once: type checkers read them here, and so does the package itself."""

from passlab import analysis as analysis
from passlab import course as course
from passlab import devices as devices
from passlab import display as display
from passlab import errors as errors
from passlab import evaluate as evaluate
from passlab import executor as executor
from passlab import frontend as frontend
from passlab import infer as infer
from passlab import instrument as instrument
from passlab import ir as ir
from passlab import lab as lab
from passlab import limits as limits
from passlab import notebook as notebook
from passlab import op as op
from passlab import pattern as pattern
from passlab import relay as relay
from passlab import testing as testing
from passlab import text as text
from passlab import transform as transform
from passlab import vm as vm
from passlab.debugger.debugger import Debugger as Debugger
from passlab.debugger.trace import Trace as Trace
from passlab.devices import Device as Device
from passlab.devices import Target as Target
from passlab.devices import VirtualDevice as VirtualDevice
from passlab.devices import cpu as cpu
from passlab.devices import cuda as cuda
from passlab.devices import device as device
from passlab.devices import gpu as gpu
from passlab.diffing.diff import diff as diff
from passlab.errors import PasslabError as PasslabError
from passlab.ir.equal import assert_structural_equal as assert_structural_equal
from passlab.ir.equal import structural_equal as structural_equal
from passlab.ir.equal import structural_hash as structural_hash
from passlab.ir.module import IRModule as IRModule
from passlab.lab.recordings.recording import Recording as Recording
from passlab.lab.recordings.recording import record as record
from passlab.notebook import load_ipython_extension as load_ipython_extension
from passlab.notebook import unload_ipython_extension as unload_ipython_extension
from passlab.relay import runtime as runtime
from passlab.relay.parsing import fromtext as fromtext
from passlab.relay.parsing import parse as parse
from passlab.relay.parsing import parse_expr as parse_expr

__version__: str
