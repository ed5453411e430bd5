"""Instruments: code that runs around passes. They measure, print, dump, limit, verify and record."""

from passlab.instrument.base import PassInstrument, pass_instrument
from passlab.instrument.dump import DumpIR
from passlab.instrument.events import Event
from passlab.instrument.limit import PassLimit
from passlab.instrument.memory import MemoryInstrument
from passlab.instrument.printing import PrintIRAfter, PrintIRBefore
from passlab.instrument.progress import ProgressInstrument
from passlab.instrument.statistics import StatisticsInstrument
from passlab.instrument.timing import PassTimingInstrument
from passlab.instrument.trace import TraceInstrument
from passlab.instrument.validate import Validate
from passlab.instrument.verify import VerifyInstrument
from passlab.lazy import lazy_module

# The recorder whose recording can be asked questions belongs to the lab, which stands above instruments.
__getattr__, _names = lazy_module(__name__, {"Recorder": "passlab.lab.recording:Recorder"})

__all__ = [
    "DumpIR", "Event", "MemoryInstrument", "PassInstrument", "PassLimit", "PassTimingInstrument", "PrintIRAfter",
    "PrintIRBefore", "ProgressInstrument", "Recorder", "StatisticsInstrument", "TraceInstrument", "Validate",
    "VerifyInstrument", "pass_instrument",
]  # fmt: skip
