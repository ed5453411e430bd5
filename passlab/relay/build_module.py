"""`relay.build_module`: what Relay keeps beside its compiler driver."""

from passlab.executor import build, create_executor
from passlab.transform.parameters import bind_params_by_name

__all__ = ["bind_params_by_name", "build", "create_executor"]
