"""Commands of the host: to make a dump with more evidence, and to run one pass alone on its input."""

from __future__ import annotations

import re
from collections.abc import Iterable

from passlab.dumps.step import Step

_BETTER = {
    "llvm": "opt -passes=... -print-changed  (or -print-before-all -print-after-all; for clang: -mllvm -print-changed)",
    "llvm-directory": "opt -passes=... -print-before-all -print-after-all -ir-dump-directory=DIR",
    "llvm-pictures": "opt -passes=... -print-changed  (prints the programs, which =dot-cfg draws)",
    "mlir": "mlir-opt ... --mlir-disable-threading --mlir-print-ir-before-all --mlir-print-ir-after-all",
    "mlir-tree": "mlir-opt ... --mlir-print-ir-before-all --mlir-print-ir-after-all --mlir-print-ir-tree-dir=DIR",
    "iree-phases": "iree-compile ... --mlir-disable-threading --mlir-print-ir-before-all --mlir-print-ir-after-all",
    "xdsl": "passlab.recorders.xdsl.record(module, pipeline)  (records live, the input and the last pass too)",
    "tvm": "passlab.recorders.tvm.record(mod, pipeline)  (records live, with nesting and structural equality)",
    "tvm-dumpir": "passlab.recorders.tvm.record(mod, pipeline)  (records live, with nesting and structural equality)",
    "triton": 'passlab.recorders.triton.record(kernel, signature, "cuda:90")  (every pass, with a GPU or without one)',
    "torch": "passlab.recorders.torch.record(function, *args)  (records every FX pass of Inductor)",
    "xla": "XLA_FLAGS='--xla_dump_to=DIR --xla_dump_hlo_pass_re=.*'",
    "gcc": "gcc ... -fdump-tree-all -fdump-rtl-all",
    "rustc": "rustc -Z dump-mir=all -Z dump-mir-dir=DIR",
    "onnx": "one model per pass, numbered from 00_input.onnx",
}
_LLVM_NAMES = dict(
    line.split(" ", 1)
    for line in """\
SimplifyCFGPass simplifycfg
EarlyCSEPass early-cse<memssa>
InstCombinePass instcombine
SROAPass sroa
GVNPass gvn
LICMPass loop-mssa(licm)
LoopRotatePass loop(loop-rotate)
InlinerPass cgscc(inline)
RecomputeGlobalsAAPass recompute-globalsaa
IPSCCPPass ipsccp
SCCPPass sccp
ADCEPass adce
BDCEPass bdce
DSEPass dse
PromotePass mem2reg
GlobalDCEPass globaldce
GlobalOptPass globalopt
TailCallElimPass tailcallelim
LCSSAPass lcssa
LoopUnrollPass loop-unroll
LoopFullUnrollPass loop(loop-unroll-full)
SLPVectorizerPass slp-vectorizer
LoopDeletionPass loop(loop-deletion)
IndVarSimplifyPass loop(indvars)
LoopIdiomRecognizePass loop(loop-idiom)
SimpleLoopUnswitchPass loop-mssa(simple-loop-unswitch)
LoopInstSimplifyPass loop(loop-instsimplify)
LoopSimplifyCFGPass loop(loop-simplifycfg)
MergedLoadStoreMotionPass mldst-motion
MemCpyOptPass memcpyopt
PostOrderFunctionAttrsPass cgscc(function-attrs)
ReversePostOrderFunctionAttrsPass rpo-function-attrs
CorrelatedValuePropagationPass correlated-propagation
AlwaysInlinerPass always-inline
CGProfilePass cg-profile
DeadArgumentEliminationPass deadargelim
LibCallsShrinkWrapPass libcalls-shrinkwrap
AlignmentFromAssumptionsPass alignment-from-assumptions
InferFunctionAttrsPass inferattrs
EliminateAvailableExternallyPass elim-avail-extern
ConstantMergePass constmerge
DivRemPairsPass div-rem-pairs
Float2IntPass float2int
WarnMissedTransformationsPass transform-warning
LowerConstantIntrinsicsPass lower-constant-intrinsics
InferAlignmentPass infer-alignment
OpenMPOptCGSCCPass cgscc(openmp-opt-cgscc)
OpenMPOptPass openmp-opt
EntryExitInstrumenterPass ee-instrument
ArgumentPromotionPass cgscc(argpromotion)
CoroSplitPass cgscc(coro-split)
VerifierPass verify
CoroAnnotationElidePass cgscc(coro-annotation-elide)
RelLookupTableConverterPass rel-lookup-table-converter
InstSimplifyPass instsimplify
LoopLoadEliminationPass loop-load-elim
MemProfRemoveInfo memprof-remove-attributes
Annotation2MetadataPass annotation2metadata
ForceFunctionAttrsPass forceattrs
LowerExpectIntrinsicPass lower-expect
AggressiveInstCombinePass aggressive-instcombine
CallSiteSplittingPass callsite-splitting
ControlHeightReductionPass chr
MergeFunctionsPass mergefunc
NewGVNPass newgvn
SinkingPass sink
LowerTypeTestsPass lowertypetests
WholeProgramDevirtPass wholeprogramdevirt
HotColdSplittingPass hotcoldsplit
GlobalSplitPass globalsplit
AssignmentTrackingPass declare-to-assign
PGOMemOPSizeOpt pgo-memop-opt
IRCEPass irce
LoopFlattenPass loop(loop-flatten)
DFAJumpThreadingPass dfa-jump-threading
CrossDSOCFIPass cross-dso-cfi
DataFlowSanitizerPass dfsan
ModuleInlinerWrapperPass inliner-wrapper
GCOVProfilerPass insert-gcov-profiling
InstrProfilingLoweringPass instrprof
IROutlinerPass iroutliner
LowerEmuTLSPass lower-emutls
LowerIFuncPass lower-ifunc
MemProfContextDisambiguation memprof-context-disambiguation
ModuleMemProfilerPass memprof-module
MetaRenamerPass metarenamer
ModuleInlinerPass module-inline
NameAnonGlobalPass name-anon-globals
NumericalStabilitySanitizerPass nsan
PGOIndirectCallPromotion pgo-icall-prom
PGOInstrumentationGen pgo-instr-gen
PGOInstrumentationUse pgo-instr-use
PreISelIntrinsicLoweringPass pre-isel-intrinsic-lowering
RewriteSymbolPass rewrite-symbols
SampleProfileLoaderPass sample-profile
SanitizerCoveragePass sancov-module
StripSymbolsPass strip
StripNonDebugSymbolsPass strip-nondebug
ModuleThreadSanitizerPass tsan-module
AddressSanitizerPass asan
HWAddressSanitizerPass hwasan
LoopExtractorPass loop-extract
MemProfUsePass memprof-use
MemorySanitizerPass msan
BreakCriticalEdgesPass break-crit-edges
CallBrPreparePass callbr-prepare
CodeGenPreparePass codegenprepare
ConstantHoistingPass consthoist
ExpandMemCmpPass expand-memcmp
IndirectBrExpandPass indirectbr-expand
InstCountPass instcount
InstructionNamerPass instnamer
LoopFusePass loop-fusion
MemProfilerPass memprof
MergeICmpsPass mergeicmps
UnifyFunctionExitNodesPass mergereturn
ObjCARCOptPass objc-arc
ObjCARCContractPass objc-arc-contract
ObjCARCExpandPass objc-arc-expand
PartiallyInlineLibCallsPass partially-inline-libcalls
RedundantDbgInstEliminationPass redundant-dbg-inst-elim
RegToMemPass reg2mem
SjLjEHPreparePass sjlj-eh-prepare
StraightLineStrengthReducePass slsr
StructurizeCFGPass structurizecfg
TLSVariableHoistPass tlshoist
ThreadSanitizerPass tsan
TypePromotionPass typepromotion
LoopInterchangePass loop(loop-interchange)
LoopUnrollAndJamPass loop(loop-unroll-and-jam)
CanonicalizeFreezeInLoopsPass loop(canon-freeze)
LoopBoundSplitPass loop(loop-bound-split)
LoopIdiomVectorizePass loop(loop-idiom-vectorize)
LoopPredicationPass loop(loop-predication)
LoopStrengthReducePass loop(loop-reduce)
LoopVersioningLICMPass loop(loop-versioning-licm)
LNICMPass loop-mssa(lnicm)
AMDGPUCtorDtorLoweringPass amdgpu-lower-ctor-dtor
AMDGPUCodeGenPreparePass amdgpu-codegenprepare
AMDGPUImageIntrinsicOptimizerPass amdgpu-image-intrinsic-opt
AMDGPUSimplifyLibCallsPass amdgpu-simplifylib
AMDGPUUseNativeCallsPass amdgpu-usenative
BlockExtractorPass extract-blocks
InstrOrderFilePass instrorderfile
InstrProfiling instrprof
SampleProfileProbePass pseudo-probe
StripNonLineTableDebugInfoPass strip-nonlinetable-debuginfo
NewPMDebugifyPass debugify
NewPMCheckDebugifyPass check-debugify
ObjCARCAPElimPass objc-arc-apelim
ModuleSanitizerCoveragePass sancov-module
ModuleMemorySanitizerPass msan-module
ModuleAddressSanitizerPass asan-module
""".splitlines()
)
LEGACY = re.compile(r"\(([\w-]+)\)\Z")  # the name of a pass of the legacy pass manager
_OF_TRITON = {"BreakStructPhiNodesPass": "break-struct-phi-nodes"}  # passes on LLVM IR that only triton-llvm-opt has
_ANALYSIS = re.compile(r"(?:Require|Invalidate)Analysis|PrintModulePass|BitcodeWriterPass")
_FUNCTION_PASS = re.compile(r"(?:Pass)?$")
_NAMELESS = "the dump has no name of it that a pipeline takes"
NO_PASSES = ("stage", "translation")  # what a step of a compilation is that no pass manager runs
_RUNS_OTHERS = re.compile(r"pipeline-adaptor|fixed-point-iterator")
_TOOLS = (("iree-", "iree-opt"), ("triton", "triton-opt"), ("convert-triton", "triton-opt"))


