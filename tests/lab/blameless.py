"""Nothing that is right is blamed: random programs through `lab.culprit`, each with some standard passes and executors.

    nice -n 15 python -m tests.lab.blameless 10000 --first 0 --log blameless.jsonl

Each line of the log is one blame; the last words on the screen count programs, steps that were compared, and blames. A
log that exists is gone on with. Not part of the suite, which runs a few of these programs (`test_blameless`).
"""

from __future__ import annotations

import argparse
import json
import random
import time
from pathlib import Path
from typing import Any

from passlab import lab
from passlab.errors import PasslabError
from passlab.testing.programs import generate

PASSES = (
    "SimplifyInference", "FoldConstant", "SimplifyExpr", "EliminateCommonSubexpr", "CanonicalizeOps", "FoldScaleAxis",
    "BackwardFoldScaleAxis", "ForwardFoldScaleAxis", "DeadCodeElimination", "DeadCodeElimination(inline_once=True)",
    "FuseOps", "ToANormalForm", "ToGraphNormalForm", "ToBasicBlockNormalForm", "PartialEvaluate", "LambdaLift", "Inline",
    "EtaExpand(expand_constructor=True)", "CombineParallelDense", "CombineParallelDense(to_batch=False)",
    "CombineParallelConv2d", "CombineParallelBatchMatmul", "DynamicToStatic", "DivToMul", "CanonicalizeCast",
    "FoldExplicitPadding", "FlattenAtrousConv", "SplitArgs(max_function_args=3)", "Legalize", "RemoveUnusedFunctions",
    "ToMixedPrecision", "FakeQuantizationToInteger", "FastMath", "QnnLegalize", "QnnCanonicalizeOps",
    'ConvertLayout(desired_layouts={"nn.conv2d": ["NHWC", "default"]})', "DefuseOps", "LazyGradientInit",
    "ToCPS", "Defunctionalization",
)  # fmt: skip
EXECUTORS = ("definition", "vm", "aot", "graph")


def question(seed: int) -> tuple[Any, str, tuple[str, ...]]:
    """Return the program of a seed, the pipeline that it goes through, and the executors that are compared on it."""
    choice = random.Random(f"blameless {seed}")
    mod = generate(seed, effects=choice.random() < 0.4, size=choice.choice((1, 2, 4, 6)))
    passes = choice.sample(PASSES, choice.randrange(2, 6))
    return mod, ", ".join(["InferType", *passes]), (choice.choice(EXECUTORS),)


def blame(seed: int) -> tuple[dict[str, Any] | None, int]:
    """Return what is blamed on the program of a seed (None: nothing), and how many steps were compared."""
    try:
        mod, pipeline, executors = question(seed)
        culprit = lab.culprit(mod, pipeline, opt_level=4, executors=executors, seconds=20.0)
    except PasslabError as error:
        return {"seed": seed, "refused": str(error).split("\n", 1)[0]}, 0
    if culprit.event is not None and isinstance(culprit.event.error, PasslabError):  # it may refuse a program
        return {"seed": seed, "pipeline": pipeline, "refused": culprit.name}, 0
    if culprit.found:
        return {"seed": seed, "pipeline": pipeline, "blamed": culprit.name, "said": culprit.summary()}, 0
    return None, len(culprit.coverage.comparisons)


def main() -> None:
    """Ask about many programs, and write down what is blamed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("count", type=int)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--log", type=Path, default=Path("blameless.jsonl"))
    options = parser.parse_args()
    started, compared, blamed, refused = time.monotonic(), 0, 0, 0
    with options.log.open("a", encoding="utf-8") as log:
        for seed in range(options.first, options.first + options.count):
            row, steps = blame(seed)
            compared += steps
            if row is not None:
                blamed, refused = blamed + ("blamed" in row), refused + ("refused" in row)
                log.write(json.dumps(row) + "\n")
            log.flush()
            if seed % 50 == 49:
                passed = time.monotonic() - started
                count = seed + 1 - options.first
                text = f"{count:,} programs, {compared:,} steps compared, {refused} refused, {blamed} blamed"
                print(f"{text}, {passed:.0f} s, {time.process_time():.0f} s of the processor", flush=True)


if __name__ == "__main__":
    main()
