"""Answers to the lessons on the machine, memory, shapes, time travel, faults, a real network, porting and fuzzing."""

from __future__ import annotations

FACTORIAL = '''"""
{}
def @main(%n: int32) -> int32 {{ {} }}
"""'''
GO = "def @go(%n: int32, %p: int32) -> int32 {{ if (%n == 0) {{ %p }} else {{ @go(%n - 1, {}) }} }}"
SWAP = "[(Opcode.GET_FIELD, 0, 0, 1), (Opcode.GET_FIELD, 0, 1, 2), (Opcode.ALLOC_ADT, 0, 3, {}), (Opcode.RET, {})]"
STATIC = """
@transform.function_pass(opt_level=0)
def p(func, mod, ctx):
    new = {{}}
    for param in func.params:
        shape = [{} if isinstance(d, relay.Any) else {} for d in param.checked_type.shape]
        new[param] = relay.var(param.name_hint, relay.TensorType(shape, param.checked_type.dtype))
    return relay.Function(list(new.values()), {})
p
"""
SHAPE = """
def f(shapes, axis):
    axis %= len(shapes[0])
    if {}:
        raise {}
    return {}
f
"""
UNLIKE = "len({(*s[:axis], *s[axis + 1:]) for s in shapes}) != 1"
JOINED = "(*shapes[0][:axis], sum(s[axis] for s in shapes), *shapes[0][axis + 1:])"
FORK = "at = dbg.query('nn.softmax')[0]\ndbg.fork({{dbg.trace[at].reads[0]: {}}}, instant=at)"
FACTOR = """
@transform.function_pass(opt_level=1)
def p(func, mod, ctx):
    def rule(before, node):
        if node.op != relay.op.get("multiply"):
            return node
        for conv, number in (node.args, node.args[::-1]):
            if isinstance(conv, relay.Call) and conv.op == relay.op.get("nn.conv2d") and isinstance(number, relay.Constant):
                kernel = conv.args[1]
                if isinstance(kernel, relay.Constant) and number.data.ndim == 0:
                    return {}
        return node
    return passlab.ir.walk.rewrite(func, rule, only=(relay.Call,))
p
"""
FOLDED = "relay.Call(conv.op, [conv.args[0], relay.Constant(kernel.data * number.data)], conv.attrs)"
OLD_TOOL = """
@tvm.instrument.pass_instrument
class A:
    def __init__(self):
        self.names = []
    def run_{}_pass(self, mod, info):
        {}
A
"""
SUMS = "def f(rng):\n    {}\n    return {}\nf"
PROGRAM = "f'def @main(%x: Tensor[(4), float32]) {{{{ %0 = exp(%x); %1 = tanh(%x + %0); {} }}}}'"
DEFEND = """
@transform.function_pass(opt_level=1)
def p(func, mod, ctx):
    def rule(before, node):
        if calls(node, "add") and all(calls(a, "multiply") for a in node.args):
            (a, b), (c, d) = (x.args for x in node.args)
{}
        return node
    return rewrite(func, rule, only=(relay.Call,))
p
"""

