"""The names of `passlab.relay.op`: operators, and functions about them.

Written from the declarations by `pytest tests/package --bless`; a test holds it to them.
"""

from passlab.ir.expr import Expr as Expr
from passlab.ir.op import Op as Op
from passlab.ir.op import OpPattern as OpPattern
from passlab.ir.op import register_op_attr as register_op_attr
from passlab.ir.tuple_wrapper import TupleWrapper as TupleWrapper
from passlab.op.declare import operator as operator
from passlab.op.registered import register as register
from passlab.op.registered import register_pattern as register_pattern
from passlab.op.registered import register_stateful as register_stateful
from passlab.relay import annotation as annotation
from passlab.relay import image as image
from passlab.relay import memory as memory
from passlab.relay import nn as nn
from passlab.relay import random as random
from passlab.relay import vision as vision
from passlab.relay.op import _make as _make
from passlab.relay.op import algorithm as algorithm
from passlab.relay.op import contrib as contrib
from passlab.relay.op import op as op
from passlab.relay.op import reduce as reduce
from passlab.relay.op import tensor as tensor
from passlab.relay.op import transform as transform
from passlab.relay.op.tensor import *
from passlab.relay.operators import get as get
from passlab.relay.operators import operator_table as _list
from passlab.relay.var_const import const as const
from passlab.transform.registering import register_alter_op_layout as register_alter_op_layout
from passlab.transform.registering import register_convert_op_layout as register_convert_op_layout
from passlab.transform.registering import register_fake_quantization_to_integer as register_fake_quantization_to_integer
from passlab.transform.registering import register_gradient as register_gradient
from passlab.transform.registering import register_infer_correct_layout as register_infer_correct_layout
from passlab.transform.registering import register_legalize as register_legalize
from passlab.transform.registering import register_mixed_precision_conversion as register_mixed_precision_conversion
from passlab.transform.registering import register_qnn_canonicalize as register_qnn_canonicalize
from passlab.transform.registering import register_qnn_legalize as register_qnn_legalize
from passlab.transform.registering import unregister_op_attr as unregister_op_attr

list = _list
