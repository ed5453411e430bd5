"""`OfOneProcess`: objects that are not pickled: an error of passlab says what to pickle instead."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, ClassVar, NoReturn

from passlab.errors import Diagnostic, PasslabError, type_in_words


class OfOneProcess:
    """Base of objects that hold locks, compiled kernels or weak references, which mean nothing in another process.

    A shallow copy shares these; a deep copy is refused where one of them is a lock. `pickled_instead` is the hint.
    """

    pickled_instead: ClassVar[str] = ""

    def __copy__(self) -> OfOneProcess:
        new = object.__new__(type(self))
        vars(new).update(vars(self))
        return new

    def __deepcopy__(self, memo: dict[int, Any]) -> OfOneProcess:
        new = memo[id(self)] = object.__new__(type(self))
        try:
            vars(new).update({name: deepcopy(value, memo) for name, value in vars(self).items()})
        except TypeError:
            self._refuse("copied deeply")
        return new

    def __reduce_ex__(self, protocol: Any) -> Any:
        self._refuse("pickled")

    def _refuse(self, what: str) -> NoReturn:
        message = f"{type_in_words(self)} cannot be {what}: it belongs to one process"
        raise PasslabError(Diagnostic(message, hint=self.pickled_instead))
