"""A dump of TVM with the program before, or after, each pass: any pass may run others, and none says which."""

import random

from passlab.dumps import read_text
from tests.each import each

LEAVES = ("FoldConstant", "FuseTIRInner", "RemoveUnusedParameters")
OTHERS = ("FuseTIR", "sequential", "f_zero_pipeline", "MyPass")
HEAD = '{} Running Pass: transform.PassInfo(opt_level=0, name="{}", required=(), traceable=False)\n'


def dump_of(when, name, version):
    return HEAD.format(when, name) + f"@I.ir_module\nclass Module:\n    def f():\n        return {version}\n\n"


def run(seed, kind):
    """The stream of random passes, nested at will, and whether each changed the program."""
    rng = random.Random(seed)
    out, truth, version = [], [], 0

    def one(depth):
        nonlocal version
        name = rng.choice(LEAVES if depth > 2 or rng.random() < 0.5 else OTHERS)
        before, number = version, len(truth)
        if kind != "After":
            out.append(dump_of("Before", name, version))
            truth.append(None)
        changes = name in (*LEAVES, "MyPass")
        version += changes and rng.random() < 0.3
        for _ in range(0 if name in LEAVES else rng.randrange(4)):
            one(depth + 1)
        version += changes and name not in LEAVES and rng.random() < 0.3
        if kind == "After":
            truth.append((before, version))
            out.append(dump_of("After", name, version))
        else:
            truth[number] = (before, version)

    for _ in range(4):
        one(0)
    return "".join(out), truth


@each("kind", ["Before", "After"])
@each("seed", range(40))
def test_no_verdict_is_false(seed, kind):
    text, truth = run(seed, kind)
    recording = read_text(text)
    assert len(recording.steps) == len(truth)
    for step, (before, after) in zip(recording.steps, truth, strict=True):
        if step.verdict != "unknown":
            assert (step.verdict == "changed") == (before != after), (step, before, after)


def test_passes_that_run_no_others_have_their_verdicts():
    text = "".join(
        dump_of("Before", name, version)
        for name, version in (("sequential", 0), ("FoldConstant", 0), ("LegalizeOps", 0), ("FuseOps", 1), ("Z", 1))
    )
    assert [step.verdict for step in read_text(text)] == ["unknown", "unchanged", "changed", "unchanged", "unknown"]
