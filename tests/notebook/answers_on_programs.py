"""Answers to the lessons on the language, on first passes, folding and patterns."""

from __future__ import annotations

PARSE = "passlab.parse('''{}''')"
X2 = "def @main(%x: Tensor[(2), float32]) {{ {} }}"
PAIR = "def @main(%p: (Tensor[(2), float32], int32)) {{ {} }}"
TREE = """
type Tree[A] {{ Leaf(A), Node(Tree[A], Tree[A]) }}
def @leaves(%t: Tree[float32]) -> int32 {{ {} }}
def @main() -> int32 {{ @leaves(Node(Leaf(1f), Node(Leaf(2f), Leaf(4f)))) }}
"""


def x2(*bodies: str) -> tuple[str, ...]:
    return tuple(PARSE.format(X2.format(body)) for body in bodies)


def pair(*bodies: str) -> tuple[str, ...]:
    return tuple(PARSE.format(PAIR.format(body)) for body in bodies)


def tree(*bodies: str) -> tuple[str, ...]:
    return tuple(PARSE.format(TREE.format(body)) for body in bodies)


COMPOSE = '''"""
def @compose{}
def @main(%x: Tensor[(5), float32]) {{
  (@compose(fn (%i) {{ %i + 1 }}, fn (%v) {{ argmax(%v) }}, %x),
   @compose(fn (%v) {{ tanh(%v) }}, fn (%v) {{ exp(%v) }}, %x))
}}
"""'''
ENOUGH = '"""\ndef @main({}, {}) {{\n  let %y = nn.bias_add(%x, %b);\n  nn.relu(%y)\n}}\n"""'

NAMES = """
class A(ExprVisitor):
    def visit_call(self, call):
        {}
    def names(self, expr):
        {}
        self.visit(expr)
        return {}
A
"""
COLLAPSE = """
class A(ExprMutator):
    def visit_if(self, node):
{}
A
"""
PATIENT = """
class A(CallChecker):
    def check(self, expr):
{}
A
"""
DOUBLE = """
class M(ExprMutator):
    def visit_call(self, call):
        call = super().visit_call(call)
{}
@transform.function_pass(opt_level={})
def p(func, mod, ctx):
    return M().visit(func)
p
"""
NEG = "isinstance({0}, relay.Call) and {0}.op == relay.op.get('negative')"
TUPLES = """
class A(ConstantFolder):
    def visit_let(self, let):
        value = self.visit(let.value)
        if isinstance(value, relay.Tuple) and {}:
            self.memo_map[let.var] = value
            return self.visit(let.body)
        return super().visit_let(let)
A
"""
SHAPES = """
class A(ConstantFolder):
    def visit_call(self, call):
        if call.op == relay.op.get("shape_of"):
{}
        return super().visit_call(call)
A
"""
CAREFUL = """
class A(ConstantFolder):
    def visit_call(self, call):
        try:
            return super().visit_call(call)
        except {}:
            return {}
A
"""
DIVISION = """
class A(DFPatternCallback):
    def __init__(self):
        super().__init__()
        self.a, self.b = wildcard(), wildcard()
        self.pattern = is_op("divide")(self.a, is_op("sqrt")(self.b))
    def callback(self, pre, post, node_map):
        (a,), (b,) = node_map[self.a], node_map[self.b]
        return {}
A
"""
ZERO = """
class A(PlusZero):
    def callback(self, pre, post, node_map):
        (x,), (zero,) = node_map[self.x], node_map[self.zero]
        return {}
A
"""
PATTERN = "is_op('divide')({}, {})"
TAIL = "is_op('add')({}, is_op('exp')(is_op('negative')(wildcard())))"

