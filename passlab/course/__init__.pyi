"""The names of `passlab.course`, each written once: type checkers read them here, and so does the package itself."""

from passlab.course.exercise import DisagreementError as DisagreementError
from passlab.course.exercise import Exercise as Exercise
from passlab.course.exercise import Requirement as Requirement
from passlab.course.exercise import Verdict as Verdict
from passlab.course.exercise import same as same
