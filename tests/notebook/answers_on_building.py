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
    "04b-tracing-python": [
        (("6", "2 * 3", "sum([2, 2, 2])"), ("2", "3", "7", "8", "4", "5.5", "'6'")),
        changed(
            "04b",
            2,
            (
                ("Number(relay.negative(self.expr))", "Number(relay.multiply(self.expr, relay.const(-1.0)))"),
                ("relay.const(float(part))", "relay.const(np.float32(part))"),
            ),
            (
                ("self.combined(relay.subtract, other, self)", "self.combined(relay.subtract, self, other)"),
                ("__radd__, __rmul__ = __add__, __mul__", ""),
                ("relay.divide, self, other", "relay.divide, other, self"),
                ("relay.negative(self.expr)", "self.expr"),
                ("relay.multiply, self, other", "relay.add, self, other"),
                ("    def __rsub__(self, other):\n        return self.combined(relay.subtract, other, self)\n", ""),
                ("    def __neg__(self):\n        return Number(relay.negative(self.expr))\n", ""),
            ),
        ),
        changed(
            "04b",
            3,
            (("x * 0.1", "x * float(0.1)"), ("where(x > 0.0, x, x * 0.1)", "where(x * 3.0 > 0.0, x, x * 0.1)")),
            (
                ("x > 0.0, x, x * 0.1", "x > 0.0, x * 0.1, x"),
                ("x * 0.1)", "0.0)"),
                ("x > 0.0", "x > 1.0"),
                ("where(x > 0.0, x, x * 0.1)", "x"),
                ("where(x > 0.0, x, x * 0.1)", "x * 0.1"),
                ("where(x > 0.0, x, x * 0.1)", "x if x > 0.0 else x * 0.1"),
                ("where(x > 0.0, x, x * 0.1)", "0.0"),
            ),
        ),
    ],
    "19b-search-and-e-graphs": [
        (
            (
                "['regroup', 'one', 'times one', 'shift']",
                "('regroup', 'one', 'times one', 'shift')",
                "'regroup,one,times one,shift'.split(',')",
            ),
            (
                "list(RULES)",
                "['regroup', 'one', 'shift', 'times one'][::-1]",
                "['regroup', 'one', 'times one']",
                "['one', 'regroup', 'times one', 'shift']",
                "['shift', 'regroup', 'one', 'times one']",
                "['x']",
            ),
        ),
        changed(
            "19b",
            2,
            (
                ("parent[find(one)] = find(other)", "parent[find(other)] = find(one)"),
                ("parent.get(number, number) != number", "number in parent and parent[number] != number"),
            ),
            (
                ("parent[find(one)] = find(other)", "parent[one] = other"),
                ("parent[find(one)] = find(other)", "parent[find(one)] = other"),
                ("return find(a) == find(b)", "return (a, b) in pairs or a == b"),
                ("return find(a) == find(b)", "return find(a) == b"),
                (
                    "while parent.get(number, number) != number:\n            number = parent[number]",
                    "number = parent.get(number, number)",
                ),
                ("return find(a) == find(b)", "return a in parent and find(a) == find(b)"),
            ),
        ),
        changed(
            "19b",
            3,
            (
                ("op, *parts = term", "op, parts = term[0], term[1:]"),
                (
                    "costs[op] + sum(cost_of(part, costs) for part in parts)",
                    "sum((cost_of(part, costs) for part in parts), costs[op])",
                ),
            ),
            (
                ("costs[op] + sum", "sum"),
                ("return 0", "return 1"),
                ("sum(cost_of(part, costs) for part in parts)", "max(cost_of(part, costs) for part in parts)"),
                ("sum(cost_of(part, costs) for part in parts)", "cost_of(parts[0], costs)"),
                ("costs[op] + sum(cost_of(part, costs) for part in parts)", "costs[op]"),
                ("costs[op] +", "3 +"),
            ),
        ),
    ],
    "19c-a-model-from-outside": [
        changed(
            "19c",
            1,
            (
                ("{weight.name for weight in model.graph.initializer}", "[w.name for w in model.graph.initializer]"),
                ("return inputs, [", "return tuple(inputs), ["),
            ),
            (
                (" if value.name not in weights", ""),
                ("value.name not in weights", "value.name in weights"),
                ("return inputs, [", "return sorted(inputs), ["),
                ("return inputs, [value.name for value in model.graph.output]", "return inputs, inputs"),
                ("return inputs, [", "return [*weights], ["),
            ),
        ),
        changed(
            "19c",
            2,
            (
                ("int(np.prod(call.checked_type.concrete_shape))", "int(np.prod(call.checked_type.shape))"),
                ("isinstance(node, relay.Call)", "type(node) is relay.Call"),
            ),
            (
                ("max(", "sum("),
                ('{"batch": size}', '{"batch": 1}'),
                ("in calls)", "in calls[-1:])"),
                ("in calls)", "in calls[:1])"),
                ("max(", "min("),
            ),
        ),
        changed(
            "19c",
            3,
            (('"vm"', '"debug"'), ("rtol=1e-4, atol=1e-4", "rtol=0, atol=1e-3")),
            (
                ("for model in (one, other)", "for model in (one, one)"),
                ("bool(np.allclose(*results, rtol=1e-4, atol=1e-4))", "True"),
                ("bool(np.allclose", "not bool(np.allclose"),
                ("rtol=1e-4, atol=1e-4", "rtol=100, atol=100"),
                ("for model in (one, other)", "for model in (other, other)"),
            ),
        ),
    ],
}
for _lesson, _answers in PARTS.items():
    ANSWERS.setdefault(_lesson, []).append(_answers)
