"""`relay.build_module`: what Relay keeps beside its compiler driver."""

from passlab.executor import create_executor
from passlab.transform.parameters import bind_params_by_name

__all__ = ["bind_params_by_name", "create_executor"]
