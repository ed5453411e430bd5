"""A toy compiler: programs of functions, random passes, and dumps in the formats of LLVM and MLIR."""

import random

from passlab.dumps.listed_passes import MOST_TYPED

PASSES = MOST_TYPED + 4  # different ones, more than somebody lists


class Program:
    """Functions by name; each a list of instruction shapes whose operands are earlier values, by position."""

    def __init__(self, functions):
        self.functions = functions

    def copy(self):
        return Program({name: list(body) for name, body in self.functions.items()})


def random_program(seed, functions=3, size=6):
    rng = random.Random(seed)
    names = [f"f{i}" for i in range(functions)]
    return Program({name: [_instruction(rng, at) for at in range(rng.randint(2, size))] for name in names})


def _instruction(rng, at):
    return rng.choice(("add", "mul", "sub", "xor")), rng.randint(0, at), rng.randint(0, at), rng.randint(2, 99)


def change(rng, body):
    """Another body: an instruction added at the start (all numbers move), changed, or removed at the end."""
    kind = rng.choice(("prepend", "edit", "drop"))
    if kind == "prepend":
        return [("shl", 0, 0, rng.randint(100, 999)), *[(op, a + bool(a), b + bool(b), c) for op, a, b, c in body]]
    if kind == "drop" and len(body) > 2:
        return body[:-1]
    at = rng.randrange(len(body))
    op, a, b, c = body[at]
    return [*body[:at], (op, a, b, c + 1), *body[at + 1 :]]


def llvm_function(name, body):
    lines = [f"define i32 @{name}(i32 %0) #0 {{"]
    lines += [f"  %{at + 1} = {op} i32 %{a}, %{b} ; {c}" for at, (op, a, b, c) in enumerate(body)]
    return "\n".join([*lines, f"  ret i32 %{len(body)}", "}"])


def llvm_module(program, name="m"):
    parts = [f"; ModuleID = '{name}'\nsource_filename = \"{name}\"\n"]
    parts += [llvm_function(name, body) + "\n" for name, body in program.functions.items()]
    return "\n".join([*parts, "attributes #0 = { nounwind }"])


def run(seed, passes=30):
    """A program, and the passes that ran on it: name, unit (None for the module), the program after, changed or not."""
    rng = random.Random(seed)
    program = random_program(seed)
    steps = []
    for number in range(passes):
        after = program.copy()
        unit = rng.choice([None, *after.functions])
        changed = rng.random() < 0.4
        if changed:
            target = unit or rng.choice(list(after.functions))
            after.functions[target] = change(rng, after.functions[target])
        steps.append((f"Pass{number % PASSES}", unit, program, after, changed))
        program = after
    return steps


def llvm_dump(steps, mode, module="m"):
    """The stream of a run: after, both, before, changed, quiet or module."""
    out = []
    if mode == "changed":
        out.append("*** IR Dump At Start ***\n" + llvm_module(steps[0][2], module))
    for name, unit, before, after, changed in steps:
        where = unit or "[module]"

        def body(program, unit=unit):
            return (
                llvm_module(program, module)
                if unit is None or mode == "module"
                else llvm_function(unit, program.functions[unit])
            )

        if mode in ("both", "before"):
            out.append(f"; *** IR Dump Before {name} on {where} ***\n{body(before)}")
        if mode in ("both", "after", "module"):
            out.append(f"; *** IR Dump After {name} on {where} ***\n{body(after)}")
        if mode == "quiet" and changed:
            out.append(f"*** IR Dump After {name} on {where} ***\n{body(after)}")
        if mode == "changed":
            tail = "" if changed else " omitted because no change"
            out.append(f"*** IR Dump After {name} on {where}{tail} ***" + (f"\n{body(after)}" if changed else ""))
    return "\n".join(out) + "\n"


def machine_function(name, body):
    """A function as LLVM prints it when it has chosen instructions; each instruction is of a line."""
    lines = [f"# Machine code for function {name}: IsSSA, TracksLiveness", "Function Live Ins: $edi in %0", ""]
    lines += ["bb.0 (%ir-block.1):", "  liveins: $edi"]
    lines += [f"  %{at + 1}:gr32 = {op.upper()}32rr %{a}:gr32, %{b}:gr32, {c}" for at, (op, a, b, c) in enumerate(body)]
    lines += [
        f"  $eax = COPY %{len(body)}:gr32",
        "  RET 0, killed $eax",
        "",
        f"# End machine code for function {name}.",
    ]
    return "\n".join(lines) + "\n"


def machine_dump(steps, mode):
    """The stream of the passes of a run that run on functions, as passes on machine code: after or both."""
    out = []
    for name, unit, before, after, _ in [one for one in steps if one[1]]:
        title = f"{name} ({name.lower()})"
        if mode == "both":
            out.append(f"# *** IR Dump Before {title} ***:\n{machine_function(unit, before.functions[unit])}")
        out.append(f"# *** IR Dump After {title} ***:\n{machine_function(unit, after.functions[unit])}")
    return "\n".join(out)


def mlir_function(name, body, indent=""):
    lines = [f"{indent}func.func @{name}(%arg0: i32) -> i32 {{"]
    names = ["%arg0", *[f"%{at}" for at in range(len(body))]]
    lines += [
        f"{indent}  %{at} = arith.{op} {names[a]}, {names[b]} {{n = {c}}} : i32"
        for at, (op, a, b, c) in enumerate(body)
    ]
    return "\n".join([*lines, f"{indent}  return {names[-1]} : i32", f"{indent}}}"])


def mlir_dump(steps, mode):
    """The stream of a run: after, both, change or module."""
    out = []
    for name, unit, before, after, changed in steps:

        def body(program, unit=unit):
            if unit is None or mode == "module":
                return "module {\n" + "\n".join(mlir_function(n, b, "  ") for n, b in program.functions.items()) + "\n}"
            return mlir_function(unit, program.functions[unit])

        scope = (
            ""
            if mode != "module"
            else " ('builtin.module' operation)"
            if unit is None
            else f" ('func.func' operation: @{unit})"
        )
        if mode == "both":
            out.append(f"// -----// IR Dump Before {name} ({name.lower()}){scope} //----- //\n{body(before)}\n\n")
        if mode != "change" or changed:
            out.append(f"// -----// IR Dump After {name} ({name.lower()}){scope} //----- //\n{body(after)}\n\n")
    return "\n".join(out)
