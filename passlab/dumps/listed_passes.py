"""Whether a stream has every pass that ran, or only those that somebody listed (`-print-after=sroa,gvn`).

    // -----// IR Dump After CSE (cse) //----- //                the text of f
    // -----// IR Dump After SymbolDCE (symbol-dce) //----- //   another text of f: by which pass?

A heading says which pass printed it, and not that no other pass ran before it. Three things in a stream show that:

1. *Both texts of a pass.* What differs between before and after is the work of this pass, whatever else ran.
2. *A whole pipeline.* The default pipelines of LLVM, and the phases of IREE, have passes that are in each of them.
   Where they all are in the stream, nobody chose.
3. *More passes than anybody types*, in a pipeline that somebody wrote, as for `mlir-opt`.

Without one of these, what is new in a text may be the work of a pass that is not in the stream, and an equal text may
have been changed and changed back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from passlab.dumps.banner import NONE, Banner

MOST_TYPED, FEW = 12, 9  # different passes


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Of each compiler: the passes in all of its pipelines of one kind, whatever their program, level and version (LLVM 14
# to 22, IREE 3). They are written without `Pass`.
_LLVM_PIPELINES = (
    _names(
        """AnnotationRemarks BDCE CalledValuePropagation DeadArgumentElimination GlobalOpt IPSCCP Inliner
        InstCombine InvalidateAnalysisPass<llvm::AAManager> MemCpyOpt OpenMPOpt PostOrderFunctionAttrs Promote SCCP SROA
        SimplifyCFG"""
    ),
    _names(  # of a back end, by their arguments
        """(expand-reductions) (pre-isel-intrinsic-lowering) (safe-stack) (scalarize-masked-mem-intrin)
        (unreachableblockelim)"""
    ),
    _names("(forceattrs) (inferattrs) (simplifycfg) (sroa)"),  # of the legacy pass manager
)
_LLVM_LEVEL_0 = _names("AlwaysInliner AnnotationRemarks")
_AT_LEVEL_0 = _LLVM_LEVEL_0 | _names("AllocToken Annotation2Metadata CoroConditionalWrapper EntryExitInstrumenter")
_LLVM_DEFAULT = re.compile(
    r"Annotation|Coro|RequireAnalysisPass<|InvalidateAnalysisPass<|OpenMPOpt|InferFunctionAttrs|ForceFunctionAttrs"
    r"|AlwaysInliner|CalledValuePropagation|LowerExpectIntrinsic|CGProfile|RelLookupTable|LowerConstantIntrinsics"
    r"|Float2Int|InjectTLIMappings|.* \([\w.:-]+\)$"
)
_IREE_PHASES = (
    _names(  # from the input to dispatches
        """AttributeCallGraph AutoInputConversionPipeline DemoteF64ToF32 FixedPointIterator FoldGlobals FuseGlobals
        HoistIntoGlobals IPO ImportMLProgram LinalgQuantizedConvToConv OpPipelineAdaptor OptimizeIntArithmetic
        RaiseSpecialOps SanitizeModuleNames SimplifyGlobalAccesses VerifyInputLegality"""
    ),
    _names(  # the schedule
        """AnnotateDispatchArguments ConvertToStream ElideAsyncCopies EmplaceAllocations FuseDispatchBindings
        LayoutSlices MaterializeBuiltins MaterializeCopyOnWrite PackConstants PackDispatchOperands PropagateSubranges
        PropagateTimepoints RefineUsage ScheduleAllocation ScheduleConcurrency ScheduleExecution VerifyInput
        VerifyLoweringToAsync VerifyLoweringToCmd VerifyLoweringToTensors"""
    ),
    _names(  # the code of the host
        """ConvertToHAL ElideRedundantCommands InitializeDevices LinkAllExecutables MemoizeDeviceQueries
        ResolveExportOrdinals SerializeAllExecutables TranslateAllExecutables"""
    ),
)
_IREE = "iree-"  # the argument of a pass


def lists_passes_of_llvm(banners: Sequence[Banner]) -> bool:
    """Whether a stream of LLVM may have only passes that somebody listed."""
    if not _lacks_texts(banners):
        return False
    names = {banner.name.removesuffix("Pass") for banner in banners}
    names |= {name[name.rfind("(") :] for name in names if name.endswith(")")}
    if any(pipeline <= names for pipeline in _LLVM_PIPELINES) or _LLVM_LEVEL_0 <= names <= _AT_LEVEL_0:
        return False
    if any(_LLVM_DEFAULT.match(banner.name) for banner in banners):
        return True
    # `opt` adds the verifier to what it is given, and nobody lists it.
    return len(names) <= MOST_TYPED and "Verifier" not in names


def lists_passes_of_mlir(banners: Sequence[Banner]) -> bool:
    """Whether a stream of MLIR may have only passes that somebody listed."""
    if not _lacks_texts(banners):
        return False
    names = {banner.name.rpartition("::")[2].removesuffix("Pass") for banner in banners}
    begun = [phase for phase in _IREE_PHASES if phase & names]
    if begun and all(phase <= names for phase in begun):
        return False
    return len(names) <= MOST_TYPED or any(banner.argument.startswith(_IREE) for banner in banners)


def is_short(banners: Sequence[Banner]) -> bool:
    """Whether a stream has so few passes that all of a list may have changed something by chance."""
    most = MOST_TYPED if any(banner.argument.startswith(_IREE) for banner in banners) else FEW
    return len({banner.name for banner in banners}) <= most


def _lacks_texts(banners: Sequence[Banner]) -> bool:
    """Whether some of the passes, of at least two, never have a text before them, or all have no other one."""
    befores = {banner.name for banner in banners if banner.when == "before"}
    afters = {banner.name for banner in banners if banner.when == "after" and banner.scope != NONE}
    return len(banners) > 1 and (not afters or not afters <= befores)
