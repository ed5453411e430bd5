"""Answers to the tour, to the lessons on loops, tracing, dataflow and search, and to the parts of one's own compiler."""

from __future__ import annotations

from tests.notebook.answers_on_own import ANSWERS as PARTS
from tests.notebook.answers_on_own import changed

TOUR = "passlab.parse('def @main(%x: Tensor[(1, 8), float32], %w: Tensor[{}, float32]) {{ {} }}')"
ALONE = 'mine.replaced("fuse", lambda program, shapes: [[step.name] for step in program.steps]).build(TEXT, weights, IMAGE, "alone")'
STEPS = '[Step("a", "exp", ("data",), {{}}), {}]'
Answers = dict[str, list[tuple[tuple[str, ...], tuple[str, ...]]]]

ANSWERS: Answers = {
    "01-tour": [
        (
            (
                TOUR.format("(4, 8)", "nn.relu(nn.dense(%x, %w))"),
                TOUR.format("(4, 8)", "let %y = nn.dense(%x, %w, units=4); nn.relu(%y)"),
                TOUR.format("(4, 8)", "%0 = nn.dense(%x, %w); nn.relu(%0)"),
            ),
            (
                TOUR.format("(5, 8)", "nn.relu(nn.dense(%x, %w))"),
                TOUR.format("(8, 8)", "nn.relu(nn.dense(%x, %w))"),
                TOUR.format("(4, 8)", "nn.dense(%x, %w)"),
                TOUR.format("(4, 8)", "nn.relu(nn.relu(nn.dense(%x, %w)))"),
                TOUR.format("(4, 8)", "nn.dense(nn.relu(%x), %w)"),
                TOUR.format("(4, 8)", "nn.dense(%x, nn.relu(%w))"),
                TOUR.replace("8", "7").format("(4, 7)", "nn.relu(nn.dense(%x, %w))"),
            ),
        )
    ],
    "09b-dataflow-analysis": [
        (
            ("{'n', 's'}", "['s', 'n']", "frozenset('ns')"),
            ("{'n'}", "{'s'}", "{'n', 's', 't'}", "set()", "{'n', 't'}", "['head']"),
        ),
        changed(
            "09b",
            2,
            (('if a == b or b == "none":', 'if b in (a, "none"):'), ('return "any"', 'return "an" + "y"')),
            (
                ('if a == b or b == "none":', "if a == b:"),
                ('return "any"', 'return "none"'),
                ('    if a == "none":\n        return b\n', ""),
                ('b == "none":\n        return a', 'b == "none":\n        return b'),
                ("a == b or ", ""),
                ('return "any"', "return max(a, b, key=str)"),
            ),
        ),
        changed(
            "09b",
            3,
            (
                ("(now - {target}) | set(reads)", "now.difference([target]).union(reads)"),
                ("found.add((label, number))", "found |= {(label, number)}"),
            ),
            (
                ("(now - {target}) | set(reads)", "now | set(reads)"),
                ("(now - {target}) | set(reads)", "(now | set(reads)) - {target}"),
                ("target is not None and ", ""),
                ("set().union(*(live[block] for block in after))", "live[label]"),
                ("reversed(list(enumerate(lines)))", "enumerate(lines)"),
                ("target not in now", "target in now"),
                ("set().union(*(live[block] for block in after))", "set()"),
            ),
        ),
    ],
    "15b-loops": [
        (
            ("'jki'", "'j' + 'ki'", "''.join(['j', 'k', 'i'])"),
            ("'kji'", "'ijk'", "'ikj'", "'jjj'", "'jk'", "'JKI'", "'kij'"),
        ),
        changed(
            "15b",
            2,
            (
                (
                    "for i0 in range(0, n, tile):\n        for j0",
                    "for i0 in reversed(range(0, n, tile)):\n        for j0",
                ),
                ("yield i, j", "yield (i, j)"),
            ),
            (
                ("min(i0 + tile, n)", "i0 + tile"),
                ("range(0, n, tile):\n        for j0", "range(0, n - tile + 1, tile):\n        for j0"),
                ("yield i, j", "yield i0, j0"),
                ("range(j0, min(j0 + tile, n))", "range(n)"),
                ("range(0, n, tile):\n            for i in", "range(0, n, 1):\n            for i in"),
                (
                    "for i in range(i0, min(i0 + tile, n)):\n                for j in range(j0, min(j0 + tile, n)):",
                    "for i in range(i0, i0 + 1):\n                for j in range(j0, j0 + 1):",
                ),
            ),
        ),
        changed(
            "15b",
            3,
            (("operations / bytes * bandwidth", "bandwidth * operations / bytes"), ("min(peak,", "min(float(peak),")),
            (
                ("min(", "max("),
                ("operations / bytes * bandwidth", "operations * bytes * bandwidth"),
                ("operations / bytes * bandwidth", "operations / bytes"),
                ("operations / bytes * bandwidth", "bytes / operations * bandwidth"),
                ("min(peak, operations / bytes * bandwidth)", "operations / bytes * bandwidth"),
                ("operations / bytes * bandwidth", "operations // bytes * bandwidth"),
            ),
        ),
    ],
    "24-your-own-compiler": [
        (
            (
                f"(len({ALONE}.groups), {ALONE}.bytes_of_buffers)",
                f"[len({ALONE}.groups), {ALONE}.bytes_of_buffers]",
                f"(9, {ALONE}.bytes_of_buffers)",
            ),
            ("(5, 1280)", "(9, 1280)", "(8, 2048)", "(9, 4 * 9)", "(1, 2048)", "(9, 2049)"),
        ),
        (
            (
                "['multiply', 'add', 'nn.relu']",
                "('multiply', 'add', 'nn.relu')",
                "[step.op for step in compiled.groups[0][1:]]",
            ),
            (
                "['nn.relu']",
                "['add', 'nn.relu']",
                "['nn.conv2d', 'multiply', 'add', 'nn.relu']",
                "['add', 'multiply', 'nn.relu']",
                "['multiply', 'add']",
                "'multiply'",
            ),
        ),
        (
            (
                STEPS.format(
                    'Step("b", "tanh", ("a",), {}), Step("c", "nn.softmax", ("a",), {}), Step("d", "add", ("b", "c"), {})'
                ),
                STEPS.format(
                    'Step("b", "nn.softmax", ("a",), {}), Step("c", "tanh", ("a",), {}), Step("d", "multiply", ("c", "b"), {})'
                ),
                STEPS.format(
                    'Step("b", "negative", ("a",), {}), Step("c", "nn.softmax", ("a",), {}), Step("d", "subtract", ("c", "b"), {})'
                ),
            ),
            (
                STEPS.format(""),
                STEPS.format('Step("b", "tanh", ("a",), {})'),
                STEPS.format('Step("b", "nn.softmax", ("a",), {}), Step("c", "tanh", ("b",), {})'),
                STEPS.format('Step("b", "tanh", ("nowhere",), {})'),
                STEPS.format('Step("b", "nn.unknown", ("a",), {})'),
                STEPS.format('Step("b", "tanh", ("a",), {}), Step("c", "exp", ("b",), {})'),
                '[("a", "exp")]',
            ),
        ),
    ],
}
for _lesson, _answers in PARTS.items():
    ANSWERS.setdefault(_lesson, []).append(_answers)
