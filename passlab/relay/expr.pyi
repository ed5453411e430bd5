"""The expressions of Relay and their constructors, at the address from which Relay's examples import them."""

from passlab.ir.expr import Call as Call
from passlab.ir.expr import Constant as Constant
from passlab.ir.expr import Expr as Expr
from passlab.ir.expr import Function as Function
from passlab.ir.expr import GlobalVar as GlobalVar
from passlab.ir.expr import If as If
from passlab.ir.expr import Let as Let
from passlab.ir.expr import RefCreate as RefCreate
from passlab.ir.expr import RefRead as RefRead
from passlab.ir.expr import RefWrite as RefWrite
from passlab.ir.expr import RelayExpr as RelayExpr
from passlab.ir.expr import Tuple as Tuple
from passlab.ir.expr import TupleGetItem as TupleGetItem
from passlab.ir.expr import Var as Var
from passlab.ir.op import Op as Op
from passlab.ir.tuple_wrapper import TupleWrapper as TupleWrapper
from passlab.ir.variables import bind as bind
from passlab.relay.base import Span as Span
from passlab.relay.base import astext as astext
from passlab.relay.base import pretty_print as pretty_print
from passlab.relay.var_const import const as const
from passlab.relay.var_const import var as var
