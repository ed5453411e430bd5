"""Answers to the lessons on the dumps of other compilers."""

from __future__ import annotations

SCAN = """
def gone(text, unit):
    seen = False
    for step in rec.steps:
        here = text in rec.unit_text(step.number, unit)
        if seen and not here:
            return step.number
        seen = seen or here
gone
"""
BUSIEST = "def f(unit):\n    counts = Counter(step.name for step in rec.{} if {})\n    return {}\nf"
FIRST = "def f(name):\n    for step in rec.steps:\n        if {}:\n            return {}\nf"

TOUCHED = """
def f(name):
    places = [place.split(":") for place in {}]
    return [{} for file, line in places if file == "softmax_triton.py"]
f
"""
COUNT = """
def f(line, stage):
    units = rec.units_at(rec[stage])
    return sum({} for unit in units for places in rec.places(unit, rec[stage]))
f
"""

ANSWERS: dict[str, list[tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "21-llvm": [
        (
            (
                "lambda text, unit: rec.bisect(lambda program: text in program, unit=unit).step.number",
                "import re\nlambda text, unit: rec.bisect(re.escape(text), unit=unit).step.number",
                SCAN,
            ),
            (
                "lambda text, unit: 279",
                "lambda text, unit: rec.bisect(lambda program: text in program, unit=unit)",
                "lambda text, unit: rec.bisect(lambda program: text in program, unit=unit).step",
                "lambda text, unit: rec.bisect(lambda program: text in program, unit=unit).step.number - 1",
                "lambda text, unit: rec.bisect(lambda program: text in program, unit='classify').step.number",
                "import re\nlambda text, unit: rec.last(re.escape(text)).number + 1",
            ),
        ),
        (
            (
                "lambda name: sum(step.name == name for step in rec.changed)",
                "lambda name: len([step for step in rec.steps if step.name == name and step.verdict == 'changed'])",
                "from collections import Counter\nCounter(step.name for step in rec.changed).__getitem__",
            ),
            (
                "lambda name: sum(step.name == name for step in rec.steps)",
                "lambda name: len(rec.changed)",
                "lambda name: sum(name in step.name for step in rec.steps)",
                "lambda name: any(step.name == name for step in rec.changed)",
                "lambda name: [step for step in rec.changed if step.name == name]",
                "lambda name: {'SROAPass': 5, 'SimplifyCFGPass': 12}.get(name)",
            ),
        ),
        (
            (
                BUSIEST.format("changed", "step.unit == unit", "counts.most_common(1)[0][0]"),
                BUSIEST.format(
                    "steps", "step.unit == unit and step.verdict == 'changed'", "max(counts, key=counts.get)"
                ),
                "lambda unit: sorted(names := [s.name for s in rec.changed if s.unit == unit], key=names.count)[-1]",
            ),
            (
                "lambda unit: 'InstCombinePass'",
                "lambda unit: 'LCSSAPass'",
                BUSIEST.format("changed", "True", "counts.most_common(1)[0][0]"),
                BUSIEST.format("changed", "step.unit == unit", "counts.most_common(1)[0]"),
                BUSIEST.format("changed", "step.unit == unit", "counts.most_common()[-1][0]"),
                BUSIEST.format(
                    "steps", "step.unit == unit and step.verdict == 'unchanged'", "max(counts, key=counts.get)"
                ),
            ),
        ),
    ],
    "22-todays-tvm": [
        (
            (
                r"lambda name: rec.first(rf'def {name}\(').number",
                FIRST.format("f'def {name}(' in step.after", "step.number"),
                "lambda name: next(s.number for s in rec.steps if f' {name}(' in s.after and f'def {name}(' in s.after)",
            ),
            (
                "lambda name: rec.first(name).number",
                "lambda name: 5",
                r"lambda name: rec.first(rf'def {name}\(')",
                r"lambda name: rec.first(rf'def {name}\(').number + 1",
                r"lambda name: rec.last(rf'def {name}\(').number",
                FIRST.format("name in step.after", "step.number"),
            ),
        ),
        (
            (
                "lambda verdict: [step.number for step in rec.steps if step.verdict == verdict]",
                "lambda verdict: list(rec.frame().query('verdict == @verdict')['step'])",
                "lambda verdict: [s.number for s in filter(lambda s: s.verdict == verdict, rec.steps)]",
            ),
            (
                "lambda verdict: sum(step.verdict == verdict for step in rec.steps)",
                "lambda verdict: [step for step in rec.steps if step.verdict == verdict]",
                "lambda verdict: [step.name for step in rec.steps if step.verdict == verdict]",
                "lambda verdict: [step.number for step in rec.steps if step.verdict != verdict]",
                "lambda verdict: [step.number for step in rec.changed]",
                "lambda verdict: [step.number for step in rec.steps if step.verdict == verdict][::-1]",
            ),
        ),
        (
            (
                "lambda text: rec.last(re.escape(text)).number + 1",
                "lambda text: next(s.number for s in reversed(rec.steps) if text in s.before and text not in s.after)",
                "lambda text: 1 + max(step.number for step in rec.steps if text in step.after)",
            ),
            (
                "lambda text: 2",
                "lambda text: rec.last(re.escape(text)).number",
                "lambda text: rec.first(re.escape(text)).number",
                "lambda text: rec.last(re.escape(text))",
                "lambda text: rec.last(re.escape(text)).number + 2",
                "lambda text: len(rec.steps)",
            ),
        ),
    ],
    "22b-a-triton-kernel": [
        (
            (
                "lambda line, stage: len(rec.lines_of(f'softmax_triton.py:{line}', step=stage))",
                "lambda line, stage: len(rec.lines_of(f'softmax_triton.py:{line}', step=rec[stage]).rows)",
                COUNT.format("f'softmax_triton.py:{line}' in places"),
            ),
            (
                "lambda line, stage: len(rec.lines_of(f'softmax_triton.py:{line}'))",
                "lambda line, stage: rec.lines_of(f'softmax_triton.py:{line}', step=stage)",
                "lambda line, stage: len(rec.lines_of(f'softmax_triton.py:{line}', step='SASS'))",
                COUNT.format("places and places[0] == f'softmax_triton.py:{line}'"),
                "lambda line, stage: len(rec.lines_of(f'softmax_triton.py:{line}', step=stage)) + 1",
            ),
        ),
        (
            (
                "lambda line: [step.name for step in rec.steps_of(f'softmax_triton.py:{line}')]",
                "lambda line: [step.name for step in rec.steps if f'softmax_triton.py:{line}' in step.places]",
                "lambda line: [*map(lambda step: step.name, rec.steps_of(f'triton.py:{line}'.replace('t', 'softmax_t', 1)))]",
            ),
            (
                "lambda line: rec.steps_of(f'softmax_triton.py:{line}')",
                "lambda line: [step.number for step in rec.steps_of(f'softmax_triton.py:{line}')]",
                "lambda line: [step.name for step in rec.changed]",
                "lambda line: sorted(step.name for step in rec.steps_of(f'softmax_triton.py:{line}'))",
                "lambda line: [step.name for step in rec.steps_of(f'softmax_triton.py:{line}')][:-1]",
            ),
        ),
        (
            (
                "lambda name: [int(at.split(':')[1]) for at in rec[name].places if at.startswith('softmax')]",
                TOUCHED.format("rec[name].places", "int(line)"),
                "lambda name: [n for n in range(1, 99) if f'softmax_triton.py:{n}' in rec[name].places]",
            ),
            (
                "lambda name: rec[name].places",
                "lambda name: [int(at.split(':')[1]) for at in rec[name].places]",
                TOUCHED.format("rec[name].places", "line"),
                TOUCHED.format("rec.where(name=name)[-1].places", "int(line)"),
                "lambda name: [16, 19]",
            ),
        ),
    ],
}
