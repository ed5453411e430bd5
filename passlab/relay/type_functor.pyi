"""`relay.type_functor`: visitors and mutators of types at the address that Relay's examples use."""

from passlab.ir.functor import TypeFunctor as TypeFunctor
from passlab.ir.functor import TypeMutator as TypeMutator
from passlab.ir.functor import TypeVisitor as TypeVisitor
