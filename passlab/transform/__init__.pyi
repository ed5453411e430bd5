"""The names of `passlab.transform`: the pass manager, and every standard pass.

Written from the declarations by `pytest tests/package --bless`; a test holds it to them.
"""

from passlab.passes.external.annotate_target import AnnotateTarget as AnnotateTarget
from passlab.passes.external.inline_compiler_functions_bound_to import (
    InlineCompilerFunctionsBoundTo as InlineCompilerFunctionsBoundTo,
)
from passlab.passes.external.inline_composites import InlineComposites as InlineComposites
from passlab.passes.external.lift_constants import LiftConstants as LiftConstants
from passlab.passes.external.mark_compiler_functions_as_extern import (
    MarkCompilerFunctionsAsExtern as MarkCompilerFunctionsAsExtern,
)
from passlab.passes.external.merge_compiler_regions import MergeCompilerRegions as MergeCompilerRegions
from passlab.passes.external.merge_composite import MergeComposite as MergeComposite
from passlab.passes.external.outline_compiler_functions import (
    OutlineCompilerFunctionsWithExistingGlobalSymbols as OutlineCompilerFunctionsWithExistingGlobalSymbols,
)
from passlab.passes.external.outline_compiler_functions import (
    OutlineCompilerFunctionsWithExistingGlobalSymbols as _OutlineCompilerFunctions,
)
from passlab.passes.external.partition_graph import PartitionGraph as PartitionGraph
from passlab.passes.fold.backward_fold_scale_axis import BackwardFoldScaleAxis as BackwardFoldScaleAxis
from passlab.passes.fold.dynamic_to_static import DynamicToStatic as DynamicToStatic
from passlab.passes.fold.fold_constant import FoldConstant as FoldConstant
from passlab.passes.fold.fold_scale_axis import FoldScaleAxis as FoldScaleAxis
from passlab.passes.fold.forward_fold_scale_axis import ForwardFoldScaleAxis as ForwardFoldScaleAxis
from passlab.passes.fold.partial_evaluate import PartialEvaluate as PartialEvaluate
from passlab.passes.fold.partial_evaluate import PartialEvaluate as _PartialEval
from passlab.passes.functions.continuations import to_cps as to_cps
from passlab.passes.functions.continuations import un_cps as un_cps
from passlab.passes.functions.defunctionalization import Defunctionalization as Defunctionalization
from passlab.passes.functions.eta_expand import EtaExpand as EtaExpand
from passlab.passes.functions.inline import Inline as Inline
from passlab.passes.functions.inline import Inline as _InlineGlobals
from passlab.passes.functions.lambda_lift import LambdaLift as LambdaLift
from passlab.passes.functions.to_cps import ToCPS as ToCPS
from passlab.passes.functions.un_cps import UnCPS as UnCPS
from passlab.passes.fuse.batching_ops import BatchingOps as BatchingOps
from passlab.passes.fuse.combine_parallel_batch_matmul import CombineParallelBatchMatmul as CombineParallelBatchMatmul
from passlab.passes.fuse.combine_parallel_conv2d import CombineParallelConv2D as CombineParallelConv2D
from passlab.passes.fuse.combine_parallel_conv2d import CombineParallelConv2D as _CombineParallelConv2d
from passlab.passes.fuse.combine_parallel_dense import CombineParallelDense as CombineParallelDense
from passlab.passes.fuse.defuse_ops import DefuseOps as DefuseOps
from passlab.passes.fuse.extract_fused_functions import ExtractFusedFunctions as ExtractFusedFunctions
from passlab.passes.fuse.fuse_ops import FuseOps as FuseOps
from passlab.passes.gradient.derivatives import gradient as gradient
from passlab.passes.gradient.first_order_gradient import FirstOrderGradient as FirstOrderGradient
from passlab.passes.gradient.lazy_gradient_init import LazyGradientInit as LazyGradientInit
from passlab.passes.layout.alter_op_layout import AlterOpLayout as AlterOpLayout
from passlab.passes.layout.convert_layout import ConvertLayout as ConvertLayout
from passlab.passes.layout.convert_layout import LayoutConfig as LayoutConfig
from passlab.passes.layout.legalize import Legalize as Legalize
from passlab.passes.lowering.lower_te import LowerTE as LowerTE
from passlab.passes.lowering.manifest_alloc import ManifestAlloc as ManifestAlloc
from passlab.passes.lowering.manifest_lifetimes import ManifestLifetimes as ManifestLifetimes
from passlab.passes.lowering.memory_plan import MemoryPlan as MemoryPlan
from passlab.passes.lowering.place_kernels import PlaceKernels as PlaceKernels
from passlab.passes.lowering.plan_devices import PlanDevices as PlanDevices
from passlab.passes.normal_form.canonicalize_cast import CanonicalizeCast as CanonicalizeCast
from passlab.passes.normal_form.canonicalize_ops import CanonicalizeOps as CanonicalizeOps
from passlab.passes.normal_form.to_a_normal_form import ToANormalForm as ToANormalForm
from passlab.passes.normal_form.to_basic_block_normal_form import ToBasicBlockNormalForm as ToBasicBlockNormalForm
from passlab.passes.normal_form.to_graph_normal_form import ToGraphNormalForm as ToGraphNormalForm
from passlab.passes.normal_form.unroll_recurrent import UnrollRecurrent as UnrollRecurrent
from passlab.passes.precision.fake_quantization_to_integer import FakeQuantizationToInteger as FakeQuantizationToInteger
from passlab.passes.precision.qnn_canonicalize_ops import QnnCanonicalizeOps as QnnCanonicalizeOps
from passlab.passes.precision.qnn_legalize import QnnLegalize as QnnLegalize
from passlab.passes.precision.recasting import recast as recast
from passlab.passes.precision.to_mixed_precision import ToMixedPrecision as ToMixedPrecision
from passlab.passes.program.annotate_spans import AnnotateSpans as AnnotateSpans
from passlab.passes.program.capture_post_dfs_index_in_spans import (
    CapturePostDfsIndexInSpans as CapturePostDfsIndexInSpans,
)
from passlab.passes.program.change_batch import ChangeBatch as ChangeBatch
from passlab.passes.program.conv2d_to_sparse import Conv2dToSparse as Conv2dToSparse
from passlab.passes.program.dense_to_sparse import DenseToSparse as DenseToSparse
from passlab.passes.program.flexible_shapes import FlexibleShapeDispatch as FlexibleShapeDispatch
from passlab.passes.program.infer_type import InferType as InferType
from passlab.passes.program.plain_functions import fold_constants as _FoldConstantExpr
from passlab.passes.program.plain_functions import fresh_binders as _dedup
from passlab.passes.program.plain_functions import in_a_normal_form as _ToANormalFormExpr
from passlab.passes.program.plain_functions import type_of as _InferTypeLocal
from passlab.passes.program.print_ir import PrintIR as PrintIR
from passlab.passes.program.simplify_fc_transpose import SimplifyFCTranspose as SimplifyFCTranspose
from passlab.passes.simplify.dead_code_elimination import DeadCodeElimination as DeadCodeElimination
from passlab.passes.simplify.div_to_mul import DivToMul as DivToMul
from passlab.passes.simplify.eliminate_common_subexpr import EliminateCommonSubexpr as EliminateCommonSubexpr
from passlab.passes.simplify.fast_math import FastMath as FastMath
from passlab.passes.simplify.flatten_atrous_conv import FlattenAtrousConv as FlattenAtrousConv
from passlab.passes.simplify.fold_explicit_padding import FoldExplicitPadding as FoldExplicitPadding
from passlab.passes.simplify.remove_unused_functions import RemoveUnusedFunctions as RemoveUnusedFunctions
from passlab.passes.simplify.simplify_expr import SimplifyExpr as SimplifyExpr
from passlab.passes.simplify.simplify_inference import SimplifyInference as SimplifyInference
from passlab.passes.simplify.split_args import SplitArgs as SplitArgs
from passlab.transform.base import FunctionPass as FunctionPass
from passlab.transform.base import ModulePass as ModulePass
from passlab.transform.base import Pass as Pass
from passlab.transform.base import PassRun as PassRun
from passlab.transform.base import current_run as current_run
from passlab.transform.base import is_optimizable as is_optimizable
from passlab.transform.config import register_config_option as register_config_option
from passlab.transform.context import PassContext as PassContext
from passlab.transform.declare import standard_pass as standard_pass
from passlab.transform.decorators import function_pass as function_pass
from passlab.transform.decorators import module_pass as module_pass
from passlab.transform.diagnostics import PassDiagnostics as PassDiagnostics
from passlab.transform.numeric_contract import EXACT as EXACT
from passlab.transform.numeric_contract import FINITE as FINITE
from passlab.transform.numeric_contract import NumericContract as NumericContract
from passlab.transform.numeric_contract import Rounds as Rounds
from passlab.transform.pass_info import PassInfo as PassInfo
from passlab.transform.pipeline_text import as_pass as as_pass
from passlab.transform.pipeline_text import parse_pipeline as parse_pipeline
from passlab.transform.registry import get_pass as get_pass
from passlab.transform.registry import list_passes as list_passes
from passlab.transform.registry import pass_names as pass_names
from passlab.transform.registry import register_pass as register_pass
from passlab.transform.registry import unregister_pass as unregister_pass
from passlab.transform.sequential import Sequential as Sequential

CombineParallelConv2d = _CombineParallelConv2d
FoldConstantExpr = _FoldConstantExpr
InferTypeLocal = _InferTypeLocal
InlineGlobals = _InlineGlobals
OutlineCompilerFunctions = _OutlineCompilerFunctions
PartialEval = _PartialEval
ToANormalFormExpr = _ToANormalFormExpr
dedup = _dedup
