"""The compiler of the virtual machine: the pipeline of passes, then code for each function.

exe = relay.vm.compile(mod, params=params)
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from passlab.analysis.well_formed import check_well_formed, is_closed_tree
from passlab.arguments import checked
from passlab.devices import DEVICE_KINDS, KIND_ALIASES, Device, Target, VirtualDevice, device
from passlab.errors import Diagnostic, RunError, RunTypeError, naming_interrupts, type_in_words
from passlab.ir.expr import Constant, Expr, GlobalVar
from passlab.ir.gc_pause import building
from passlab.ir.module import IRModule
from passlab.ir.variables import check_closed
from passlab.ir.walk import post_order
from passlab.passes.external.inline_composites import inlined
from passlab.passes.lowering.manifest_lifetimes import without_kills
from passlab.passes.lowering.plan_devices import PlanDevices
from passlab.rewriting.entry import entry_function
from passlab.rewriting.operator_values import operators_called
from passlab.rewriting.parameters import bind_params
from passlab.transform import PassContext, Sequential, parse_pipeline
from passlab.vm.compiling.codegen import CodePool, FunctionCode
from passlab.vm.executable import Compilation, Executable
from passlab.vm.verifier import verify

# The passes that improve a program, in Relay's order. The context decides which of them run: those of level 3 and 4
# (common subexpressions, scales, casts, layouts; parallel branches, fast mathematics) only where it asks for them.
OPTIMISE = """
    SimplifyInference
    EtaExpand(expand_constructor=True)
    EliminateCommonSubexpr
    CombineParallelConv2d
    CombineParallelDense
    CombineParallelBatchMatmul
    FoldConstant
    FoldScaleAxis
    CanonicalizeCast
    CanonicalizeOps
    FlattenAtrousConv
    AlterOpLayout
    FastMath
    FoldConstant
"""
# Kernels are formed after these passes, which match operators and not fused functions.
PLACE = """
    FuseOps
    PlaceKernels
"""
# LowerTE names the kernels first, so later passes see calls of names instead of function literals.
LOWER = """
    LowerTE
    ToANormalForm(annotate=True)
    InferType
    LambdaLift
    InferType
    ManifestAlloc
    ManifestLifetimes
    InferType
"""
# Passes that code generation needs: they run at level 0 as well.
NEEDED = ("EtaExpand", "ToGraphNormalForm", "ToANormalForm", "LambdaLift")


def pipeline(target: Any = None) -> Sequential:
    """Return the passes that lower a program to manifest A-normal form, on the target's device by default."""
    before, after = parse_pipeline(OPTIMISE), parse_pipeline(PLACE + LOWER)
    plan = PlanDevices(default_device(target))
    # Devices are planned before FuseOps, since a kernel runs on one device.
    return Sequential([*before.passes, plan, *after.passes], name="vm.compile")


def compiling() -> AbstractContextManager[PassContext]:
    """Return the context of the compiler's passes: the current one, with the `NEEDED` passes required.

    The instruments of the current context see the passes and are not entered again.
    """
    return PassContext.current().derived(required_pass=NEEDED)


def default_device(target: Any) -> VirtualDevice | None:
    """Return the device of a target, the default of operators without `on_device`; None for the CPU."""
    kind = Target.of(target).kind
    if kind not in DEVICE_KINDS and kind not in KIND_ALIASES:
        return None  # a target of another compiler, such as llvm: this CPU
    dev = device(kind)
    return None if dev == Device() else VirtualDevice(dev)


def reachable(mod: IRModule, entry: str = "main") -> IRModule:
    """Return the module with the functions reachable from `entry`; the module itself where it has no such function.

    Raises `DiagnosticError` for functions with free variables, and `WellFormedError` for variables that are bound twice
    or used outside their scope. Such a program can be built by hand, or left by a user's pass.
    """
    if entry not in mod:
        return mod
    names: dict[str, None] = {}
    worklist = [entry]
    while worklist:
        name = worklist.pop()
        if name in names:
            continue
        names[name] = None
        if not is_closed_tree(mod[name]):
            check_closed(name, mod[name])
            check_well_formed(mod[name])
        worklist += [n.name_hint for n in post_order(mod[name]) if isinstance(n, GlobalVar)]
    # None removes a function.
    return mod.with_functions({name: None for name, _ in mod.items() if name not in names})


def optimize(
    mod: IRModule, params: Mapping[str, Any] | None = None, target: Any = None, entry: str = "main"
) -> IRModule:
    """Run the compiler's passes under the current context, with `params` bound in `entry`.

    >>> mod = vm.optimize(passlab.parse("def @main(%x: float32) { %x + (1f + 2f) }"))
    >>> [var.name_hint for var in mod.get_global_vars()]
    ['main', 'fused_add']
    """
    with compiling():
        mod = operators_called(inlined(reachable(as_module(mod), entry)))
        bound = bind_params(mod, params, entry)
        # Without the kills of ManifestLifetimes, which runs again as the last pass.
        return pipeline(target)(bound.with_functions({name: without_kills(f) for name, f in bound.items()}))


