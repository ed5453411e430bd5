"""All faults by name."""

from __future__ import annotations

from tests.planted.faults_of_machines import MACHINES
from tests.planted.faults_of_newcomers import NEWCOMERS
from tests.planted.faults_of_passes import PASSES
from tests.planted.faults_of_rooms import MODULES
from tests.planted.faults_of_rules import RULES
from tests.planted.faults_of_strangers import STRANGERS

FAULTS = {fault.name: fault for fault in (*RULES, *PASSES, *MACHINES, *MODULES, *STRANGERS, *NEWCOMERS)}
