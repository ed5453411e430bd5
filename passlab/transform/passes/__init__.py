"""The standard passes: one pass, one file. A pass is loaded when its name is first used.

`PASSES` maps the name a pass is made by to "module:Class"; `ALIASES` maps other names (Relay's name in `PassInfo`,
where it differs) to that one.
"""

from __future__ import annotations

PASSES: dict[str, str] = {
    "BackwardFoldScaleAxis": "backward_fold_scale_axis:BackwardFoldScaleAxis",
    "CanonicalizeOps": "canonicalize_ops:CanonicalizeOps",
    "DeadCodeElimination": "dead_code_elimination:DeadCodeElimination",
    "EliminateCommonSubexpr": "eliminate_common_subexpr:EliminateCommonSubexpr",
    "FoldConstant": "fold_constant:FoldConstant",
    "FoldScaleAxis": "fold_scale_axis:FoldScaleAxis",
    "ForwardFoldScaleAxis": "forward_fold_scale_axis:ForwardFoldScaleAxis",
    "FuseOps": "fuse_ops:FuseOps",
    "InferType": "infer_type:InferType",
    "SimplifyInference": "simplify_inference:SimplifyInference",
    "ToANormalForm": "to_a_normal_form:ToANormalForm",
    "ToBasicBlockNormalForm": "to_basic_block_normal_form:ToBasicBlockNormalForm",
    "ToGraphNormalForm": "to_graph_normal_form:ToGraphNormalForm",
    "PrintIR": "print_ir:PrintIR",
}

ALIASES: dict[str, str] = {}
