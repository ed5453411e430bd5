"""Answers to the lessons on the pass manager, instruments, forms, fusion, functions, gradients and precision."""

from __future__ import annotations

INSTRUMENT = "@instrument.pass_instrument\nclass A:\n{}\nA"
NEGATED = "@transform.function_pass(opt_level={}, name={!r})\ndef p(func, mod, ctx):\n    return {}\np"
STACK = """    def __init__(self):
        self.changed, self.stack = [], []
    def run_before_pass(self, mod, info):
        self.stack.append(mod)
    def run_after_pass(self, mod, info):
        before = self.stack.pop()
        if {}:
            self.changed.{}
    def pass_failed(self, mod, info, error):
        self.stack.pop()"""
ONLY = "    def __init__(self, level):\n        self.level = level\n    def should_run(self, mod, info):\n        return {}"
BUDGET = """    def __init__(self, most):
        self.most = most
    def run_{}_pass(self, mod, info):
        if {}:
            raise {}"""
ERROR = "passlab.PasslabError(f'{info.name} is too large')"
HAND = '''"""
def @main(%x: float32, %c: bool) {{
{}
}}
"""'''
GOOD_HAND = "let %a = sqrt(%x); let %y = if (%c) {{ let %b = exp(%a); let %d = {}; %d }} else {{ %a }}; %y"
ANF = """
def f(expr):
    for node in post_order(expr):
        if isinstance(node, relay.Call) and not all(isinstance(a, {0}) for a in node.args):
            return False
        if isinstance(node, relay.Tuple) and not all(isinstance(a, {0}) for a in node.fields):
            return False
        if isinstance(node, relay.Let) and isinstance(node.value, relay.Let):
            return False
    return True
f
"""
CHAIN = """
def f(names):
    groups = []
    for name in names:
        kind = pattern_of(name)
        largest = max(map(pattern_of, groups[-1])) if groups else 8
        if {}:
            groups[-1].append(name)
        else:
            groups.append([name])
    return groups
f
"""
REVERSE = '''"""
type List[A] {{ Nil, Cons(A, List[A]) }}
{}
def @main(%xs: List[int32]) -> List[int32] {{ @reverse(%xs) }}
"""'''
GO = "def @go(%xs: List[int32], %done: List[int32]) -> List[int32] {{ match (%xs) {{ Nil => {}, Cons(%h, %t) => {} }} }}\ndef @reverse(%xs: List[int32]) -> List[int32] {{ @go(%xs, Nil) }}"
INLINE = """
class M(relay.ExprMutator):
    def visit_call(self, call):
        call = super().visit_call(call)
        if not isinstance(call.op, relay.Function):
            return call
{}
@transform.function_pass(opt_level=0)
def p(func, mod, ctx):
    return M().visit(func)
p
"""
RULES = "{{'subtract': lambda call, d: [d, {}], 'negative': lambda call, d: [{}], 'sqrt': lambda call, d: [{}], 'sigmoid': lambda call, d: [{}]}}"
CLIP = """
@transform.module_pass(opt_level=0)
def p(mod, ctx):
    main = mod["main"]
    pair = relay.var("pair", main.ret_type)
    ds = relay.TupleGetItem(pair, 1)
    fields = [{} for i in range(len(main.params))]
    body = relay.Let(pair, main.body, relay.Tuple([{}, relay.Tuple(fields)]))
    return mod.with_functions({{"main": relay.Function(main.params, body)}})
p
"""

