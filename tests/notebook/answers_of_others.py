"""Answers of other people: right ones that checks refused, and wrong ones that they took, before they were mended.

By lesson and exercise: right answers, and wrong ones.
"""

from __future__ import annotations

OTHERS: dict[str, dict[int, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "02-reading-relay": {
        1: (
            (
                "passlab.parse('''def @main(%x: Tensor[(2), float32]) { (fn (%e: Tensor[(2), float32]) { %e + %e * %e })(exp(%x)) }''')",
                "passlab.parse('''def @f(%e: Tensor[(2), float32]) { %e + %e * %e } def @main(%x: Tensor[(2), float32]) { @f(exp(%x)) }''')",
                "passlab.parse('''def @e(%x: Tensor[(2), float32]) { exp(%x) } def @main(%x: Tensor[(2), float32]) { %0 = @e(%x); %0 + %0 * %0 }''')",
            ),
            (
                "passlab.parse('''def @main(%x: Tensor[(2), float32]) { %0 = fn (%y: Tensor[(2), float32]) { exp(%y) }; %0(%x) + %0(%x) * %0(%x) }''')",
                "passlab.parse('''def @e(%x: Tensor[(2), float32]) { exp(%x) } def @main(%x: Tensor[(2), float32]) { @e(%x) + @e(%x) * @e(%x) }''')",
            ),
        ),
    },
    "03-types-by-hand": {
        2: (
            (
                "'\\ndef @main(%x: Tensor[(2, 3), float32]  /* rows, columns */, %b) {\\n  let %y = nn.bias_add(%x, %b);\\n  nn.relu(%y)\\n}\\n'",
                "'\\ndef @main(%x: Tensor[(2, 3), float32], %b) {\\n  // the bias follows\\n  let %y = nn.bias_add(%x, %b);\\n  nn.relu(%y)\\n}\\n'",
            ),
            (),
        ),
        5: (
            (),
            (
                """
import numpy as np
def shape_of(op, shapes, attrs):
    x = tuple(shapes[0])
    if op == "nn.conv2d":
        t, l, b, r = attrs.get("padding") or (0, 0, 0, 0)
        k = shapes[1]
        return (x[0], k[0], x[2] + t + b - k[2] + 1, x[3] + l + r - k[3] + 1)
    if op == "nn.dense": return (x[0], shapes[1][0])
    if op == "nn.max_pool2d":
        return x[:2] + tuple((x[i + 2] - attrs["pool_size"][i]) // attrs["strides"][i] + 1 for i in (0, 1))
    if op == "nn.batch_flatten": return (x[0], int(np.prod(x[1:])))
    if op == "expand_dims":
        out = list(x)
        for _ in range(attrs.get("num_newaxis", 1)): out.insert(attrs["axis"], 1)
        return tuple(out)
    if op in ("nn.relu", "nn.softmax", "nn.bias_add", "nn.batch_norm"): return x
    return max(shapes, key=len)
shape_of
""",
            ),
        ),
    },
    "04-your-first-pass": {
        3: (
            (
                """
class C(CallChecker):
    def check(self, expr):
        self.__init__()
        return super().check(expr)
C
""",
            ),
            (),
        ),
        4: (
            (),
            (
                """class M(relay.ExprMutator):
    def visit_call(self, c):
        d = super().visit_call(c)
        n = relay.op.get('negative')
        if d.op == n and isinstance(d.args[0], relay.Call) and d.args[0].op == n: return d.args[0].args[0]
        return d
    def visit_if(self, i): return i
    def visit_let(self, l): return l
@transform.function_pass(opt_level=1)
def p(func, mod, ctx): return M().visit(func)
p""",
            ),
        ),
    },
    "04b-tracing-python": {
        2: (
            (
                """
class Number:
    def __init__(self, expr):
        self.expr = expr
    def lift(self, v):
        return v.expr if isinstance(v, Number) else relay.const(v, "float32")
    def __add__(self, o): return Number(relay.add(self.expr, self.lift(o)))
    def __radd__(self, o): return Number(relay.add(self.lift(o), self.expr))
    def __sub__(self, o): return self + (-o)
    def __rsub__(self, o): return (-self) + o
    def __mul__(self, o): return Number(relay.multiply(self.expr, self.lift(o)))
    def __rmul__(self, o): return Number(relay.multiply(self.lift(o), self.expr))
    def __truediv__(self, o): return Number(relay.divide(self.expr, self.lift(o)))
    def __neg__(self): return Number(relay.negative(self.expr))
Number
""",
            ),
            (
                """
class Number:
    def __init__(self, expr):
        self.expr = expr
    def lift(self, v):
        return v.expr if isinstance(v, Number) else relay.const(v, "float32")
    def __add__(self, o): return Number(relay.add(self.expr, self.lift(o)))
    def __radd__(self, o): return Number(relay.add(self.lift(o), self.expr))
    def __sub__(self, o): return Number(relay.subtract(self.expr, self.lift(o)))
    def __rsub__(self, o): return Number(relay.subtract(self.lift(o), self.expr))
    def __mul__(self, o): return Number(relay.multiply(self.expr, self.lift(o)))
    def __rmul__(self, o): return Number(relay.multiply(self.lift(o), self.expr))
    def __truediv__(self, o): return Number(relay.divide(self.expr, relay.const(float(o))))
    def __neg__(self): return Number(relay.negative(self.expr))
Number
""",
            ),
        ),
    },
    "05-constant-folding": {
        2: (
            (),
            (
                """
class T(ConstantFolder):
    def visit_let(self, let):
        v = self.visit(let.value)
        if isinstance(v, relay.Tuple) and isinstance(v.fields[0], (relay.Var, relay.Constant)):
            self.memo_map[let.var] = v
            return self.visit(let.body)
        return super().visit_let(let)
T
""",
            ),
        ),
        4: (
            (),
            (
                """
class C(ConstantFolder):
    def visit_call(self, call):
        try:
            return super().visit_call(call)
        except passlab.PasslabError:
            return call
C
""",
                """
class C(ConstantFolder):
    def visit_call(self, call):
        if any(isinstance(a, relay.Constant) and not a.data.any() for a in call.args):
            return ExprMutator.visit_call(self, call)
        return super().visit_call(call)
C
""",
            ),
        ),
    },
    "06-pattern-rewriting": {
        5: (
            (),
            (
                """
from passlab.course.own import Step
def open_norm(program):
    out = []
    for s in program.steps:
        if s.op != "nn.batch_norm":
            out.append(s); continue
        d, g, b, mu, v = s.args
        eps = s.attrs.get("epsilon", 1e-5)
        n = lambda t: s.name + "_" + t
        ex = {"axis": 1, "num_newaxis": 2}
        out += [Step("e", "add", (v, eps), {}), Step(n("q"), "sqrt", ("e",), {}), Step(n("s"), "divide", (g, n("q")), {}), Step(n("m"), "multiply", (mu, n("s")), {}), Step(n("t"), "subtract", (b, n("m")), {}), Step(n("S"), "expand_dims", (n("s"),), ex), Step(n("T"), "expand_dims", (n("t"),), ex), Step(n("p"), "multiply", (n("S"), d), {}), Step(s.name, "add", (n("p"), n("T")), {})]
    return program._replace(steps=out)
open_norm
""",
            ),
        ),
    },
    "07-pass-manager": {
        2: (
            (
                "'FoldConstant, DeadCodeElimination, FuseOps(fuse_opt_level=2)'",
                """'''
# first what can be computed
FoldConstant
DeadCodeElimination   # then what nobody needs
FuseOps
'''""",
            ),
            (),
        ),
        4: (
            (
                """
@transform.function_pass(opt_level=1, name='negated')
def q(func, mod, ctx):
    return relay.Function(func.params, relay.const(-1.0) * func.body)
q
""",
            ),
            (
                """
@transform.function_pass(opt_level=1, name='negated')
def q(func, mod, ctx):
    return relay.Function(func.params, relay.abs(func.body) * relay.const(-1.0))
q
""",
            ),
        ),
        5: (
            (),
            (
                """
def run_passes(passes, program, disabled=()):
    log = []
    for name, function in passes:
        if name in disabled:
            log.append((name, 'skipped'))
            continue
        new = function(program)
        seen = {*new.inputs, *new.weights, *(s.name for s in new.steps)}
        for s in new.steps:
            for a in s.args:
                if isinstance(a, str) and a not in seen:
                    raise ValueError(name)
        log.append((name, 'unchanged' if list(new.steps) == list(program.steps) else 'changed'))
        program = new
    return program, log
run_passes
""",
                """
def run_passes(passes, program, disabled=()):
    log = []
    for name, function in passes:
        if name in disabled:
            log.append((name, 'skipped'))
            continue
        new = function(program)
        seen = set(program.inputs) | set(program.weights)
        for s in new.steps:
            bad = [a for a in s.args if isinstance(a, str) and a not in seen]
            if bad:
                raise ValueError(name + ' leaves ' + bad[0])
            seen.add(s.name)
        log.append((name, 'unchanged' if list(new.steps) == list(program.steps) else 'changed'))
        program = new
    return program, log
run_passes
""",
            ),
        ),
    },
    "08-instruments": {
        2: (
            (),
            (
                """
@instrument.pass_instrument
class I:
    def __init__(self):
        self.changed, self.s = [], []
    def run_before_pass(self, mod, info):
        self.s.append((mod, len(self.changed)))
    def run_after_pass(self, mod, info):
        old, at = self.s.pop()
        if old is not mod: self.changed.insert(at, info.name)
I
""",
            ),
        ),
        4: (
            (),
            (
                """
@instrument.pass_instrument
class I:
    def __init__(self, most):
        self.most = most
    def run_after_pass(self, mod, info):
        if sum(count_ops(f).total() for f in mod.functions.values()) > self.most: raise passlab.PasslabError(info.name)
I
""",
            ),
        ),
    },
    "09-normal-forms": {
        5: (
            (),
            (
                """
def normalise(program):
    need, keep = {program.steps[-1].name}, []
    for s in program.steps[::-1]:
        if s.name in need:
            keep = [s] + keep
            need |= set(s.args)
    new, table, out = {}, {}, []
    for s in keep:
        args = tuple(new.get(a, a) for a in s.args)
        key = (s.op, s.args, str(s.attrs))
        if key in table:
            new[s.name] = table[key]
            continue
        label = f'v{len(out)}'
        new[s.name] = table[key] = label
        out.append(type(s)(label, s.op, args, s.attrs))
    return program._replace(steps=out)
normalise
""",
                """
def normalise(program):
    need, keep = {program.steps[-1].name}, []
    for s in program.steps[::-1]:
        if s.name in need:
            keep = [s] + keep
            need |= set(s.args)
    new, table, out = {}, {}, []
    for s in keep:
        args = tuple(new.get(a, a) for a in s.args)
        key = (s.op, tuple(sorted(map(str, args))), str(s.attrs))
        if key in table:
            new[s.name] = table[key]
            continue
        label = f'v{len(out)}'
        new[s.name] = table[key] = label
        out.append(type(s)(label, s.op, args, s.attrs))
    return program._replace(steps=out)
normalise
""",
                """
def normalise(program):
    need, keep = {program.steps[-1].name}, []
    for s in program.steps[::-1]:
        if s.name in need:
            keep = [s] + keep
            need |= set(s.args)
    new, table, out = {}, {}, []
    for s in keep:
        args = tuple(new.get(a, a) for a in s.args)
        key = (s.op, frozenset(args), str(s.attrs))
        if key in table:
            new[s.name] = table[key]
            continue
        label = f'v{len(out)}'
        new[s.name] = table[key] = label
        out.append(type(s)(label, s.op, args, s.attrs))
    return program._replace(steps=out)
normalise
""",
            ),
        ),
    },
    "10-operator-fusion": {
        3: (
            (),
            (
                """
def groups(names):
    out, top = [], None
    for n in names:
        p = pattern_of(n)
        if top is not None and ((p in (0, 1) and top != 3) or (p in (2, 3) and top <= 2)):
            out[-1].append(n)
            top = max(top, p)
        else:
            out.append([n])
            top = p
    return out[::-1]
groups
""",
            ),
        ),
        5: (
            (),
            (
                """
from passlab.course.own import ELEMENTWISE
def fuse(program, shapes):
    uses = {}
    for s in program.steps:
        for a in s.args:
            uses[a] = uses.get(a, 0) + 1
    groups, where = [], {}
    for s in program.steps:
        f = s.args[0]
        if s.op in ELEMENTWISE and f in where and uses[f] == 1 and len(shapes[f]) == len(shapes[s.name]):
            g = where[f]
        else:
            g = []
            groups.append(g)
        g.append(s.name)
        where[s.name] = g
    order = {s.name: i for i, s in enumerate(program.steps)}
    groups.sort(key=lambda g: order[g[-1]])
    return groups
fuse
""",
                """
from passlab.course.own import ELEMENTWISE
def fuse(program, shapes):
    uses = {}
    for s in program.steps:
        for a in s.args:
            uses[a] = uses.get(a, 0) + 1
    groups, where = [], {}
    for s in program.steps:
        f = s.args[0]
        if s.op in ELEMENTWISE and f in where and uses[f] == 1 and shapes[f] == shapes[s.name] and len(where[f]) < 3:
            g = where[f]
        else:
            g = []
            groups.append(g)
        g.append(s.name)
        where[s.name] = g
    order = {s.name: i for i, s in enumerate(program.steps)}
    groups.sort(key=lambda g: order[g[-1]])
    return groups
fuse
""",
            ),
        ),
    },
    "11b-partial-evaluation": {
        2: (("'B and D'",), ("'bd?c'",)),
        3: (
            (
                "'\\ntype List[A] { Nil, Cons(A, List[A]) }\\ndef @sum(%xs: List[int32], %k: fn (int32) -> int32) -> int32 { @cps(%xs, %k) }\\ndef @cps(%xs: List[int32], %k: fn (int32) -> int32) -> int32 { match (%xs) { Nil => %k(0), Cons(%h, %t) => @cps(%t, fn (%s: int32) -> int32 { %k(%s + %h) }) } }\\ndef @main(%xs: List[int32]) -> int32 { @sum(%xs, fn (%s: int32) { %s }) }\\n'",
            ),
            (
                "'\\ntype List[A] { Nil, Cons(A, List[A]) }\\ndef @go(%xs: List[int32], %acc: int32, %k: fn (int32) -> int32) -> int32 { match (%xs) { Nil => %k(%acc), Cons(%h, %t) => @go(%t, %acc + %h, %k) } }\\ndef @sum(%xs: List[int32], %k: fn (int32) -> int32) -> int32 { @go(%xs, 0, fn (%s: int32) { %k(%s) }) }\\ndef @main(%xs: List[int32]) -> int32 { @sum(%xs, fn (%s: int32) { %s }) }\\n'",
                "'\\ntype List[A] { Nil, Cons(A, List[A]) }\\ndef @go(%xs: List[int32], %acc: int32, %k: fn (int32) -> int32) -> int32 { match (%xs) { Nil => %k(%acc), Cons(%h, %t) => @go(%t, %acc + %h, fn (%s: int32) { %k(%s) }) } }\\ndef @sum(%xs: List[int32], %k: fn (int32) -> int32) -> int32 { @go(%xs, 0, %k) }\\ndef @main(%xs: List[int32]) -> int32 { @sum(%xs, fn (%s: int32) { %s }) }\\n'",
            ),
        ),
        4: (
            (),
            (
                """
class M(relay.ExprMutator):
    def visit_call(self, call):
        new = super().visit_call(call)
        if isinstance(new.op, relay.Function):
            return relay.bind(new.op.body, dict(zip(new.op.params, new.args)))
        return new
@transform.function_pass(opt_level=0)
def p(func, mod, ctx):
    return M().visit(func)
p
""",
            ),
        ),
    },
    "15-memory": {
        4: (
            (),
            (
                """def plan(lives):
    out, ends = {}, []
    for l in sorted(lives, key=lambda l: l.born):
        for i, e in enumerate(ends):
            if e < l.born:
                out[l.name] = i; ends[i] = l.dies; break
        else:
            out[l.name] = len(ends); ends.append(l.dies)
    return {k: v % max(1, len(ends) - 1) if len(ends) > 6 else v for k, v in out.items()}
plan""",
            ),
        ),
    },
    "16-dynamic-shapes": {
        2: (
            (),
            (
                """def shape(shapes, axis):
    rank = len(shapes[0])
    axis = axis + rank if axis < 0 else axis
    for s in shapes[1:2]:
        if len(s) != rank or any(s[i] != shapes[0][i] for i in range(rank) if i != axis):
            raise ValueError('no')
    out = list(shapes[0])
    out[axis] = sum(s[axis] for s in shapes)
    return tuple(out)
shape""",
            ),
        ),
        3: (
            (),
            (
                """
@transform.function_pass(opt_level=0)
def b(func, mod, ctx):
    new = [relay.var(p.name_hint, relay.TensorType([8 if isinstance(d, relay.Any) else d for d in p.checked_type.shape], 'float32')) for p in func.params]
    return relay.Function(new, relay.bind(func.body, dict(zip(func.params, new))))
b
""",
            ),
        ),
    },
    "17-time-travel": {
        2: (
            (),
            (
                "lambda v: v.size > 0 and max(v.max(), -v.min()) >= 999.5",
                "lambda v: v.size > 0 and abs(v.max()) > 1000",
            ),
        ),
    },
    "19-a-real-network": {
        2: (
            (),
            (
                """'''
InferType
SimplifyInference
FoldConstant
FoldScaleAxis
FoldConstant
FuseOps
'''""",
            ),
        ),
    },
    "19b-search-and-e-graphs": {
        2: (
            (
                """def equal(pairs, a, b):
    import numpy as np
    ids = sorted({a, b, *(n for p in pairs for n in p)})
    at = {n: i for i, n in enumerate(ids)}
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components
    r = [at[x] for x, _ in pairs]; c = [at[y] for _, y in pairs]
    _, label = connected_components(coo_matrix((np.ones(len(r)), (r, c)), shape=(len(ids),) * 2), directed=False)
    return label[at[a]] == label[at[b]]
equal""",
            ),
            (),
        ),
    },
    "19c-a-model-from-outside": {
        3: (
            (),
            (
                """def agree(one, other, image):
    out = []
    for m in (one, other):
        mod, p = relay.frontend.from_onnx(m)
        out.append(relay.create_executor('vm', mod).evaluate()(image))
    return bool(np.array_equal(out[0], out[1]))
agree""",
                "lambda one, other, image: one == other",
            ),
        ),
    },
    "23-fuzz-your-own-pass": {
        3: (
            (),
            (
                """
@transform.function_pass(opt_level=1)
def fo(func, mod, ctx):
    def rule(before, n):
        if calls(n, 'add') and calls(n.args[0], 'multiply') and calls(n.args[1], 'multiply'):
            (a, b), (c, d) = n.args[0].args, n.args[1].args
            if calls(a, 'exp') and calls(c, 'exp') or a is c: return a * (b + d)
            if b is d: return (a + c) * b
        return n
    return rewrite(func, rule, only=(relay.Call,))
fo
""",
            ),
        ),
    },
}