def mlir_tool(arguments: Iterable[str]) -> str:
    """Return the tool that has the passes of a recording of MLIR, judged by their names on the command line."""
    seen = set(arguments)
    tools = (tool for prefix, tool in _TOOLS if any(name.startswith(prefix) for name in seen))
    return next(tools, "mlir-opt")


def better_dump(format_name: str) -> str:
    """Return the command or call that makes a dump of this format with more evidence."""
    return _BETTER.get(format_name, "")


def llvm_pass_argument(name: str) -> str:
    """Return the name that `opt -passes=` takes for a pass, by the usual spelling if it is not in the table."""
    if name in _LLVM_NAMES:
        return _LLVM_NAMES[name]
    base = _FUNCTION_PASS.sub("", name.partition("<")[0])
    # Before a capital after a small letter, and before the last capital of several: `GlobalDCEPass`.
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", base)
    return words.lower()


def command_or_reason(step: Step, format_name: str, path: str = "before") -> tuple[str, str]:
    """Return the command that runs one pass alone on a file with its input, and why no tool can: one of them is empty.

    Names of LLVM's passes are turned into names for `opt -passes=`, which `opt --print-passes` lists.
    """
    if step.kind in NO_PASSES:
        return "", f"it is a {step.kind}, and no pass"
    if format_name == "llvm-pictures":
        return "", "the dump has no texts"
    if step.language == "llvm":
        return _llvm_command(step, path)
    if format_name == "iree-phases":
        return f"iree-compile --compile-to={step.name.partition('.')[2]} {path}.mlir -o -", ""
    if format_name in ("mlir", "mlir-tree", "triton") and step.language != "mir":
        return _mlir_command(step, path)
    if format_name == "xdsl":
        options = f"{{{step.options}}}" if step.options else ""
        return f"xdsl-opt -p {step.argument or step.name}{options} {path}.mlir", ""
    if format_name.startswith("tvm"):
        return f"tvm.relax.transform.{step.name}()(mod)", ""
    if format_name == "onnx":
        return f"onnxoptimizer.optimize(onnx.load('{path}.onnx'), ['{step.name}'])", ""
    return "", "no tool runs this pass alone"


