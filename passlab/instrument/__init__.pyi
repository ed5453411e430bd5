"""The names of `passlab.instrument`, each written once: type checkers and the package read them here."""

import passlab.lab.recordings.recording
from passlab.instrument.base import PassInstrument as PassInstrument
from passlab.instrument.base import pass_instrument as pass_instrument
from passlab.instrument.dump import DumpIR as DumpIR
from passlab.instrument.events import Event as Event
from passlab.instrument.limit import PassLimit as PassLimit
from passlab.instrument.printing import PrintIRAfter as PrintIRAfter
from passlab.instrument.printing import PrintIRBefore as PrintIRBefore
from passlab.instrument.progress import ProgressInstrument as ProgressInstrument
from passlab.instrument.recorder import MemoryInstrument as MemoryInstrument
from passlab.instrument.statistics import StatisticsInstrument as StatisticsInstrument
from passlab.instrument.timing import PassTimingInstrument as PassTimingInstrument
from passlab.instrument.trace import TraceInstrument as TraceInstrument
from passlab.instrument.validate import Validate as Validate
from passlab.instrument.verify import VerifyInstrument as VerifyInstrument

Recorder = passlab.lab.recordings.recording.Recorder
