"""The names of `passlab.lab`, each written once: type checkers read them here, and so does the package itself."""

import passlab.debugger.debugger
import passlab.debugger.trace
from passlab.diffing.diff import Diff as Diff
from passlab.lab.culprits.bisection import Bisection as Bisection
from passlab.lab.culprits.bisection import bisect as bisect
from passlab.lab.culprits.culprit_search import Culprit as Culprit
from passlab.lab.culprits.culprit_search import culprit as culprit
from passlab.lab.culprits.executors import ExecutorFault as ExecutorFault
from passlab.lab.culprits.executors import compare_executors as compare_executors
from passlab.lab.culprits.executors import record_compilation as record_compilation
from passlab.lab.fuzzer.fuzzing import Campaign as Campaign
from passlab.lab.fuzzer.fuzzing import fuzz as fuzz
from passlab.lab.node_values import NodeValues as NodeValues
from passlab.lab.node_values import watch as watch
from passlab.lab.recordings.comparison import Comparison as Comparison
from passlab.lab.recordings.comparison import compare as compare
from passlab.lab.recordings.lineage import diff as diff
from passlab.lab.recordings.provenance import Provenance as Provenance
from passlab.lab.recordings.recording import Recording as Recording
from passlab.lab.recordings.recording import record as record
from passlab.lab.recordings.rewrites import rewrites_of as rewrites_of
from passlab.lab.recordings.rewrites import why_not as why_not
from passlab.lab.recordings.validation import validate as validate
from passlab.lab.reducer.reduction import Reduction as Reduction
from passlab.lab.reducer.reduction import reduce as reduce
from passlab.lab.simplification import Simplification as Simplification
from passlab.lab.simplification import simplify as simplify
from passlab.lab.solver_runs import Solving as Solving
from passlab.lab.solver_runs import watch_solver as watch_solver
from passlab.lab.variants.pass_orders import orders as orders
from passlab.lab.variants.pipeline_variants import WhatIf as WhatIf
from passlab.lab.variants.prospects import prospects as prospects
from passlab.lab.variants.what_if import what_if as what_if

Debugger = passlab.debugger.debugger.Debugger
Fork = passlab.debugger.trace.Fork
Trace = passlab.debugger.trace.Trace
