"""The data types of Relay and the patterns that match them, at the address from which Relay's examples import them."""

from passlab.ir.adt import Clause as Clause
from passlab.ir.adt import Constructor as Constructor
from passlab.ir.adt import Pattern as Pattern
from passlab.ir.adt import PatternConstructor as PatternConstructor
from passlab.ir.adt import PatternTuple as PatternTuple
from passlab.ir.adt import PatternVar as PatternVar
from passlab.ir.adt import PatternWildcard as PatternWildcard
from passlab.ir.adt import TypeData as TypeData
from passlab.ir.expr import Match as Match
