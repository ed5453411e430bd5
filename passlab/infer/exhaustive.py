"""Exhaustiveness of `match`: the values that no clause covers.

The clauses form a matrix of patterns, decomposed column by column (Maranget, "Warnings for pattern matching", 2007). A
column in which any row names a constructor (or a tuple) splits the values by constructor, and each part keeps the rows
that still match. A part without rows is a missing case. Rows are linked lists, so that a deep pattern costs no more
than its size.
"""

from __future__ import annotations

from collections import deque

from passlab import limits
from passlab.arguments import checked
from passlab.errors import Diagnostic, LimitError, TypeInferenceError
from passlab.ir.adt import Constructor, Pattern, PatternConstructor, PatternTuple, PatternVar, PatternWildcard
from passlab.ir.expr import Match
from passlab.ir.module import IRModule

# The columns of a row still to be examined, as a linked list: (pattern, rest), or None at the end.
_Row = tuple[Pattern, "_Row"] | None
# The decisions so far, newest first: (a constructor, the size of a tuple, or None for any value; earlier decisions).
_Path = tuple[Constructor | int | None, "_Path"] | None

SHOWN_CASES = 100
_ANYTHING = PatternWildcard()


@checked
def unmatched_cases(match: Match, mod: IRModule | None = None) -> list[Pattern]:
    """Return disjoint patterns that cover all values no clause matches: the simplest first, at most `SHOWN_CASES`.

    `mod` defines the data types. Raises `TypeInferenceError` for a constructor of a type it does not define, and
    `LimitError` if the clauses overlap in too many ways to examine all cases.

    >>> mod = passlab.parse("type B { T, F } def @main(%b: B) { match? (%b) { T => 1 } }")
    >>> [passlab.infer.pattern_text(case) for case in relay.analysis.unmatched_cases(mod["main"].body, mod)]
    ['F']
    """
    if any(isinstance(clause.lhs, (PatternVar, PatternWildcard)) for clause in match.clauses):
        return []
    missing: list[Pattern] = []
    work: deque[tuple[list[_Row], int, _Path]] = deque()
    work.append(([(clause.lhs, None) for clause in match.clauses], 1, None))
    steps = 0
    while work and len(missing) < SHOWN_CASES:
        rows, columns, path = work.popleft()  # the shallowest first: simple cases are found before deep ones
        steps += len(rows) + 1
        if steps > limits.current().match_cases:
            hint = "split it, or raise the limit with `passlab.limits.override(match_cases=...)`"
            raise LimitError(Diagnostic("this match has too many cases to look at", match.span, hint=hint))
        if not rows:
            missing.append(_missing_pattern(path, columns))
        elif columns:
            work += _split(rows, columns, path, mod)
    return missing


def _split(rows: list[_Row], columns: int, path: _Path, mod: IRModule | None) -> list[tuple[list[_Row], int, _Path]]:
    """Split the first column: one part for each shape of value."""
    shape = next((row[0] for row in rows if row and isinstance(row[0], (PatternConstructor, PatternTuple))), None)
    if shape is None:
        return [([row[1] for row in rows if row], columns - 1, (None, path))]
    if isinstance(shape, PatternTuple):
        size = len(shape.patterns)
        return [(_tuple_rows(rows, size), columns - 1 + size, (size, path))]
    owner = shape.constructor.belong_to
    data = mod.find_type(owner.name_hint) if mod is not None else None
    if data is None:
        raise TypeInferenceError(Diagnostic(f"the type variable : `{owner.name_hint}` is undefined", shape.span))
    constructors = data.constructors
    parts = _constructor_rows(rows, constructors)
    return [(matching, columns - 1 + len(c.inputs), (c, path)) for c, matching in zip(constructors, parts, strict=True)]


# An ill-typed pattern matches nothing here; inference reports the error elsewhere.
def _tuple_rows(rows: list[_Row], size: int) -> list[_Row]:
    """Return the rows whose first column matches a tuple, with its fields in place of that column."""
    out: list[_Row] = []
    for row in rows:
        if row and isinstance(row[0], PatternTuple) and len(row[0].patterns) == size:
            out.append(_prepend(row[0].patterns, row[1]))
        elif row and not isinstance(row[0], (PatternConstructor, PatternTuple)):
            out.append(_prepend((_ANYTHING,) * size, row[1]))
    return out


def _constructor_rows(rows: list[_Row], constructors: tuple[Constructor, ...]) -> list[list[_Row]]:
    """Return for each constructor the rows whose first column matches it, with its fields in place of that column.

    Takes time linear in the rows returned, so a clause for each of many constructors costs no more than one of them.
    """
    parts: dict[str, list[_Row]] = {c.name_hint: [] for c in constructors}
    sizes = {c.name_hint: len(c.inputs) for c in constructors}
    for row in rows:
        if row is None:
            continue
        first, rest = row
        if isinstance(first, PatternConstructor):
            name = first.constructor.name_hint
            if sizes.get(name) == len(first.patterns):
                parts[name].append(_prepend(first.patterns, rest))
        elif not isinstance(first, PatternTuple):
            for name, matching in parts.items():
                matching.append(_prepend((_ANYTHING,) * sizes[name], rest))
    return list(parts.values())


def _prepend(fields: tuple[Pattern, ...], rest: _Row) -> _Row:
    """Return a row with some columns prepended."""
    for field in reversed(fields):
        rest = (field, rest)
    return rest


def _missing_pattern(path: _Path, columns: int) -> Pattern:
    """Return the pattern that a path of decisions describes; undecided parts are `_`."""
    finished: list[Pattern] = [_ANYTHING] * columns  # finished patterns to the right of the current one, leftmost last
    while path is not None:
        shape, path = path
        size = 0 if shape is None else shape if isinstance(shape, int) else len(shape.inputs)
        fields = [finished.pop() for _ in range(size)]
        if shape is None:
            finished.append(_ANYTHING)
        else:
            finished.append(PatternTuple(fields) if isinstance(shape, int) else PatternConstructor(shape, fields))
    return finished[0]


def pattern_text(root: Pattern) -> str:
    """Return a pattern as Relay text, with `_` for every variable.

    >>> passlab.infer.pattern_text(relay.PatternTuple([relay.PatternWildcard(), relay.PatternVar(relay.var("x"))]))
    '(_, _)'
    """
    out: list[str] = []
    stack: list[Pattern | str] = [root]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            out.append(item)
        elif isinstance(item, (PatternConstructor, PatternTuple)):
            is_constructor = isinstance(item, PatternConstructor)
            if isinstance(item, PatternConstructor):
                out.append(item.constructor.name_hint)
            if item.patterns or not is_constructor:
                parts: list[Pattern | str] = ["("]
                for i, sub_pattern in enumerate(item.patterns):
                    parts += [", ", sub_pattern] if i else [sub_pattern]
                parts.append(",)" if len(item.patterns) == 1 and not is_constructor else ")")
                stack += reversed(parts)
        else:
            out.append("_")
    return "".join(out)
