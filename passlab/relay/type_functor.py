"""`relay.type_functor`: visitors and mutators of types at the address that Relay's examples use."""

from passlab.ir.functor import TypeFunctor, TypeMutator, TypeVisitor

__all__ = ["TypeFunctor", "TypeMutator", "TypeVisitor"]
