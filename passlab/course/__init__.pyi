"""The names of `passlab.course`, each written once: type checkers read them here, and so does the package itself."""

from passlab.course.given import lesson_file as lesson_file
from passlab.course.registry import Lesson as Lesson
from passlab.course.registry import Names as Names
from passlab.course.registry import compiler as compiler
from passlab.course.registry import exercise as exercise
from passlab.course.registry import lesson as lesson
from passlab.course.tries import Tries as Tries
from passlab.course.verdicts import DisagreementError as DisagreementError
from passlab.course.verdicts import Exercise as Exercise
from passlab.course.verdicts import Requirement as Requirement
from passlab.course.verdicts import Verdict as Verdict
from passlab.course.verdicts import WrongAnswerError as WrongAnswerError
from passlab.course.verdicts import same as same
