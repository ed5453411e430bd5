"""A program for each construct of the language, in which a `multiply` and a `subtract` matter to the result."""

from __future__ import annotations

import numpy as np

from passlab import IRModule, parse, relay

V = "Tensor[(2, 3), float32]"
_LIST = "type L[A] { C(A, L[A]), N }\n"

TEXTS = {
    "generic data type": _LIST
    + f"""def @main(%p: {V}) -> {V} {{
      let %v = C(multiply(%p, 2f), N);
      match (%v) {{ C(%a, _) => subtract(%a, tanh(%p)), N => zeros_like(%p) }}
    }}""",
    "recursion over data": _LIST
    + f"""def @total(%l: L[{V}]) -> {V} {{
      match (%l) {{ C(%a, %rest) => subtract(%a, @total(%rest)), N => zeros(shape=[2, 3], dtype="float32") }}
    }}
    def @main(%p: {V}) {{ @total(C(multiply(%p, 2f), C(%p, N))) }}""",
    "generic recursion": _LIST
    + f"""def @map[A, B](%f: fn (A) -> B, %l: L[A]) -> L[B] {{
      match (%l) {{ C(%a, %rest) => C(%f(%a), @map(%f, %rest)), N => N }}
    }}
    def @main(%p: {V}) -> {V} {{
      let %l = @map(fn (%a: {V}) -> {V} {{ multiply(%a, 3f) }}, C(%p, C(tanh(%p), N)));
      match? (%l) {{ C(%a, C(%b, _)) => subtract(%a, %b) }}
    }}""",
    "data in data": _LIST
    + f"""type O[A] {{ S(A), E }}
    def @main(%p: {V}) -> {V} {{
      let %v: L[O[({V}, int32)]] = C(S((multiply(%p, 2f), 1)), C(E, N));
      match (%v) {{ C(S((%a, _)), _) => subtract(%a, %p), C(E, _) => %p, N => %p }}
    }}""",
    "plain data type": f"""type T {{ Leaf({V}), Fork(T, T) }}
    def @eval(%t: T) -> {V} {{ match (%t) {{ Leaf(%a) => %a, Fork(%l, %r) => subtract(@eval(%l), @eval(%r)) }} }}
    def @main(%p: {V}) {{ @eval(Fork(Leaf(multiply(%p, 2f)), Leaf(%p))) }}""",
    "functions in data": _LIST
    + f"""def @main(%p: {V}) -> {V} {{
      let %fs = C(fn (%a: {V}) -> {V} {{ multiply(%a, %p) }}, N);
      match (%fs) {{ C(%f, _) => subtract(%f(%p), %p), N => %p }}
    }}""",
    "constructor as a value": f"""type O[A] {{ S(A), E }}
    def @wrap[A, B](%f: fn (A) -> B, %a: A) -> B {{ %f(%a) }}
    def @main(%p: {V}) -> {V} {{
      match (@wrap(S, multiply(%p, 2f))) {{ S(%a) => subtract(%a, tanh(%p)), E => %p }}
    }}""",
    "phantom parameter": f"""type P[A, B] {{ M(A) }}
    def @main(%p: {V}) -> {V} {{
      let %v: P[{V}, int32] = M(multiply(%p, 2f));
      match (%v) {{ M(%a) => subtract(%a, tanh(%p)) }}
    }}""",
    "generic function": f"""def @first[A, B](%a: A, %b: B) -> A {{ %a }}
    def @main(%p: {V}) {{ subtract(@first(multiply(%p, 2f), 1), @first(%p, (%p, 2))) }}""",
    "local generic function": f"""def @main(%p: {V}) {{
      let %id = fn [A](%a: A) -> A {{ %a }};
      (subtract(%id(multiply(%p, 2f)), %p), %id(1))
    }}""",
    "recursion": f"""def @power(%p: {V}, %n: int32) -> {V} {{
      if (less(%n, 1)) {{ %p }} else {{ subtract(@power(multiply(%p, 0.5f), subtract(%n, 1)), %p) }}
    }}
    def @main(%p: {V}) {{ @power(%p, 3) }}""",
    "mutual recursion": f"""def @even(%p: {V}, %n: int32) -> {V} {{ if (less(%n, 1)) {{ %p }} else {{ @odd(multiply(%p, 2f), subtract(%n, 1)) }} }}
    def @odd(%p: {V}, %n: int32) -> {V} {{ if (less(%n, 1)) {{ tanh(%p) }} else {{ subtract(@even(%p, subtract(%n, 1)), %p) }} }}
    def @main(%p: {V}) {{ @even(%p, 3) }}""",
    "local recursion": f"""def @main(%p: {V}) {{
      let %loop: fn ({V}, int32) -> {V} = fn (%a: {V}, %n: int32) -> {V} {{
        if (less(%n, 1)) {{ %a }} else {{ %loop(subtract(multiply(%a, 2f), %p), subtract(%n, 1)) }}
      }};
      %loop(%p, 2)
    }}""",
    "main that calls itself": f"""def @main(%p: {V}, %n: int32) -> {V} {{
      if (less(minimum(%n, 3), 1)) {{ %p }} else {{ subtract(multiply(@main(%p, subtract(minimum(%n, 3), 1)), 2f), %p) }}
    }}""",
    "closure": f"""def @adder(%p: {V}) -> fn ({V}) -> {V} {{ fn (%a: {V}) -> {V} {{ subtract(multiply(%a, %p), %p) }} }}
    def @main(%p: {V}) {{ let %f = @adder(%p); (%f(%p), %f(tanh(%p))) }}""",
    "function as an argument": f"""def @twice(%f: fn ({V}) -> {V}, %a: {V}) -> {V} {{ %f(%f(%a)) }}
    def @main(%p: {V}) {{ subtract(@twice(fn (%a: {V}) -> {V} {{ multiply(%a, %p) }}, %p), %p) }}""",
    "result is a function": f"""def @main(%p: {V}) {{
      (fn (%a: {V}) -> {V} {{ multiply(%a, %p) }}, subtract(multiply(%p, 2f), tanh(%p)))
    }}""",
    "operator as a value": f"""def @both(%f: fn ({V}, {V}) -> {V}, %a: {V}, %b: {V}) -> {V} {{ %f(%a, %b) }}
    def @main(%p: {V}) {{ subtract(@both(multiply, %p, %p), @both(add, %p, %p)) }}""",
    "reference": f"""def @main(%p: {V}) {{
      let %r = ref(%p);
      let %u = ref_write(%r, multiply(ref_read(%r), 2f));
      let %a = ref_read(%r);
      let %w = ref_write(%r, tanh(%a));
      subtract(%a, ref_read(%r))
    }}""",
    "reference in a closure": f"""def @main(%p: {V}) {{
      let %r = ref(%p);
      let %next = fn () -> {V} {{ let %u = ref_write(%r, multiply(ref_read(%r), 2f)); ref_read(%r) }};
      let %a = %next();
      subtract(%next(), %a)
    }}""",
    "match on a tuple": f"""type O[A] {{ S(A), E }}
    def @main(%p: {V}) -> {V} {{
      let %e: O[{V}] = E;
      match ((S(multiply(%p, 2f)), %e)) {{ (S(%a), S(%b)) => subtract(%b, %a), (S(%a), _) => subtract(%a, tanh(%p)), (_, _) => %p }}
    }}""",
    "tuples": f"""def @main(%t: ({V}, ({V}, int32))) {{
      let %a = multiply(%t.0, %t.1.0);
      ((subtract(%a, %t.0), ()), (%t.1.1,))
    }}""",
    "split": """def @main(%p: Tensor[(4, 6), float32]) {
      let %s = split(multiply(%p, 2f), indices_or_sections=[1, 4], axis=1);
      subtract(sum(%s.0), sum(%s.1))
    }""",
    "if and effects": f"""def @main(%p: {V}, %c: bool) {{
      let %r = ref(%p);
      let %b = if (%c) {{ let %u = ref_write(%r, multiply(%p, 2f)); subtract(%p, 1f) }} else {{ subtract(1f, %p) }};
      (%b, ref_read(%r))
    }}""",
    "dynamic shapes": """def @main(%p: Tensor[(?, 3), float32]) {
      let %s = shape_of(%p, dtype="int64");
      subtract(multiply(%p, 2f), dyn.broadcast_to(sum(%p), %s))
    }""",
    "dynamic data": """type O[A] { S(A), E }
    def @main(%p: Tensor[(?, ?), float32]) {
      let %v = S(multiply(%p, 2f));
      let %w = match (%v) { S(%a) => subtract(%a, tanh(%p)), E => %p };
      (%w, argwhere(less(%w, 0f)))
    }""",
    "attributes of functions": f"""def @helper(%a: {V}, Inline=1, words=["a", "b"], depth=3) -> {V} {{ multiply(%a, 2f) }}
    def @main(%p: {V}, note="kept") {{
      let %k = fn (%a: {V}, Primitive=1) -> {V} {{ subtract(%a, 1f) }};
      subtract(@helper(%p), %k(%p))
    }}""",
    "external type": f"""extern type Handle
    def @unused(%h: Handle) -> Handle {{ %h }}
    def @main(%p: {V}) {{ subtract(multiply(%p, 2f), tanh(%p)) }}""",
    "another compiler's function": f"""def @theirs(%a: {V}, Compiler="ccompiler", Primitive=1, global_symbol="theirs") -> {V} {{ subtract(%a, 1f) }}
    def @skipped(%a: {V}, SkipOptimization=1) -> {V} {{ multiply(%a, 2f) }}
    def @main(%p: {V}) {{ subtract(@skipped(multiply(%p, 3f)), @theirs(%p)) }}""",
    "attributes of operators": """def @main(%p: Tensor[(1, 2, 5, 5), float32], %w: Tensor[(3, 2, 3, 3), float32]) {
      let %c = nn.conv2d(%p, multiply(%w, 2f), padding=[1, 1, 1, 1], channels=3, kernel_size=[3, 3]);
      subtract(nn.max_pool2d(%c, pool_size=[2, 2], strides=[2, 2]), nn.avg_pool2d(%c, pool_size=[2, 2], strides=[2, 2]))
    }""",
    "many types of numbers": """def @main(%h: Tensor[(3), float16], %i: Tensor[(3), int8], %b: Tensor[(3), bool], %d: float64) {
      (subtract(multiply(%h, cast(%i, dtype="float16")), %h), subtract(%i, cast(%b, dtype="int8")), multiply(%d, 2f64))
    }""",
    "empty and scalar": """def @main(%e: Tensor[(0, 3), float32], %s: float32) {
      (subtract(multiply(%e, %s), %s), subtract(multiply(%s, 2f), tanh(%s)))
    }""",
}


def of_prelude() -> IRModule:
    """A program with the list of the standard library, built by calls."""
    mod = relay.Prelude().mod
    _, cons, nil = mod.get_type("List")
    x = relay.var("p", shape=(2, 3))
    head = relay.Call(mod.get_global_var("hd"), [cons(relay.multiply(x, relay.const(2.0)), nil())])
    mod["main"] = relay.Function([x], relay.subtract(head, relay.tanh(x)))
    return mod


def with_metadata() -> IRModule:
    """A program whose constants stand in the metadata of its text."""
    x, c = relay.var("p", shape=(2, 3)), relay.const(np.linspace(-1, 1, 6, dtype="float32").reshape(2, 3))
    made = IRModule.from_expr(relay.Function([x], relay.subtract(relay.multiply(x, c), c)))
    return parse(made.astext())


PROGRAMS = {name: lambda text=text: parse(text) for name, text in TEXTS.items()}
PROGRAMS |= {"the standard library": of_prelude, "metadata": with_metadata}