def as_module(program: Any) -> IRModule:
    """Return the module of a program: a module, function, expression, or recording (its output).

    Raises `RunTypeError` for any other object, and the error of a recording that failed.
    """
    if isinstance(program, IRModule):
        return program
    if isinstance(output := getattr(program, "output", None), IRModule):
        return output
    if not isinstance(program, Expr):
        message = f"a program is a module or a function, not {type_in_words(program)}"
        raise RunTypeError(Diagnostic(message, hint="passlab.parse reads Relay text"))
    return IRModule.from_expr(program)


@checked
def compile(
    mod: IRModule | Expr,
    target: Any = None,
    target_host: Any = None,
    params: Mapping[str, Any] | None = None,
    *,
    entry: str = "main",
) -> Executable:
    """Compile a module, or one function, to an executable. Passes run under the current context.

    The executable has the function `entry`, and all that it calls. Operators without `on_device` run on the device of
    `target`: "cuda" is `cuda(0)`, "llvm" the CPU. `target_host` is accepted and ignored. Raises `VerifyError` for
    programs that the machine cannot run, and for an entry that does not exist.

    >>> exe = vm.compile(passlab.parse("def @main(%x: Tensor[(2), float32]) { %x + 1f }"))
    >>> print(vm.VirtualMachine(exe).run(np.float32([1, 2])))
    [2. 3.]
    """
    mod = as_module(mod)
    if entry != "main":
        entry_function(mod, entry)  # raises if the module lacks it
    # `building` makes the garbage collector wait: passes create many nodes, and nodes form no cycles.
    with naming_interrupts("the compilation", hint="the program is as it was: compile it again"), building():
        exe = generate(optimize(mod, params, target, entry), mod)
    context = PassContext.current()
    options = {
        "opt_level": context.opt_level,
        "required_pass": context.required_pass,
        "disabled_pass": context.disabled_pass,
        "config": context.config,
    }
    exe.compilation = Compilation(mod, params, target, options, entry)
    return exe


def generate(mod: IRModule, original: IRModule | None = None) -> Executable:
    """Generate the code of a module in manifest A-normal form."""
    pool = CodePool(mod)
    functions = tuple(FunctionCode(pool).generate(name, mod[name]) for name in pool.functions)
    # A device that only kernels use has no number yet; without one its kernels would run on the host.
    for kernel in pool.kernels:
        pool.device(pool.primitives[kernel].virtual_device)
    kernels = sorted(pool.kernels, key=pool.kernels.__getitem__)
    # The code of a closure has its captured variables as parameters, which no caller outside can pass.
    entries = {name: mod[name] for name in pool.functions if name not in pool.closures}
    exe = Executable(
        functions,
        tuple(pool.constants),
        tuple(kernels),
        tuple(pool.primitives[k] for k in kernels),
        tuple(mod.type_definitions.values()),
        entries,
        virtual_devices=tuple(pool.devices),
        const_device_indexes=tuple(pool.constant_devices),
    )
    verify(exe)  # the engines rely on it, also for code that was not read from a file
    return exe


class VMCompiler:
    """Relay's compiler object for one module: set parameters, lower the module, get the executable.

    >>> compiler = vm.VMCompiler()
    >>> compiler.lower(passlab.parse("def @main(%x: float32) { %x + 1f }"))
    >>> print(vm.VirtualMachine(compiler.get_exec()).run(np.float32(1)))
    2.0
    """

    def __init__(self) -> None:
        self.params: dict[str, Any] = {}
        self.exe: Executable | None = None

    def set_params(self, params: Mapping[str, Any]) -> None:
        """Set values of parameters of `main` by name. Raises `RunTypeError` if `params` is not a dict."""
        if not isinstance(params, Mapping):
            raise RunTypeError(f"parameters are a dict of values by name, not {type_in_words(params)}")
        self.params.update(params)

    def get_params(self) -> dict[str, Any]:
        """Return the parameters that were set, as arrays by name."""
        constants = {n: value if isinstance(value, Constant) else Constant(value) for n, value in self.params.items()}
        return {name: constant.data for name, constant in constants.items()}

    def optimize(
        self, mod: IRModule, target: Any = None, target_host: Any = None, params: Mapping[str, Any] | None = None
    ) -> tuple[IRModule, dict[str, Any]]:
        """Run only the passes; return the module and the parameters."""
        self.set_params(params or {})
        return optimize(mod, self.params, target), self.get_params()

    def lower(self, mod: IRModule, target: Any = None, target_host: Any = None) -> None:
        """Compile a module. Raises `RunError` for a second module."""
        if self.exe is not None:
            raise RunError(Diagnostic("a VMCompiler compiles one module", hint="make another one"))
        self.exe = compile(mod, target, target_host, self.params)

    def codegen(self) -> None:
        """Make the kernels. Raises `RunError` before `lower`."""
        self.get_exec().kernels  # noqa: B018 - a cached property: reading it makes them

    def get_exec(self) -> Executable:
        """Return the executable. Raises `RunError` before `lower`."""
        if self.exe is None:
            raise RunError(Diagnostic("nothing has been compiled yet", hint="call `lower` first"))
        return self.exe
