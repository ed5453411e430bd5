"""Instruments: code that runs around passes. They measure, print, dump, limit, verify and record."""

from passlab.instrument.base import PassInstrument, pass_instrument
from passlab.instrument.dump import DumpIR
from passlab.instrument.events import Event
from passlab.instrument.limit import PassLimit
from passlab.instrument.memory import MemoryInstrument
from passlab.instrument.printing import PrintIRAfter, PrintIRBefore
from passlab.instrument.progress import ProgressInstrument
from passlab.instrument.recorder import Recorder
from passlab.instrument.statistics import StatisticsInstrument
from passlab.instrument.timing import PassTimingInstrument
from passlab.instrument.trace import TraceInstrument
from passlab.instrument.validate import Validate
from passlab.instrument.verify import VerifyInstrument

__all__ = [
    "DumpIR", "Event", "MemoryInstrument", "PassInstrument", "PassLimit", "PassTimingInstrument", "PrintIRAfter",
    "PrintIRBefore", "ProgressInstrument", "Recorder", "StatisticsInstrument", "TraceInstrument", "Validate",
    "VerifyInstrument", "pass_instrument",
]  # fmt: skip