CPS = '"""\ntype List[A] {{ Nil, Cons(A, List[A]) }}\ndef @sum(%xs: List[int32], %k: fn (int32) -> int32) -> int32 {{ match (%xs) {{ Nil => {}, Cons(%h, %t) => {} }} }}\ndef @main(%xs: List[int32]) -> int32 {{ @sum(%xs, fn (%s: int32) {{ %s }}) }}\n"""'
TOTAL = '"""\ntype List[A] { Nil, Cons(A, List[A]) }\ndef @sum(%xs: List[int32], %s: int32) -> int32 { match (%xs) { Nil => %s, Cons(%h, %t) => @sum(%t, %s + %h) } }\ndef @main(%xs: List[int32]) -> int32 { @sum(%xs, 0) }\n"""'
SLOPES = "def g(f, x):\n    result = np.zeros(len(x))\n    for i in range(len(x)):\n        up, down = {0}, {0}\n        up[i] += 1e-4\n        down[i] -= 1e-4\n        result[i] = {1}\n    return result\ng"

ANSWERS: dict[str, list[tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "07-pass-manager": [
        (
            (
                "['FuseOps', 'DeadCodeElimination', 'FastMath']",
                "('FuseOps', 'DeadCodeElimination', 'FastMath')",
                "'FuseOps DeadCodeElimination FastMath'.split()",
            ),
            (
                "['FuseOps', 'DeadCodeElimination']",
                "['FuseOps', 'DeadCodeElimination', 'FoldConstant', 'FastMath']",
                "['FastMath', 'FuseOps', 'DeadCodeElimination']",
                "'FuseOps, DeadCodeElimination, FastMath'",
                "['fuseops', 'deadcodeelimination', 'fastmath']",
            ),
        ),
        (
            (
                "'DeadCodeElimination, FoldConstant, FuseOps'",
                "'FoldConstant, DeadCodeElimination, FuseOps'",
                "'FoldConstant, FuseOps, DeadCodeElimination'",
                "'DeadCodeElimination,FoldConstant,  FuseOps'",
                "'FoldConstant, DeadCodeElimination,\\nFuseOps()'",
            ),
            (
                "'FuseOps, FoldConstant, DeadCodeElimination'",
                "'Foo'",
                "'FoldConstant, FuseOps'",
                "'FoldConstant, DeadCodeElimination, FuseOps, FuseOps'",
                "'DeadCodeElimination, FuseOps, FoldConstant'",
            ),
        ),
        (
            (
                "PassContext(opt_level=3, disabled_pass=['FuseOps'])",
                "PassContext(opt_level=4, disabled_pass=('FuseOps',))",
                "PassContext(opt_level=2, required_pass=['CanonicalizeOps'], disabled_pass=['FuseOps'])",
            ),
            (
                "PassContext()",
                "PassContext(opt_level=3)",
                "PassContext(disabled_pass=['FuseOps'])",
                "PassContext(opt_level=3, disabled_pass=['CanonicalizeOps'])",
                "PassContext(opt_level=0)",
            ),
        ),
        (
            (
                NEGATED.format(1, "negated", "relay.Function(func.params, relay.negative(func.body))"),
                NEGATED.format(1, "negated", "relay.Function(list(func.params), relay.negative(func.body))"),
                NEGATED.format(
                    1,
                    "negated",
                    "relay.Function(func.params, relay.Let(v := relay.var('v'), func.body, relay.negative(v)))",
                ),
            ),
            (
                NEGATED.format(1, "negated", "func"),
                NEGATED.format(0, "negated", "relay.Function(func.params, relay.negative(func.body))"),
                NEGATED.format(1, "other", "relay.Function(func.params, relay.negative(func.body))"),
                NEGATED.format(2, "negated", "relay.Function(func.params, relay.negative(func.body))"),
                NEGATED.format(1, "negated", "relay.Function(func.params, relay.negative(relay.negative(func.body)))"),
                NEGATED.format(1, "negated", "relay.Function(func.params, relay.negative(relay.abs(func.body)))"),
            ),
        ),
    ],
    "08-instruments": [
        (
            ("(6, 0)", "[6, 0]", "(2 * 3, 0)"),
            ("(8, 2)", "(0, 0)", "(6, 1)", "(7, 0)", "6"),
        ),
        (
            (
                INSTRUMENT.format(STACK.format("before is not mod", "append(info.name)")),
                INSTRUMENT.format(STACK.format("not (mod is before)", "extend([info.name])")),
                INSTRUMENT.format(STACK.format("id(before) != id(mod)", "insert(len(self.changed), info.name)")),
            ),
            (
                INSTRUMENT.format("    def __init__(self):\n        self.changed = []"),
                INSTRUMENT.format(STACK.format("True", "append(info.name)")),
                INSTRUMENT.format(
                    "    def __init__(self):\n        self.changed = []\n    def run_before_pass(self, mod, info):\n        self.before = mod\n    def run_after_pass(self, mod, info):\n        if mod is not self.before:\n            self.changed.append(info.name)"
                ),
                INSTRUMENT.format(STACK.format("before is not mod", "insert(0, info.name)")),
                INSTRUMENT.format(
                    STACK.format("before is not mod and info.name not in self.changed", "append(info.name)")
                ),
            ),
        ),
        (
            (
                INSTRUMENT.format(ONLY.format("info.opt_level <= self.level")),
                INSTRUMENT.format(ONLY.format("not info.opt_level > self.level")),
                INSTRUMENT.format(ONLY.format("self.level >= info.opt_level")),
            ),
            (
                INSTRUMENT.format("    def __init__(self, level):\n        self.level = level"),
                INSTRUMENT.format(ONLY.format("info.opt_level < self.level")),
                INSTRUMENT.format(ONLY.format("False")),
                INSTRUMENT.format(ONLY.format("info.name != 'FoldConstant' or self.level > 1")),
                INSTRUMENT.format(ONLY.format("True")),
            ),
        ),
        (
            (
                INSTRUMENT.format(BUDGET.format("after", "count_ops(mod['main']).total() > self.most", ERROR)),
                INSTRUMENT.format(
                    BUDGET.format("after", "sum(count_ops(mod['main']).values()) >= self.most + 1", ERROR)
                ),
                INSTRUMENT.format(
                    BUDGET.format(
                        "after",
                        "not count_ops(mod['main']).total() <= self.most",
                        "passlab.PasslabError('the pass ' + info.name)",
                    )
                ),
            ),
            (
                INSTRUMENT.format("    def __init__(self, most):\n        self.most = most"),
                INSTRUMENT.format(BUDGET.format("after", "count_ops(mod['main']).total() >= self.most", ERROR)),
                INSTRUMENT.format(BUDGET.format("before", "count_ops(mod['main']).total() > self.most", ERROR)),
                INSTRUMENT.format(
                    BUDGET.format(
                        "after", "count_ops(mod['main']).total() > self.most", "passlab.PasslabError('too large')"
                    )
                ),
                INSTRUMENT.format(BUDGET.format("after", "True", ERROR)),
                INSTRUMENT.format(
                    BUDGET.format("after", "count_ops(mod['main']).total() > self.most", "ValueError(info.name)")
                ),
            ),
        ),
    ],
    "09-normal-forms": [
        (
            (
                HAND.format(GOOD_HAND.format("%b * %b")),
                HAND.format(GOOD_HAND.format("multiply(%b, %b)")),
                HAND.format(GOOD_HAND.format("%b * %b").replace("%a", "%root")),
            ),
            (
                HAND.format("%0 = sqrt(%x); if (%c) { let %b = exp(%0); %b * %b } else { %0 }"),
                HAND.format(
                    "let %a = sqrt(%x); let %b = exp(%a); let %y = if (%c) { let %d = %b * %b; %d } else { %a }; %y"
                ),
                HAND.format("let %a = sqrt(%x); if (%c) { let %b = exp(%a); let %d = %b * %b; %d } else { %a }"),
                HAND.format(
                    "let %a = exp(%x); let %y = if (%c) { let %b = sqrt(%a); let %d = %b * %b; %d } else { %a }; %y"
                ),
                HAND.format("%x"),
            ),
        ),
        (
            ("(3 * 2, 2)", "(6, 2)", "[6, 2]"),
            ("(2, 6)", "(5, 2)", "(6, 1)", "'6, 2'", "6"),
        ),
        (
            (
                ANF.format("relay.Var"),
                ANF.format("(relay.Var,)"),
                "def f(expr):\n    for n in post_order(expr):\n        parts = n.args if isinstance(n, relay.Call) else n.fields if isinstance(n, relay.Tuple) else ()\n        if any(not isinstance(p, relay.Var) for p in parts):\n            return False\n        if isinstance(n, relay.Let) and isinstance(n.value, relay.Let):\n            return False\n    return True\nf",
            ),
            (
                "lambda expr: True",
                "lambda expr: False",
                ANF.format("(relay.Var, relay.Constant)"),
                "lambda expr: isinstance(expr, relay.Let)",
                "lambda expr: not any(isinstance(n, relay.Tuple) for n in post_order(expr))",
            ),
        ),
        (
            (
                "[count_ops(transform.ToANormalForm()(program(n))['main']).total() for n in (10, 20, 30)]",
                "[30, 60, 90]",
                "(30, 60, 90)",
            ),
            ("[...]", "[10, 20, 30]", "[30, 60, 91]", "[None, None, None]", "[30, 60]"),
        ),
    ],
    "10-operator-fusion": [
        (
            ("[len(of(text)) for text in FOUR]", "[1, 2, 1, 2]", "(1, 2, 1, 2)"),
            ("[1, 2, 2, 2]", "[1, 1, 1, 2]", "[1, 2, 1]", "[2, 1, 2, 1]", "'1212'"),
        ),
        (
            (
                "'nn.relu(nn.dense(exp(%x), %w))'",
                "'%0 = exp(%x); nn.relu(nn.dense(%0, %w))'",
                "'let %e = exp(%x); nn.relu(nn.dense(%e, %w))'",
            ),
            (
                "wasteful",
                "'nn.dense(exp(%x), %w)'",
                "'exp(%x)'",
                "'nn.relu(nn.dense(%x, %w))'",
                "'transpose(nn.relu(nn.dense(exp(%x), %w)))'",
            ),
        ),
        (
            (
                CHAIN.format("(kind <= 1 and largest in (0, 1, 2, 4)) or (kind in (2, 3) and largest <= 2)"),
                CHAIN.format("largest in (0, 1, 2) and kind <= 3 or largest == 4 and kind <= 1"),
                CHAIN.format(
                    "groups and ((largest <= 2 and kind in (0, 1, 2, 3)) or (largest == 4 and kind in (0, 1)))"
                ),
            ),
            (
                "lambda names: [[n] for n in names]",
                "lambda names: [list(names)]",
                CHAIN.format("largest <= 2"),
                CHAIN.format("kind <= 1 and groups"),
                CHAIN.format("kind <= 2 and largest <= 4"),
            ),
        ),
        (
            (
                "1 - traffic(together) / traffic(apart)",
                "round(1 - traffic(together) / traffic(apart), 2)",
                "float(np.float32(1 - traffic(together) / traffic(apart)))",
            ),
            ("traffic(together) / traffic(apart)", "0.5", "21", "'0.21'", "1 - traffic(apart) / traffic(together)"),
        ),
    ],
    "11-functions-and-data": [
        (
            (
                "(executed(COUNTED, 'alloc_closure', np.float32(1)), executed(COUNTED, 'invoke_closure', np.float32(1)))",
                "[executed(COUNTED, 'alloc_closure', np.float32(1)), executed(COUNTED, 'invoke_closure', np.float32(1))]",
                "tuple(executed(COUNTED, n, np.float32(1)) for n in ('alloc_closure', 'invoke_closure'))",
            ),
            ("(1, 2)", "(3, 3)", "(6, 2)", "2", "(100, 100)"),
        ),
        (
            (
                REVERSE.format(GO.format("%done", "@go(%t, Cons(%h, %done))")),
                REVERSE.format(GO.format("%done", "{ let %more = Cons(%h, %done); @go(%t, %more) }")),
                REVERSE.format(
                    "def @f(%a: List[int32], %b: List[int32]) -> List[int32] { match (%b) { Nil => %a, Cons(%h, %t) => @f(Cons(%h, %a), %t) } }\ndef @reverse(%xs: List[int32]) -> List[int32] { @f(Nil, %xs) }"
                ),
            ),
            (
                REVERSE.format("def @reverse(%xs: List[int32]) -> List[int32] { %xs }"),
                REVERSE.format(GO.format("Nil", "@go(%t, Cons(%h, %done))")),
                REVERSE.format(GO.format("%done", "Cons(%h, @go(%t, %done))")),
                REVERSE.format("def @reverse(%xs: List[int32]) -> List[int32] { Nil }"),
                REVERSE.format(
                    "def @end(%xs: List[int32], %n: int32) -> List[int32] { match (%xs) { Nil => Cons(%n, Nil), Cons(%h, %t) => Cons(%h, @end(%t, %n)) } }\ndef @reverse(%xs: List[int32]) -> List[int32] { match (%xs) { Nil => Nil, Cons(%h, %t) => @end(@reverse(%t), %h) } }"
                ),
            ),
        ),
        (
            (
                "lambda n: n + 2",
                "def f(n):\n    return 2 if n == 0 else 1 + f(n - 1)\nf",
                "lambda n: len([*range(n), 'main', 'empty'])",
            ),
            (
                "lambda n: n",
                "lambda n: n + 1",
                "lambda n: 2 * n + 2",
                "lambda n: 3",
                "lambda n: print(n + 2)",
                "lambda n: str(n + 2)",
                "lambda n: 2 if n == 0 else n + 3",
                "def f(n):\n    while True:\n        pass\nf",
            ),
        ),
    ],
    "11b-partial-evaluation": [
        (
            (
                "(multiplications(5), multiplications(6))",
                "[multiplications(5), multiplications(6)]",
                "tuple(map(multiplications, (5, 6)))",
            ),
            ("(50, 60)", "(0, 0)", "(1, 1)", "multiplications(5)", "('a', 'b')"),
        ),
        (
            ('"bd"', '["b", "d"]', '{"d", "b"}', '"b, d"', '"BD"', '["bd"]'),
            ('"abd"', '"b"', '"d"', '"ace"', "2", '["a", "e"]', '"abcde"'),
        ),
        (
            (
                CPS.format("%k(0)", "@sum(%t, fn (%s: int32) { %k(%h + %s) })"),
                CPS.format("%k(0)", "{ let %rest = fn (%x: int32) -> int32 { %k(add(%x, %h)) }; @sum(%t, %rest) }"),
                CPS.replace("%k", "%then").format(
                    "%then(0)", "@sum(%t, fn (%s) {{ %then(%s + %h) }})".replace("{{", "{").replace("}}", "}")
                ),
            ),
            (
                CPS.format("%k(0)", "%k(%h + @sum(%t, fn (%s: int32) { %s }))"),
                CPS.format("0", "@sum(%t, fn (%s: int32) { %k(%h + %s) })"),
                CPS.format("%k(1)", "@sum(%t, fn (%s: int32) { %k(%h + %s) })"),
                CPS.format("%k(0)", "@sum(%t, fn (%s: int32) { %k(%s) })"),
                CPS.format("%k(0)", "@sum(%t, %k)"),
                CPS.format("%k(0)", "@sum(%xs, fn (%s: int32) { %k(%h + %s) })"),
                "'not a program'",
                TOTAL,
            ),
        ),
        (
            (
                INLINE.format(
                    "        body = call.op.body\n        for p, a in reversed(list(zip(call.op.params, call.args))):\n            body = relay.Let(p, a, body)\n        return body"
                ),
                INLINE.format(
                    "        pairs, body = list(zip(call.op.params, call.args)), call.op.body\n        while pairs:\n            body = relay.Let(*pairs.pop(), body)\n        return body"
                ),
                INLINE.format(
                    "        new = [relay.var(p.name_hint) for p in call.op.params]\n        body = relay.bind(call.op.body, dict(zip(call.op.params, new)))\n        for p, a in reversed(list(zip(new, call.args))):\n            body = relay.Let(p, a, body)\n        return body"
                ),
            ),
            (
                INLINE.format("        return call"),
                INLINE.format(
                    "        (p,), (a,) = call.op.params, call.args\n        return relay.Let(p, a, call.op.body)"
                ),
                INLINE.format("        return call.op.body"),
                INLINE.format("        return call.args[0]"),
                INLINE.format(
                    "        return relay.Let(call.op.params[0], call.args[0], relay.negative(call.op.body))"
                ),
                INLINE.format("        return relay.Let(call.op.params[0], relay.exp(call.args[0]), call.op.body)"),
            ),
        ),
    ],
    "12-gradients": [
        (
            (
                RULES.format(
                    "relay.negative(d)",
                    "relay.negative(d)",
                    "d / (call + call)",
                    "d * call * (relay.const(1.0) - call)",
                ),
                RULES.format(
                    "relay.const(-1.0) * d",
                    "relay.const(0.0) - d",
                    "relay.const(0.5) * d / call",
                    "d * (call - call * call)",
                ),
                RULES.format(
                    "relay.negative(d)",
                    "relay.negative(d)",
                    "d * relay.const(0.5) * relay.rsqrt(call.args[0])",
                    "d * relay.sigmoid(call.args[0]) * (relay.const(1.0) - relay.sigmoid(call.args[0]))",
                ),
            ),
            (
                RULES.format("d", "relay.negative(d)", "d / (call + call)", "d * call * (relay.const(1.0) - call)"),
                RULES.format("relay.negative(d)", "d", "d / (call + call)", "d * call * (relay.const(1.0) - call)"),
                RULES.format(
                    "relay.negative(d)", "relay.negative(d)", "d / call", "d * call * (relay.const(1.0) - call)"
                ),
                RULES.format("relay.negative(d)", "relay.negative(d)", "d / (call + call)", "d * call"),
                "{'subtract': lambda call, d: [d, relay.negative(d)]}",
            ),
        ),
        (
            ("lambda n: 4 * n", "lambda n: n * 4", "lambda n: n + 3 * n"),
            ("lambda n: n", "lambda n: 4", "lambda n: 3 * n + 1", "lambda n: 5 * n - 1", "{1: 4, 2: 8}.get"),
        ),
        (
            (
                SLOPES.format("x.astype('float64')", "(f(up) - f(down)) / (2 * 1e-4)"),
                "def f(f, x):\n    e = 1e-5 * np.eye(len(x))\n    return [(f(x + d) - f(x - d)) / 2e-5 for d in e]\nf",
                "lambda f, x: np.array([(f(x + d) - f(x - d)) / 0.002 for d in np.diag(np.full(x.size, 0.001))])",
                "lambda f, x: tuple((f(x + d) - f(x - d)) / 2e-4 for d in 1e-4 * np.identity(x.shape[0]))",
            ),
            (
                SLOPES.format("x", "(f(up) - f(down)) / (2 * 1e-4)"),
                SLOPES.format("x.copy()", "(f(up) - f(down)) / 1e-4"),
                SLOPES.format("x.copy()", "(f(down) - f(up)) / (2 * 1e-4)"),
                SLOPES.format("x.copy()", "f(up) - f(down)"),
                "lambda f, x: (f(x + 1e-4) - f(x - 1e-4)) / 2e-4",
                "lambda f, x: [(f(x + 1) - f(x - 1)) / 2 for _ in x]",
                "lambda f, x: print(np.zeros(len(x)))",
                "lambda f, x: ...",
                "lambda f, x: [(f(v + 1e-4) - f(v - 1e-4)) / 2e-4 for v in x]",
            ),
        ),
    ],
    "12b-training": [
        (
            (
                "lambda p, labels: -np.mean(np.sum(labels * np.log(p), axis=1))",
                "lambda p, labels: float(-np.log(p[labels == 1]).mean())",
                "def f(p, t):\n    total = 0\n    for row, one in zip(p, t):\n        total = total - np.log(row[list(one).index(1)])\n    return total / len(p)\nf",
                "lambda p, labels: -np.log(np.einsum('ij,ij->i', p, labels)).mean()",
            ),
            (
                "lambda p, labels: np.mean(np.sum(labels * np.log(p), axis=1))",
                "lambda p, labels: -np.sum(labels * np.log(p))",
                "lambda p, labels: -np.mean(labels * np.log(p))",
                "lambda p, labels: -np.mean(np.sum(p * np.log(p), axis=1))",
                "lambda p, labels: -np.mean(np.sum(labels * np.log2(p), axis=1))",
                "lambda p, labels: print(0.5)",
                "lambda p, labels: -np.sum(labels * np.log(p), axis=1)",
            ),
        ),
        (
            (
                "def f(w, s, v):\n    v = 0.9 * v - 0.3 * s\n    return w + v, v\nf",
                "lambda w, s, v: [w + 0.9 * v - 0.3 * s, 0.9 * v - 0.3 * s]",
                "def f(w, s, v):\n    new = np.add(np.multiply(v, 0.9), np.multiply(s, -0.3))\n    return (np.add(w, new), new)\nf",
            ),
            (
                "lambda w, s, v: (w + v, 0.9 * v - 0.3 * s)",
                "lambda w, s, v: (w - 0.3 * s, v)",
                "lambda w, s, v: w + 0.9 * v - 0.3 * s",
                "lambda w, s, v: (0.9 * v - 0.3 * s, w + 0.9 * v - 0.3 * s)",
                "lambda w, s, v: (w + 0.9 * v + 0.3 * s, 0.9 * v + 0.3 * s)",
                "def f(w, s, v):\n    v *= 0.9\n    v -= 0.3 * s\n    return w + v, v\nf",
                "def f(w, s, v):\n    v = 0.9 * v - 0.3 * s\n    w += v\n    return w, v\nf",
            ),
        ),
        (
            (
                CLIP.format("relay.clip(relay.TupleGetItem(ds, i), -1.0, 1.0)", "relay.TupleGetItem(pair, 0)"),
                CLIP.format(
                    "relay.minimum(relay.maximum(relay.TupleGetItem(ds, i), relay.const(-1.0)), relay.const(1.0))",
                    "relay.TupleGetItem(pair, 0)",
                ),
                CLIP.format(
                    "relay.maximum(relay.minimum(ds_i := relay.TupleGetItem(ds, i), relay.const(1.0)), relay.const(-1.0))",
                    "relay.TupleGetItem(pair, 0)",
                ),
            ),
            (
                CLIP.format("relay.TupleGetItem(ds, i)", "relay.TupleGetItem(pair, 0)"),
                CLIP.format("relay.clip(relay.TupleGetItem(ds, i), 0.0, 1.0)", "relay.TupleGetItem(pair, 0)"),
                CLIP.format(
                    "relay.clip(relay.TupleGetItem(ds, i), -1.0, 1.0)",
                    "relay.clip(relay.TupleGetItem(pair, 0), -1.0, 1.0)",
                ),
                CLIP.format("relay.clip(relay.TupleGetItem(ds, 0), -1.0, 1.0)", "relay.TupleGetItem(pair, 0)"),
                CLIP.format("relay.tanh(relay.TupleGetItem(ds, i))", "relay.TupleGetItem(pair, 0)"),
            ),
        ),
    ],
}