ANSWERS: dict[str, list[tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "02-reading-relay": [
        (
            x2(
                "%0 = exp(%x); add(%0, multiply(%0, %0))",
                "%0 = exp(%x); %0 * %0 + %0",
                "%0 = exp(%x); %1 = %0 * %0; %0 + %1",
            ),
            x2(
                "add(exp(%x), multiply(exp(%x), exp(%x)))",
                "let %e = exp(%x); %e + %e * %e",
                "%0 = exp(%x); %0 * %0",
                "exp(%x)",
                "%0 = exp(%x); %0 + %0",
                "%0 = tanh(%x); %0 + %0 * %0",
            ),
        ),
        (("(4, 15)", "[4, 15]", "(2 + 2, 2**4 - 1)"), ("(4, 8)", "(15, 4)", "'4, 15'", "(4, 16)", "4", "(4.5, 15)")),
        (
            pair("(%p.1, %p.0)", "let %q = %p; (%q.1, %q.0)", "%0 = %p.0; (%p.1, %0)"),
            pair("%p", "(3, %p.0)", "(%p.1, zeros_like(%p.0))", "(%p.0, %p.1)", "(%p.1 + 0 * 2 + 1, %p.0)", "%p.1"),
        ),
        (
            tree(
                "match (%t) { Leaf(_) => 1, Node(%l, %r) => @leaves(%l) + @leaves(%r) }",
                "match (%t) { Node(%l, %r) => @leaves(%r) + @leaves(%l), Leaf(_) => 1 }",
                "match (%t) { Leaf(%x) => 1, Node(%l, %r) => { let %a = @leaves(%l); %a + @leaves(%r) } }",
            ),
            tree(
                "match (%t) { Leaf(_) => 3, Node(%l, %r) => 3 }",
                "match (%t) { Leaf(_) => 0, Node(%l, %r) => @leaves(%l) + @leaves(%r) }",
                "match (%t) { Leaf(_) => 1, Node(%l, %r) => @leaves(%l) + 2 }",
                "match (%t) { Leaf(_) => 1, Node(%l, %r) => @leaves(%r) + 1 }",
                "3",
                "match (%t) { Leaf(_) => 1, Node(%l, %r) => 3 }",
            ),
        ),
    ],
    "03-types-by-hand": [
        (
            (
                "['Tensor[(32, 10), float32]', 'Tensor[(5, 3, 2), int32]', 'Tensor[(4, 6), float32]', 'Tensor[(?, 2), bool]']",
                "('Tensor[(32,10),float32]', 'Tensor[(5,3,2),int32]', 'Tensor[(4,6),float32]', 'Tensor[(?,2),bool]')",
                "[' Tensor[ (32, 10), float32 ]', 'Tensor[(5, 3, 2), int32]', 'Tensor[(4, 6), float32]', 'Tensor[(?, 2), bool]']",
            ),
            (
                "['Tensor[(10, 32), float32]', 'Tensor[(5, 3, 2), int32]', 'Tensor[(4, 6), float32]', 'Tensor[(?, 2), bool]']",
                "['Tensor[(32, 10), float32]', 'Tensor[(5, 3, 2), int32]', 'Tensor[(4, 6), float32]', 'Tensor[(?, 2), float32]']",
                "['Tensor[(32, 10), float32]'] * 4",
                "['Tensor[(32, 10), float32]', 'Tensor[(5, 3, 2), int32]', 'Tensor[(4, 6), float32]']",
                "['(32, 10)', '(5, 3, 2)', '(4, 6)', '(?, 2)']",
            ),
        ),
        (
            (
                ENOUGH.format("%x: Tensor[(2, 3), float32]", "%b"),
                ENOUGH.format("%x: Tensor[(2,3),float32]", "%b"),
                ENOUGH.format("%x : Tensor[(2, 3), float32]", "%b"),
            ),
            (
                ENOUGH.format("%x", "%b"),
                ENOUGH.format("%x", "%b: Tensor[(3), float32]"),
                ENOUGH.format("%x: Tensor[(2, 3), float32]", "%b: Tensor[(3), float32]"),
                ENOUGH.format("%x: Tensor[(3, 2), float32]", "%b"),
                '"def @main(%x: Tensor[(2, 3), float32]) { %x }"',
                '"def @main("',
            ),
        ),
        (
            (
                COMPOSE.format("[A, B, C](%f: fn (B) -> C, %g: fn (A) -> B, %x: A) -> C { %f(%g(%x)) }"),
                COMPOSE.format("[X, Y, Z](%f: fn (Y) -> Z, %g: fn (X) -> Y, %x: X) -> Z { %f(%g(%x)) }"),
                COMPOSE.format("[C, B, A](%f: fn (B) -> C, %g: fn (A) -> B, %x: A) { let %y = %g(%x); %f(%y) }"),
            ),
            (
                COMPOSE.format("(%f, %g, %x) { %f(%g(%x)) }"),
                COMPOSE.format("[A, B](%f: fn (B) -> B, %g: fn (A) -> B, %x: A) -> B { %f(%g(%x)) }"),
                COMPOSE.format("[A, B, C](%f: fn (A) -> C, %g: fn (A) -> B, %x: A) -> C { %f(%g(%x)) }"),
                COMPOSE.format("[A, B, C](%f: fn (B) -> C, %g: fn (A) -> B, %x: A) -> C { %g(%f(%x)) }"),
                COMPOSE.format("[A, B, C](%f: fn (B) -> C, %g: fn (A) -> B, %x: A) -> B { %g(%x) }"),
            ),
        ),
        (
            (
                "broken.replace('(10, 64)', '(10, 144)')",
                "broken.replace('(10, 64)', '(10,144)')",
                "broken.replace('10, 64', '10 , 144')",
            ),
            (
                "broken",
                "broken.replace('(10, 64)', '(10, 143)')",
                "broken.replace('(10, 64)', '(11, 144)')",
                "broken.replace('nn.dense(%2, %w)', '%2')",
                "broken.replace('(1, 3, 8, 8)', '(1, 3, 8, 9)')",
                "broken.replace('%w', '%v')",
            ),
        ),
    ],
    "04-your-first-pass": [
        (
            (
                NAMES.format(
                    "super().visit_call(call)\n        if isinstance(call.op, relay.op.Op):\n            self.n.add(call.op.name)",
                    "self.n = set()",
                    "self.n",
                ),
                NAMES.format(
                    "[self.visit(a) for a in call.args]\n        self.visit(call.op)\n        self.n |= {call.op.name} if isinstance(call.op, relay.op.Op) else set()",
                    "self.n = set()",
                    "frozenset(self.n)",
                ),
                "class A:\n    def names(self, expr):\n        return {n.op.name for n in passlab.ir.walk.post_order(expr) if isinstance(n, relay.Call) and isinstance(n.op, relay.op.Op)}\nA",
            ),
            (
                NAMES.format("self.n.add(call.op.name)", "self.n = set()", "self.n"),
                NAMES.format("super().visit_call(call)\n        self.n.add(str(call.op))", "self.n = set()", "self.n"),
                NAMES.format("super().visit_call(call)", "self.n = set()", "{'exp', 'negative', 'add'}"),
                NAMES.format("super().visit_call(call)", "self.n = {'tanh', 'exp', 'negative', 'add'}", "self.n"),
                NAMES.format(
                    "super().visit_call(call)\n        self.n.append(call.op.name)", "self.n = []", "self.n[:1]"
                ),
            ),
        ),
        (
            (
                COLLAPSE.format(
                    "        cond = self.visit(node.cond)\n        if not isinstance(cond, relay.Constant):\n            return super().visit_if(node)\n        return self.visit(node.true_branch if cond.data else node.false_branch)"
                ),
                COLLAPSE.format(
                    "        if isinstance(node.cond, relay.Constant):\n            return self.visit(node.true_branch) if bool(node.cond.data) else self.visit(node.false_branch)\n        return super().visit_if(node)"
                ),
                COLLAPSE.format(
                    "        new = super().visit_if(node)\n        if isinstance(new, relay.If) and isinstance(new.cond, relay.Constant):\n            return new.true_branch if new.cond.data.item() else new.false_branch\n        return new"
                ),
            ),
            (
                COLLAPSE.format("        return self.visit(node.true_branch)"),
                COLLAPSE.format("        return super().visit_if(node)"),
                COLLAPSE.format(
                    "        return node.true_branch if isinstance(node.cond, relay.Constant) and node.cond.data else super().visit_if(node)"
                ),
                COLLAPSE.format(
                    "        return self.visit(node.true_branch) if isinstance(node.cond, relay.Constant) else super().visit_if(node)"
                ),
                COLLAPSE.format(
                    "        return (node.true_branch if node.cond.data else node.false_branch) if isinstance(node.cond, relay.Constant) else super().visit_if(node)"
                ),
            ),
        ),
        (
            (
                PATIENT.format(
                    "        self.result = False\n        self.memo_map.clear()\n        self.visit(expr)\n        return self.result"
                ),
                PATIENT.format("        fresh = CallChecker()\n        return fresh.check(expr)"),
                PATIENT.format(
                    "        self.memo_map = {}\n        self.result = False\n        self.visit(expr)\n        return self.result"
                ),
            ),
            (
                "CallChecker",
                PATIENT.format("        return True"),
                PATIENT.format("        return False"),
                PATIENT.format("        self.visit(expr)\n        return getattr(self, 'result', False)"),
                PATIENT.format(
                    "        self.result = getattr(self, 'result', False)\n        self.visit(expr)\n        return self.result"
                ),
            ),
        ),
        (
            (
                DOUBLE.format(
                    f"        inner = call.args[0] if call.args else None\n        return inner.args[0] if {NEG.format('call')} and {NEG.format('inner')} else call",
                    1,
                ),
                DOUBLE.format(
                    f"        if {NEG.format('call')}:\n            if {NEG.format('call.args[0]')}:\n                return call.args[0].args[0]\n        return call",
                    1,
                ),
                "def rule(pre, post):\n    n = relay.op.get('negative')\n    return post.args[0].args[0] if post.op == n and isinstance(post.args[0], relay.Call) and post.args[0].op == n else post\n@transform.function_pass(opt_level=1)\ndef p(func, mod, ctx):\n    return passlab.ir.walk.rewrite(func, rule, only=(relay.Call,))\np",
            ),
            (
                DOUBLE.format("        return call", 1),
                DOUBLE.format(f"        return call.args[0].args[0] if {NEG.format('call')} else call", 1),
                DOUBLE.format(f"        return call.args[0] if {NEG.format('call')} else call", 1),
                DOUBLE.format(
                    f"        inner = call.args[0] if call.args else None\n        return inner.args[0] if {NEG.format('call')} and {NEG.format('inner')} else call",
                    2,
                ),
                DOUBLE.format(
                    f"        inner = call.args[0] if call.args else None\n        return inner if {NEG.format('call')} and {NEG.format('inner')} else call",
                    1,
                ),
            ),
        ),
    ],
    "05-constant-folding": [
        (("(3, 4)", "[3, 4]", "(3, 2 + 2)"), ("(3, 3)", "(4, 3)", "(4, 4)", "'3, 4'", "3")),
        (
            (
                TUPLES.format("all(isinstance(f, (relay.Var, relay.Constant)) for f in value.fields)"),
                TUPLES.format("not any(isinstance(f, relay.Call) for f in value.fields)"),
                TUPLES.format("{type(f) for f in value.fields} <= {relay.Var, relay.Constant}"),
            ),
            (
                "ConstantFolder",
                TUPLES.format("True"),
                TUPLES.format("all(isinstance(f, relay.Constant) for f in value.fields)"),
                TUPLES.format("all(isinstance(f, relay.Var) for f in value.fields)"),
                TUPLES.format("len(value.fields) > 5"),
            ),
        ),
        (
            (
                SHAPES.format(
                    "            t = call.args[0].checked_type\n            if not relay.ty.is_dynamic(t):\n                return relay.Constant(np.array(t.shape, call.attrs.dtype))"
                ),
                SHAPES.format(
                    "            shape = call.args[0].checked_type.shape\n            if not any(isinstance(d, relay.Any) for d in shape):\n                return relay.Constant(np.array([int(d) for d in shape]).astype(call.attrs.dtype))"
                ),
                SHAPES.format(
                    "            t = call.args[0].checked_type\n            if relay.ty.is_dynamic(t):\n                return ExprMutator.visit_call(self, call)\n            return relay.Constant(np.asarray(t.concrete_shape, dtype=call.attrs.dtype))"
                ),
            ),
            (
                "ConstantFolder",
                SHAPES.format("            return relay.Constant(np.array([2, 3], 'int32'))"),
                SHAPES.format("            return relay.Constant(np.array([2, 3], call.attrs.dtype))"),
                SHAPES.format(
                    "            t = call.args[0].checked_type\n            if not relay.ty.is_dynamic(t):\n                return relay.Constant(np.array(t.shape, 'int32'))"
                ),
                SHAPES.format(
                    "            return relay.Constant(np.array([1 if isinstance(d, relay.Any) else d for d in call.args[0].checked_type.shape], call.attrs.dtype))"
                ),
            ),
        ),
        (
            (
                CAREFUL.format("passlab.PasslabError", "ExprMutator.visit_call(self, call)"),
                CAREFUL.format("passlab.PasslabError as error", "ExprMutator.visit_call(self, call)"),
                CAREFUL.format("(passlab.PasslabError, ZeroDivisionError)", "ExprMutator.visit_call(self, call)"),
            ),
            (
                "ConstantFolder",
                CAREFUL.format("passlab.PasslabError", "relay.const(0)"),
                "ExprMutator",
                CAREFUL.format("passlab.PasslabError", "None"),
                CAREFUL.format("KeyError", "call"),
            ),
        ),
    ],
    "06-pattern-rewriting": [
        (
            (
                PATTERN.format("is_constant()", TAIL.format("is_constant()")),
                "one = is_constant()\n" + PATTERN.format("one | one", TAIL.format("is_constant()")),
                "x = wildcard()\nis_op('divide')(is_constant(), is_op('add')(is_op('exp')(is_op('negative')(x)), is_constant()))",
            ),
            (
                PATTERN.format("wildcard()", "wildcard()"),
                PATTERN.format("is_constant()", "wildcard()"),
                PATTERN.format("wildcard()", TAIL.format("is_constant()")),
                PATTERN.format("is_constant()", TAIL.format("wildcard()")),
                PATTERN.format("is_constant()", "is_op('add')(is_constant(), is_op('exp')(wildcard()))"),
                "wildcard()",
            ),
        ),
        (
            (
                DIVISION.format("relay.multiply(a, relay.rsqrt(b))"),
                DIVISION.format("relay.multiply(relay.rsqrt(b), a)"),
                DIVISION.format("a * relay.rsqrt(b)"),
            ),
            (
                DIVISION.format("post"),
                DIVISION.format("relay.multiply(a, b)"),
                DIVISION.format("relay.rsqrt(b)"),
                DIVISION.format("relay.multiply(a, relay.sqrt(b))"),
                DIVISION.format("a"),
            ),
        ),
        (
            (
                ZERO.format(
                    "x if any(a.checked_type is pre.checked_type for a in pre.args if not isinstance(a, relay.Constant)) and not zero.data.any() else post"
                ),
                ZERO.format(
                    "x if not zero.data.any() and [a for a in pre.args if not isinstance(a, relay.Constant)][0].checked_type == pre.checked_type else post"
                ),
                ZERO.format(
                    "x if not zero.data.any() and tuple([a for a in pre.args if not isinstance(a, relay.Constant)][0].checked_type.shape) == tuple(pre.checked_type.shape) else post"
                ),
            ),
            (
                "PlusZero",
                ZERO.format("x"),
                ZERO.format("post"),
                ZERO.format("x if zero.data.ndim == 0 and not zero.data.any() else post"),
                ZERO.format("x if zero.data.shape == (3,) and not zero.data.any() else post"),
            ),
        ),
        (
            (
                "is_op('nn.conv2d')(wildcard(), wildcard()).optional(lambda c: is_op('add')(c, wildcard())).optional(lambda c: is_op('nn.relu')(c))",
                "c = is_op('nn.conv2d')(wildcard(), wildcard())\na = is_op('add')(c, wildcard())\nis_op('nn.relu')(a) | is_op('nn.relu')(c) | a | c",
                "c = is_op('nn.conv2d')(wildcard(), wildcard())\nl = is_op('add')(c, wildcard()) | c\nis_op('nn.relu')(l) | l",
            ),
            (
                "is_op('nn.conv2d')(wildcard(), wildcard())",
                "is_op('nn.relu')(is_op('add')(is_op('nn.conv2d')(wildcard(), wildcard()), wildcard()))",
                "wildcard()",
                "is_op('nn.conv2d')(wildcard(), wildcard()).optional(lambda c: is_op('add')(c, wildcard()))",
                "is_op('nn.conv2d')(wildcard(), wildcard()).optional(lambda c: is_op('nn.relu')(c))",
            ),
        ),
    ],
}
