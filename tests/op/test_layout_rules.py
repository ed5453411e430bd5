"""The rules by which operators take data in other layouts: each, wherever a declaration names one, keeps the numbers."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import passlab
from passlab.errors import PasslabError
from passlab.evaluate import Evaluator
from passlab.ir.expr import Call
from passlab.ir.op import Op
from passlab.ir.types import TensorType
from passlab.ir.walk import post_order
from passlab.op import layout_rules
from passlab.op.edges import bindings
from passlab.transform.layout_rewriting import in_other_layouts

