"""The standard passes: one pass, one file. A pass is loaded when its name is first used.

`PASSES` maps the name a pass is made by to "module:Class"; `ALIASES` maps other names (Relay's name in `PassInfo`,
where it differs) to that one. `FUNCTIONS` maps names of plain functions beside the passes to "module:function".
"""

from __future__ import annotations

PASSES: dict[str, str] = {
    "AnnotateTarget": "annotate_target:AnnotateTarget",
    "BackwardFoldScaleAxis": "backward_fold_scale_axis:BackwardFoldScaleAxis",
    "BatchingOps": "batching_ops:BatchingOps",
    "CanonicalizeCast": "canonicalize_cast:CanonicalizeCast",
    "CanonicalizeOps": "canonicalize_ops:CanonicalizeOps",
    "CombineParallelBatchMatmul": "combine_parallel_batch_matmul:CombineParallelBatchMatmul",
    "CombineParallelConv2D": "combine_parallel_conv2d:CombineParallelConv2D",
    "CombineParallelDense": "combine_parallel_dense:CombineParallelDense",
    "ConvertLayout": "convert_layout:ConvertLayout",
    "DeadCodeElimination": "dead_code_elimination:DeadCodeElimination",
    "DefuseOps": "defuse_ops:DefuseOps",
    "DivToMul": "div_to_mul:DivToMul",
    "DynamicToStatic": "dynamic_to_static:DynamicToStatic",
    "EliminateCommonSubexpr": "eliminate_common_subexpr:EliminateCommonSubexpr",
    "EtaExpand": "eta_expand:EtaExpand",
    "FakeQuantizationToInteger": "fake_quantization_to_integer:FakeQuantizationToInteger",
    "FastMath": "fast_math:FastMath",
    "FirstOrderGradient": "first_order_gradient:FirstOrderGradient",
    "FlattenAtrousConv": "flatten_atrous_conv:FlattenAtrousConv",
    "FoldConstant": "fold_constant:FoldConstant",
    "FoldExplicitPadding": "fold_explicit_padding:FoldExplicitPadding",
    "FoldScaleAxis": "fold_scale_axis:FoldScaleAxis",
    "ForwardFoldScaleAxis": "forward_fold_scale_axis:ForwardFoldScaleAxis",
    "FuseOps": "fuse_ops:FuseOps",
    "InferType": "infer_type:InferType",
    "Inline": "inline:Inline",
    "LambdaLift": "lambda_lift:LambdaLift",
    "LowerTE": "lower_te:LowerTE",
    "ManifestAlloc": "manifest_alloc:ManifestAlloc",
    "MemoryPlan": "memory_plan:MemoryPlan",
    "MergeCompilerRegions": "merge_compiler_regions:MergeCompilerRegions",
    "MergeComposite": "merge_composite:MergeComposite",
    "PartialEvaluate": "partial_evaluate:PartialEvaluate",
    "ManifestLifetimes": "manifest_lifetimes:ManifestLifetimes",
    "PartitionGraph": "partition_graph:PartitionGraph",
    "PlanDevices": "plan_devices:PlanDevices",
    "PrintIR": "print_ir:PrintIR",
    "RemoveUnusedFunctions": "remove_unused_functions:RemoveUnusedFunctions",
    "SimplifyExpr": "simplify_expr:SimplifyExpr",
    "SimplifyInference": "simplify_inference:SimplifyInference",
    "ToANormalForm": "to_a_normal_form:ToANormalForm",
    "ToBasicBlockNormalForm": "to_basic_block_normal_form:ToBasicBlockNormalForm",
    "ToGraphNormalForm": "to_graph_normal_form:ToGraphNormalForm",
    "ToMixedPrecision": "to_mixed_precision:ToMixedPrecision",
}

ALIASES: dict[str, str] = {
    "PartialEval": "PartialEvaluate",
    " FoldExplicitPadding": "FoldExplicitPadding",
    "InlineGlobals": "Inline",
    "CombineParallelConv2d": "CombineParallelConv2D",
}

FUNCTIONS: dict[str, str] = {
    "FoldConstantExpr": "expressions:fold_constants",
    "LayoutConfig": "layout_config:LayoutConfig",
    "InferTypeLocal": "expressions:type_of",
    "ToANormalFormExpr": "expressions:in_a_normal_form",
    "gradient": "derivatives:gradient",
}