def _mlir_command(step: Step, path: str) -> tuple[str, str]:
    if not step.argument:
        return "", _NAMELESS
    if _RUNS_OTHERS.search(step.argument):
        return "", "it only runs other passes"
    tool = _beside(step, step.recording.tool) if step.recording is not None else "mlir-opt"
    options = f"{{{step.options}}}" if step.options and len(step.options) < 300 else ""
    anchor = step.unit.partition(" @")[0] or "builtin.module"
    inner = f"{step.argument}{options}"
    pipeline = inner if anchor == "builtin.module" else f"{anchor}({inner})"
    return f"{tool} --pass-pipeline='builtin.module({pipeline})' {path}.mlir", ""


def _llvm_command(step: Step, path: str) -> tuple[str, str]:
    legacy = LEGACY.search(step.name)
    if legacy:
        return f"{_beside(step, 'llc')}{_target(step)} {path}.ll -stop-after={legacy[1]} -o -", ""
    if step.name in _OF_TRITON:
        return f"triton-llvm-opt -{_OF_TRITON[step.name]} {path}.ll", ""
    if step.name.startswith("(anonymous namespace)::"):  # a class that is local to a file of the compiler
        return "", _NAMELESS
    if _ANALYSIS.match(step.name):
        return "", "it computes or removes an analysis, and changes no program"
    return f"{_beside(step, 'opt')} -S -passes='{llvm_pass_argument(step.name)}' {path}.ll -o -", ""


