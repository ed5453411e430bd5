"""The ways to run a module, behind one door: `create_executor`."""

from passlab.executor.create import Executor, create_executor

__all__ = ["Executor", "create_executor"]
