"""Answers to the parts of one's own compiler: right ones, and each with one mistake."""

from __future__ import annotations

from passlab.course.registry import TASKS, tasks_of

Pairs = tuple[tuple[str, str], ...]


def changed(label: str, number: int, right: Pairs, wrong: Pairs) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The solution in other words, and with mistakes: each pair is a piece of it and what stands there instead."""
    tasks_of(label)
    body, _, name = TASKS[label, number].solution.rpartition("answer_")
    source = f"{body}{name.partition(' = ')[2]}"
    for old, _ in (*right, *wrong):
        assert old in source, (label, old)
    return (source, *(source.replace(*pair) for pair in right)), tuple(source.replace(*pair) for pair in wrong)


ANSWERS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "02-reading-relay": changed(
        "02",
        5,
        (("call.strip()", "' '.join(call.split())"), ('name or "result"', 'name if name else "result"')),
        (
            ('or "result"', 'or "last"'),
            ('r"%(\\w+)"', 'r"%([\\w.]+)"'),
            ("ast.literal_eval(value)", "value"),
            ("(\\[[^\\]]*\\]|[^,\\[\\]]+)", "([^,]+)"),
            ('name or "result", op', 'name or "result", op.removeprefix("nn.")'),
            ("if match:", "if match and match[1]:"),
        ),
    ),
    "03-types-by-hand": changed(
        "03",
        5,
        (
            ("math.prod(first[1:])", "int(np.prod(first[1:]))"),
            ('("nn.bias_add", "nn.batch_norm")', '("nn.bias_add", "nn.batch_norm", "nn.softmax", "nn.relu")'),
        ),
        (
            ("- rows + 1", "- rows"),
            ("(height - rows) // down + 1", "height // down"),
            ('shapes[1][0])\n    if op == "exp', 'shapes[0][1])\n    if op == "exp'),
            ("[0, 0, 0, 0]", "[1, 1, 1, 1]"),
            ("return np.broadcast_shapes(*shapes)", "return first"),
            ("height + top + bottom", "height + top + top"),
            ('(1,) * attrs.get("num_newaxis", 1)', "(1,)"),
        ),
    ),
    "05-constant-folding": changed(
        "05",
        5,
        (
            ("weights, left = dict(program.weights), []", "left = []\n    weights = {**program.weights}"),
            ("if step is program.steps[-1] or", "if step.name == program.steps[-1].name or"),
        ),
        (
            ("step is program.steps[-1] or ", ""),
            ("dict(program.weights)", "program.weights"),
            ("if isinstance(arg, str) else arg", "if isinstance(arg, str) else None"),
            ("any(value", "all(value"),
            ("weights.get(arg)", "program.weights.get(arg)"),
            ("return program._replace(steps=left, weights=weights)", "return left, weights"),
        ),
    ),
    "06-pattern-rewriting": changed(
        "06",
        5,
        (
            ('f"{name}_scale"', 'f"{name}_times"'),
            ('"expand_dims", (f"{name}_scale",), spread', '"expand_dims", (f"{name}_scale",), dict(spread)'),
        ),
        (
            ("1e-5", "0.0"),
            ('step.attrs.get("epsilon", 1e-5)', "1e-5"),
            ('"divide", (gamma, f"{name}_b")', '"multiply", (gamma, f"{name}_b")'),
            ('Step(f"{name}_b", "sqrt", (f"{name}_a",), {}),', 'Step(f"{name}_b", "exp", (f"{name}_a",), {}),'),
            ('(beta, f"{name}_c")', '(f"{name}_c", beta)'),
            ('{"axis": 1, "num_newaxis": 2}', '{"axis": 0, "num_newaxis": 2}'),
            ('Step(name, "add", (f"{name}_f"', 'Step(f"{name}_g", "add", (f"{name}_f"'),
        ),
    ),
    "07-pass-manager": changed(
        "07",
        5,
        (
            (
                '"unchanged" if after.steps == program.steps else "changed"',
                '"changed" if list(after.steps) != list(program.steps) else "unchanged"',
            ),
            ("known = {*after.inputs, *after.weights}", "known = set(after.inputs) | set(after.weights)"),
        ),
        (
            ("after.steps == program.steps", "after is program"),
            ("after.steps == program.steps", "len(after.steps) == len(program.steps)"),
            ("raise ValueError", "raise KeyError"),
            ('f"after {name}, nothing', 'f"nothing'),
            ('log.append((name, "skipped"))\n            ', ""),
            ("            continue\n", ""),
        ),
    ),
    "09-normal-forms": changed(
        "09",
        5,
        (
            ("live.insert(0, step)", "live = [step, *live]"),
            ("repr(sorted(step.attrs.items()))", "str(sorted(step.attrs.items(), key=str))"),
        ),
        (
            ("if step.name in needed:", "if True:"),
            ("if key not in seen:", "if True:"),
            ("key = (step.op, args,", "key = (step.op,"),
            ('f"v{len(seen)}"', 'f"w{len(seen)}"'),
            ("names.get(arg, arg) for arg", "arg for arg"),
            ("key = (step.op, args, repr", "key = (args, repr"),
        ),
    ),
    "10-operator-fusion": changed(
        "10",
        5,
        (
            (
                "group = group_of[first] if joins else []",
                "group = []\n        if joins:\n            group = group_of[first]",
            ),
            (
                "sorted(groups, key=lambda group: place[group[-1]])",
                "sorted(groups, key=lambda names: max(place[name] for name in names))",
            ),
        ),
        (
            ("return sorted(groups, key=lambda group: place[group[-1]])", "return groups"),
            (" and uses[first] == 1", ""),
            (" and shapes[first] == shapes[step.name]", ""),
            ("step.op in ELEMENTWISE and ", ""),
            ("joins = step.op", "joins = False and step.op"),
            ("first = step.args[0]", "first = step.args[-1]"),
        ),
    ),
    "15-memory": changed(
        "15",
        4,
        (
            ("free[0]", "free[-1]"),
            ("sorted(lives, key=lambda life: life.born)", "sorted(lives, key=lambda life: (life.born, life.dies))"),
        ),
        (
            ("end < life.born", "end <= life.born"),
            ("sorted(lives, key=lambda life: life.born)", "lives"),
            ("if not free:", "if True:"),
            ("end < life.born", "False"),
            ("free_from[free[0]] = life.dies", "free_from[free[0]] = life.born"),
            ("free_from[free[0]] = life.dies", "pass"),
        ),
    ),
    "15b-loops": changed(
        "15b",
        4,
        (
            ("for index, size in zip(indices, shape):", "for index, size in zip(indices, tuple(shape)):"),
            (
                '", ".join([variable(arg) for arg in arguments_of(steps)] + ["out"])',
                '", ".join([*map(variable, arguments_of(steps)), "out"])',
            ),
        ),
        (
            ("range({size})", "range(1)"),
            ("body.append(f\"out[{', '.join(indices)}] = value\")", 'body.append("out[...] = value")'),
            ("steps[1:]]", "steps[2:]]"),
            ("indent + line for line in body", "line for line in body"),
            ('+ ["out"]', ""),
            ('f"def {name}', 'f"def kernel'),
        ),
    ),
}