def _beside(step: Step, tool: str) -> str:
    """Return a tool in the version of the compiler that passlab ran for the recording: opt-22 for clang-22."""
    compiler = step.recording.compiler if step.recording is not None else ""
    name = compiler.rpartition("/")[2]
    if name.partition("-")[0] == tool or name.startswith(f"{tool}-") or name == tool:
        return compiler
    version = re.search(r"-\d+\Z", name)
    return f"{compiler.removesuffix(name)}{tool}{version[0] if version else ''}"


def _target(step: Step) -> str:
    return f" {step.recording.target}" if step.recording is not None and step.recording.target else ""


def no_machine_command(step: Step, path: str = "program") -> str:
    """Return why no command runs a pass on the machine code of a dump, and the commands that do so on the IR."""
    legacy = LEGACY.search(step.name)
    llc = _beside(step, "llc")
    if legacy is None:
        return "llc cannot read a dump of machine code"
    stop = f"{llc}{_target(step)} {path}.ll -stop-before={legacy[1]} -o before.mir"
    return f"llc cannot read a dump of machine code; `{stop}` writes one"


# The exit status that mlir-reduce wants is the opposite of that of llvm-reduce and of `bisect`.
_MLIR_REDUCE = (
    "mlir-reduce before.mlir --reduction-tree='traversal-mode=0 test=./inverted.sh'"
    '  (inverted.sh: ! ./interesting.sh "$1")'
)
REDUCERS = {
    "llvm": "llvm-reduce --test=./interesting.sh before.ll",
    "llvm-directory": "llvm-reduce --test=./interesting.sh before.ll",
    "mlir": _MLIR_REDUCE,
    "mlir-tree": _MLIR_REDUCE,
    "rustc": "cargo-bisect-rustc, or creduce on the source",
    "gcc": "cvise ./interesting.sh program.c",
    "xla": "hlo_bisect, or run_hlo_module with --input_format=hlo",
    "torch": "TORCHDYNAMO_REPRO_AFTER=aot",
    "onnx": "polygraphy debug reduce model.onnx",
}