ANSWERS: dict[str, list[tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "14-virtual-machine": [
        (
            ("set((5, 6))", "frozenset((5, 6))", "{*(5, 6)}"),
            (
                "set()",
                "{0}",
                "{0, 1}",
                "list((5, 6))",
                "set((5, 6)) | {0}",
                "set(list((5, 6))[:1])",
            ),
        ),
        (
            (
                FACTORIAL.format(GO.format("%p * %n"), "@go(%n, 1)"),
                FACTORIAL.format(GO.format("%n * %p"), "@go(%n, 1)"),
                FACTORIAL.format(
                    "def @up(%i: int32, %n: int32, %p: int32) -> int32 { if (%i > %n) { %p } else { @up(%i + 1, %n, %p * %i) } }",
                    "@up(1, %n, 1)",
                ),
            ),
            (
                FACTORIAL.format("", "if (%n == 0) { 1 } else { %n * @main(%n - 1) }"),
                FACTORIAL.format(
                    "", "if (%n == 0) { 1 } else { if (%n == 1) { 1 } else { if (%n == 5) { 120 } else { 3628800 } } }"
                ),
                FACTORIAL.format(GO.format("%p + %n"), "@go(%n, 1)"),
                FACTORIAL.format(GO.format("%p * %n"), "@go(%n, 0)"),
                "'def @f(%n: int32) { %n }'",
                "'def @main(%n: float32) -> float32 { %n }'",
            ),
        ),
        (
            (
                SWAP.format("(2, 1)", 3),
                "[Instruction(Opcode.GET_FIELD, 0, 0, 1), Instruction(Opcode.GET_FIELD, 0, 1, 2), Instruction(Opcode.ALLOC_ADT, 0, 3, (2, 1)), Instruction(Opcode.RET, 3)]",
                "[(Opcode.GET_FIELD, 0, 1, 1), (Opcode.GET_FIELD, 0, 0, 2), (Opcode.ALLOC_ADT, 0, 4, (1, 2)), (Opcode.RET, 4)]",
            ),
            (
                SWAP.format("(1, 2)", 3),
                SWAP.format("(2, 1)", 0),
                "[(Opcode.RET, 0)]",
                "[(Opcode.ALLOC_ADT, 0, 3, (2, 1)), (Opcode.RET, 3)]",
                "[(Opcode.GET_FIELD, 0, 0), (Opcode.RET, 0)]",
                "['ret']",
            ),
        ),
    ],
    "15-memory": [
        (
            ("64 * 64 * 4", "16384", "int(np.prod([64, 64]) * 4)"),
            ("64 * 64", "4096.0", "'16384'", "16", "64 * 64 * 8", "True"),
        ),
        (("2 + 2", "4", "len(set(plan(softmaxes(10)).values()))"), ("10", "2", "3", "11", "4.0")),
        (
            ("'ManifestLifetimes'", '"ManifestLifetimes"', "'Manifest' + 'Lifetimes'"),
            ("'ManifestAlloc'", "'FuseOps'", "'Foo'", "'memoryplan'", "'InferType'"),
        ),
    ],
    "16-dynamic-shapes": [
        (
            (
                "[str(type_of(text)) for text in FOUR]",
                "['Tensor[(4, 3), float32]', 'Tensor[(?, 3), float32]', 'Tensor[(3, ?), float32]', 'Tensor[(3), float32]']",
                "('Tensor[(4,3),float32]', 'Tensor[(?,3),float32]', 'Tensor[(3,?),float32]', 'Tensor[(3),float32]')",
            ),
            (
                "['Tensor[(?, 3), float32]'] * 4",
                "['Tensor[(?, 3), float32]', 'Tensor[(?, 3), float32]', 'Tensor[(3, ?), float32]', 'Tensor[(3), float32]']",
                "['Tensor[(4, 3), float32]', 'Tensor[(8, 3), float32]', 'Tensor[(3, ?), float32]', 'Tensor[(3), float32]']",
                "['Tensor[(4, 3), float32]', 'Tensor[(?, 3), float32]', 'Tensor[(3, ?), float32]', 'Tensor[(?), float32]']",
                "['4', '5', '6', '7']",
            ),
        ),
        (
            (
                SHAPE.format(UNLIKE, "ValueError('no')", JOINED),
                "def f(shapes, axis):\n    return np.concatenate([np.empty(s) for s in shapes], axis).shape\nf",
                "def f(shapes, axis):\n    first = list(shapes[0])\n    a = axis % len(first)\n    for s in shapes[1:]:\n        if len(s) != len(first) or any(x != y for i, (x, y) in enumerate(zip(s, first)) if i != a):\n            raise ValueError(s)\n        first[a] += s[a]\n    return tuple(first)\nf",
            ),
            (
                SHAPE.format("False", "ValueError", JOINED),
                SHAPE.format(UNLIKE, "ValueError('no')", "shapes[0]"),
                SHAPE.format(UNLIKE, "KeyError('no')", JOINED),
                "lambda shapes, axis: (sum(s[0] for s in shapes), *shapes[0][1:])",
                "lambda shapes, axis: (6, 3)",
            ),
        ),
        (
            (
                STATIC.format("8", "d", "relay.bind(func.body, new)"),
                STATIC.format("8", "int(d)", "relay.bind(func.body, dict(new))"),
                STATIC.format("2 * 4", "d", "relay.bind(func.body, {old: var for old, var in new.items()})"),
            ),
            (
                STATIC.format("8", "d", "func.body"),
                STATIC.format("9", "d", "relay.bind(func.body, new)"),
                STATIC.format("8", "8", "relay.bind(func.body, new)"),
                STATIC.format("d", "d", "relay.bind(func.body, new)"),
                STATIC.format("8", "d", "list(new.values())[0]"),
            ),
        ),
    ],
    "17-time-travel": [
        (
            ("dbg.query('nn.dense')[0]", "int(dbg.query('nn.dense')[0])", "np.int64(dbg.query('nn.dense')[0])"),
            (
                "0",
                "dbg.query('nn.softmax')[0]",
                "dbg.query('nn.dense')",
                "dbg.query('nn.dense')[0] + 1",
                "'nn.dense'",
                "10**6",
            ),
        ),
        (
            (
                "lambda v: v.size > 0 and abs(v).max() > 1000",
                "lambda v: bool((np.abs(v) > 1000).any())",
                "lambda v: any(abs(e) > 1000 for e in np.asarray(v).ravel())",
            ),
            (
                "lambda v: True",
                "lambda v: False",
                "lambda v: v.size > 0 and v.max() > 1000",
                "lambda v: v.size > 0 and abs(v).max() > 999 * 5",
                "lambda v: abs(v).max() > 1000",
                "lambda v: v.size > 0 and abs(v).min() > 1000",
            ),
        ),
        (
            (
                "next(n for n in range(len(steps.trace)) if len(steps.trace[n].stack) == 4)",
                "steps.goto(0)\nsteps.breakpoint('@sum')\nwhile len(steps.stack) < 4:\n    steps.continue_()\nsteps.at",
                "min(n for n in range(len(steps.trace)) if len(steps.trace[n].stack) >= 4)",
            ),
            (
                "0",
                "next(n for n in range(len(steps.trace)) if len(steps.trace[n].stack) == 3)",
                "next(n for n in range(len(steps.trace)) if len(steps.trace[n].stack) == 4) + 1",
                "4",
                "steps.now",
                "max(n for n in range(len(steps.trace)) if len(steps.trace[n].stack) == 4)",
            ),
        ),
        (
            (
                FORK.format("np.zeros((2, 4), 'float32')"),
                FORK.format("np.ones((2, 4), 'float32')"),
                FORK.format("np.full((2, 4), -3, 'float32')"),
            ),
            (
                FORK.format("np.arange(8, dtype='float32').reshape(2, 4)"),
                "dbg",
                "dbg.trace",
                "at = dbg.query('nn.dense')[0]\ndbg.fork({dbg.trace[at].reads[0]: np.zeros((2, 3), 'float32')}, instant=at)",
                "np.full((2, 4), 0.25)",
                FORK.format("np.full((2, 4), np.nan, 'float32')"),
            ),
        ),
    ],
    "18-finding-faults": [
        (
            ("'Gamma'", "lab.bisect(net, theirs).event.name", "'Gam' + 'ma'"),
            ("'Alpha'", "'Beta'", "'Delta'", "'gamma'", "'InferType'", "theirs[3]"),
        ),
        (
            (
                "lambda mod: 'float16' not in mod.astext()",
                "lambda mod: 'float16' not in str(mod)",
                "lambda mod: 'float16' not in relay.analysis.all_dtypes(mod['main'])",
            ),
            (
                "lambda mod: True",
                "lambda mod: False",
                "lambda mod: 'float16' in mod.astext()",
                "lambda mod: 'int' not in mod.astext()",
                "lambda mod: 'float32' in mod.astext()",
                "lambda mod: len(mod.astext()) < 700",
            ),
        ),
        (
            (
                "['Widen', 'Fold', 'Halve']",
                "('Widen', 'Fold', 'Halve')",
                "[event.name for event in lab.bisect(net, crowd).needed]",
            ),
            (
                "['Halve']",
                "['Widen', 'Turn', 'Fold', 'Halve']",
                "['Fold', 'Halve']",
                "['widen', 'fold', 'halve']",
                "'Widen, Fold, Halve'",
            ),
        ),
        (
            (
                "lab.reduce(deep, lambda mod: np.isinf(with_zeros(mod)).any()).module",
                "passlab.parse('def @main(%x: Tensor[(4, 8), float32]) { rsqrt(%x) }')",
                "passlab.parse('def @main(%x: float32) { rsqrt(%x) }')",
            ),
            (
                "deep",
                "passlab.parse('def @main(%x: Tensor[(4, 8), float32]) { tanh(%x) }')",
                "passlab.parse('def @main(%x: float32) { 1f / %x }')",
                "passlab.parse('def @main(%x: float32) { rsqrt(nn.relu(%x)) }')",
                "passlab.parse('def @main(%x: float32) { log(%x) }')",
            ),
        ),
    ],
    "19-a-real-network": [
        (
            (
                "(rows[int(table['operators'].to_numpy().argmax())]['after'], 'FoldConstant', 'FuseOps')",
                "('SimplifyInference', 'FoldConstant', 'FuseOps')",
                "['SimplifyInference', 'FoldConstant', 'FuseOps']",
            ),
            (
                "('FoldConstant', 'SimplifyInference', 'FuseOps')",
                "('SimplifyInference', 'FoldScaleAxis', 'FuseOps')",
                "('SimplifyInference', 'FoldConstant', 'FoldScaleAxis')",
                "('SimplifyInference', 'FoldConstant')",
                "'FuseOps'",
            ),
        ),
        (
            (
                "'SimplifyInference, FoldConstant, FoldScaleAxis, FoldConstant, FuseOps'",
                "'SimplifyInference,FoldConstant,FoldScaleAxis,FuseOps'",
                "'InferType, SimplifyInference, FoldConstant, FoldScaleAxis, FuseOps'",
            ),
            (
                "'FuseOps, SimplifyInference, FoldConstant, FoldScaleAxis'",
                "'FuseOps'",
                "'SimplifyInference, FuseOps'",
                "'Foo'",
                "'InferType, SimplifyInference, FoldConstant, FoldScaleAxis, EliminateCommonSubexpr, CanonicalizeOps, FoldConstant, FuseOps'",
            ),
        ),
        (
            (
                FACTOR.format(FOLDED),
                FACTOR.format(FOLDED.replace("kernel.data * number.data", "number.data * kernel.data")),
                FACTOR.format(
                    "relay.Call(conv.op, [conv.args[0], relay.const(kernel.data * number.data)], conv.attrs)"
                ),
            ),
            (
                FACTOR.format("conv"),
                FACTOR.format(
                    "relay.Call(conv.op, [conv.args[0], relay.Constant(kernel.data + number.data)], conv.attrs)"
                ),
                FACTOR.format("node"),
                FACTOR.format("relay.nn.conv2d(conv.args[0], relay.Constant(kernel.data * number.data))"),
                FACTOR.format("number"),
            ),
        ),
    ],
    "20-porting-from-tvm": [
        (
            (
                "OLD.replace('import tvm', 'import passlab').replace('from tvm import', 'from passlab import').replace('tvm.nd.array(', '(').replace('.numpy()', '').replace('tvm.', 'passlab.')",
                "OLD.replace('.numpy()', '').replace('tvm.nd.array(np.arange(6, dtype=\"float32\").reshape(2, 3))', 'np.arange(6, dtype=\"float32\").reshape(2, 3)').replace('tvm', 'passlab')",
                "OLD.replace('tvm.nd.array', '').replace('.numpy()', '').replace('import tvm', 'import passlab as t').replace('from tvm', 'from passlab').replace('tvm.', 't.')",
            ),
            (
                "OLD",
                "'result = 1'",
                "OLD.replace('tvm', 'passlab')",
                "'import numpy as np\\nresult = np.maximum(np.arange(6).reshape(2, 3) - 1, 0)'",
                "'import'",
            ),
        ),
        (
            (
                "[name for name in EIGHT if is_missing(name)]",
                "tuple(name for name in EIGHT if is_missing(name))",
                "sorted((name for name in EIGHT if is_missing(name)), reverse=True)",
            ),
            (
                "list(EIGHT)",
                "['tvm.autotvm.measure_option']",
                "['tvm.relay.transform.FoldConstant']",
                "['measure_option', 'connect']",
                "[name for name in EIGHT if not is_missing(name)]",
            ),
        ),
        (
            (
                OLD_TOOL.format("before", "self.names += [info.name] if 'nn.relu' in mod.astext() else []"),
                OLD_TOOL.format("before", "if 'nn.relu(' in str(mod):\n            self.names.append(info.name)"),
                OLD_TOOL.format("before", "'nn.relu' in mod.astext() and self.names.append(info.name)"),
            ),
            (
                OLD_TOOL.format("before", "pass"),
                OLD_TOOL.format("before", "self.names.append(info.name)"),
                OLD_TOOL.format("before", "self.names.append(mod)"),
                OLD_TOOL.format("before", "'tanh' in mod.astext() and self.names.append(info.name)"),
                OLD_TOOL.format("before", "self.names += ['FoldConstant'] if 'nn.relu' in mod.astext() else []"),
            ),
        ),
    ],
    "23-fuzz-your-own-pass": [
        (
            (
                "'def @main(%x: Tensor[(4), float32]) { %0 = exp(%x); %1 = tanh(%x); %x * %0 + %1 * %0 }'",
                "'def @main(%x: Tensor[(4), float32]) { %0 = exp(%x); %x * %0 + abs(%x) * %0 }'",
                "'def @main(%x: Tensor[(4), float32]) { %0 = exp(%x); %1 = tanh(%x); %0 * %x + %1 * %x }'",
            ),
            (
                "'def @main(%x: Tensor[(4), float32]) { %0 = exp(%x); %x * %0 + %x * tanh(%x) }'",
                "'def @main(%x: Tensor[(4), float32]) { exp(%x) }'",
                "'def @main(%x: Tensor[(3), float32]) { %0 = exp(%x); %x * %0 + tanh(%x) * %0 }'",
                "'def @main(%x: Tensor[(4), float32]) { %0 = exp(%x); %1 = tanh(abs(sqrt(%x))); %x * %0 + %1 * %0 }'",
                "'def @main('",
            ),
        ),
        (
            (
                SUMS.format("a, b, c = rng.permutation(['%0', '%1', '%x'])", PROGRAM.format("{a} * {b} + {c} * {b}")),
                SUMS.format(
                    "a, c = rng.choice(['%0', '%1', '%x'], 2, replace=False); b = rng.choice(['%0', '%1', '%x'])",
                    PROGRAM.format("{a} * {b} + {c} * {b}"),
                ),
                SUMS.format(
                    "u = rng.choice(['exp', 'tanh', 'abs', 'sin', 'cos', 'sigmoid'])",
                    "f'def @main(%x: Tensor[(4), float32]) {{ %0 = {u}(%x); %1 = %0 + 1f; %0 * %x + %1 * %x }}'",
                ),
            ),
            (
                SUMS.format("pass", "'def @main(%x: Tensor[(4), float32]) { tanh(%x) }'"),
                SUMS.format("a, b, c = rng.permutation(['%0', '%1', '%x'])", PROGRAM.format("{a} * {b} + {a} * {c}")),
                SUMS.format("pass", "'def @main(%x: Tensor[(4), float32]) { %0 = exp(%x); %x * %0 + abs(%x) * %0 }'"),
                SUMS.format("a, b, c = rng.permutation(['%0', '%1', '%x'])", PROGRAM.format("{a} - {b} + {c}")),
                SUMS.format("pass", "str(rng.random())"),
            ),
        ),
        (
            (
                DEFEND.format(
                    "            if a is c: return relay.multiply(a, relay.add(b, d))\n            if b is d: return relay.multiply(relay.add(a, c), b)"
                ),
                DEFEND.format("            if a is c: return a * (b + d)\n            if b is d: return (a + c) * b"),
                DEFEND.format("            if b is d: return b * (a + c)\n            if a is c: return (d + b) * a"),
            ),
            (
                "factor_out",
                DEFEND.format("            return node"),
                DEFEND.format("            if a is c: return a * (b + d)"),
                DEFEND.format("            if a is c: return a * (b + d)\n            if b is d: return (a + c) * a"),
                DEFEND.format("            if a is c: return a * (b + d)\n            if b is d: return (a - c) * b"),
            ),
        ),
    ],
}
