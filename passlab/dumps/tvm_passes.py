"""The passes of TVM that run others, and the verdicts that these leave open.

A pass has one heading, before or after it, and the passes inside it have theirs above or below.
"""

from __future__ import annotations

import re

from passlab.dumps.step import Step

# Passes of TVM, as its own instruments see them: those that run no other, those that change nothing themselves, and
# what some that do change the program run.
LEAVES = re.compile(
    "FoldConstant|LegalizeOps|AnnotateTIROpPattern|FuseOps|NormalizeGlobalVar|RewriteDataflowReshape|ToNonDataflow"
    "|RemovePurityChecking|CallTIRRewrite|StaticPlanBlockMemory|RewriteCUDAGraph|LowerAllocTensor|KillAfterLastUse"
    "|LowerRuntimeBuiltin|VMShapeLower|AttachGlobalSymbol|AttachExternModules|EliminateCommonSubexpr|Normalize"
    "|FuseTIRInner|ExpandTupleArgumentsInner|RemoveUnusedParameters|CanonicalizeTIRVariables"
    "|CanonicalizeRelaxBindings|DeadCodeElimination|ComputePrimValue"  # the last one runs a pass on another program
    r"|(?:s_tir|tirx?)\.(?!HoistIfThenElse\Z|SplitHostDevice\Z|Filter\Z)\w+"
)
_RUNS = re.compile(r"(?i:sequential|\w*pipeline)|FuseTIR|ExpandTupleArguments|CanonicalizeBindings")
_INSIDE = dict.fromkeys(("ComputePrimValue", "DispatchSampling", "DispatchSortScan"), ("NormalizeGlobalVar",)) | {
    f"{dialect}.{name}": inside
    for name, inside in (
        ("HoistIfThenElse", ("s_tir.InsertHoistIfThenElse", "s_tir.StmtSimplify", "tirx.RemoveNoOp")),
        ("SplitHostDevice", ("tirx.ConvertSSA",)),
        ("Filter", ()),  # of the functions of one program, the host's and the device's are two others
    )
    for dialect in ("s_tir", "tirx")
}


def judge_nested(steps: list[Step], begins: bool, around: set[str]) -> None:
    """Withdraw verdicts of TVM's passes that a pass around them may have, where each has one heading, before or after.

    In a dump of begins, a pass may run the next one where both have the same text. `around` has a name without a
    pass where lines of the dump are missing.
    """
    for step in steps if begins else reversed(steps):
        if begins and step.verdict == "unchanged" and not LEAVES.fullmatch(step.name):
            step.verdict, step.note = "unknown", "it may run the passes below; the dump does not say where it ends"
        elif step.verdict == "changed" and any(step.name in _INSIDE.get(name, (step.name,)) for name in around):
            step.verdict, step.note = "unknown", "it may be the work of a pass around it"
        elif begins and step.verdict == "changed" and step.name in _INSIDE:
            step.verdict, step.note = "unknown", "the text below may be another program, which it made for itself"
        is_known = LEAVES.fullmatch(step.name) or _RUNS.fullmatch(step.name)
        if step.name in _INSIDE or not is_known:
            around.add(step.name)
