"""References held in tuples, data types, closures and other references: every pass keeps what they do, every executor does it."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO

import numpy as np

from passlab.executor import create_executor
from passlab.infer import infer_module
from passlab.ir import IRModule
from passlab.text.parser import parse
from tests.each import each
from tests.passes.test_laws import CHANGES_TYPES, EVERY_PASS, NEEDS_DATAFLOW, run

TYPES = """
type List[A] { Cons(A, List[A]), Nil, }
type Box { Box(ref(int32)), }
type Pair[A, B] { Pair(A, B), }
"""
# The programs with what they return for 3, found by hand.
PROGRAMS: dict[str, tuple[str, list[int]]] = {
    "in a tuple": (
        """
        def @main(%x: int32) { let %r = ref(%x); let %t = (%r, ref(2)); let %u = ref_write(%t.0, 5);
          (ref_read(%r), ref_read(%t.1), ref_read(%t.0)) }
        """,
        [5, 2, 5],
    ),
    "in a data type": (
        """
        def @main(%x: int32) { let %r = ref(%x); let %b = Box(%r);
          let %u = match (%b) { Box(%q) => { ref_write(%q, add(ref_read(%q), 1)) } };
          (ref_read(%r), match (%b) { Box(%q) => { ref_read(%q) } }) }
        """,
        [4, 4],
    ),
    "a reference to a reference": (
        """
        def @main(%x: int32) { let %r = ref(%x); let %s = ref(%r); let %a = ref_read(%s);
          let %u = ref_write(%s, ref(9)); let %w = ref_write(ref_read(%s), 10);
          (ref_read(%a), ref_read(ref_read(%s)), ref_read(%r)) }
        """,
        [3, 10, 3],
    ),
    "a reference to a function": (
        """
        def @main(%x: int32) { let %r = ref(fn (%a: int32) -> int32 { add(%a, 1) });
          let %f = ref_read(%r);
          let %u = ref_write(%r, fn (%a: int32) -> int32 { multiply(%f(%a), 3) });
          let %g = ref_read(%r); (%f(%x), %g(%x)) }
        """,
        [4, 12],
    ),
    "a function that calls itself through one": (
        """
        def @main(%x: int32) { let %r = ref(fn (%n: int32) -> int32 { %n });
          let %u = ref_write(%r, fn (%n: int32) -> int32 { if (less(%n, 1)) { 0 } else { let %g = ref_read(%r);
          add(%n, %g(subtract(%n, 1))) } }); let %h = ref_read(%r); %h(%x) }
        """,
        [6],
    ),
    "one of them twice in a list": (
        """
        def @main(%x: int32) { let %r = ref(%x); let %l = Cons(%r, Cons(ref(3), Cons(%r, Nil)));
          let %u = @bump(%l); ref_read(%r) }
        def @bump(%l: List[ref(int32)]) -> () { match (%l) { Cons(%h, %t) => { let %u = ref_write(%h, multiply(ref_read(%h), 2));
          @bump(%t) }, Nil => { () } } }
        """,
        [12],
    ),
    "a counter among arguments": (
        """
        def @main(%x: int32) { let %r = ref(%x);
          let %tick = fn () -> int32 { let %u = ref_write(%r, add(ref_read(%r), 1)); ref_read(%r) };
          subtract(multiply(%tick(), 10), subtract(%tick(), multiply(%tick(), %tick()))) }
        """,
        [77],
    ),
    "a counter in conditions": (
        """
        def @main(%x: int32) { let %r = ref(%x);
          let %t = fn () -> bool { let %u = ref_write(%r, add(ref_read(%r), 1));
          less(ref_read(%r), 5) };
          (if (%t()) { if (%t()) { ref_read(%r) } else { 100 } } else { 200 }, ref_read(%r)) }
        """,
        [100, 5],
    ),
    "a write by what gives the function": (
        """
        def @main(%x: int32) { let %r = ref(%x);
          let %pick = fn () -> fn (int32) -> int32 { let %u = ref_write(%r, 7);
          fn (%a: int32) -> int32 { add(%a, ref_read(%r)) } }; %0 = %pick();
          (%0(ref_read(%r)), ref_read(%r)) }
        """,
        [10, 7],
    ),
    "reads and writes in a tuple": (
        """
        def @main(%x: int32) { let %r = ref(%x);
          (ref_read(%r), ref_write(%r, 1), ref_read(%r), ref_write(%r, add(ref_read(%r), 1)), ref_read(%r)).4 }
        """,
        [2],
    ),
    "a write by what is matched": (
        """
        def @main(%x: int32) { let %r = ref(%x);
          let %mk = fn () -> List[int32] { let %u = ref_write(%r, add(ref_read(%r), 1));
          Cons(ref_read(%r), Nil) }; match? (%mk()) { Cons(%h, _) => { add(%h, ref_read(%r)) } } }
        """,
        [8],
    ),
    "a write that is used twice": (
        """
        def @main(%x: int32) { let %r = ref(%x);
          %0 = (ref_write(%r, add(ref_read(%r), 1)), ref_read(%r));
          add(%0.1, add(%0.1, ref_read(%r))) }
        """,
        [12],
    ),
    "a sum by a loop": (
        """
        def @main(%x: int32) { let %r = ref(0);
          let %loop = fn (%n: int32) -> () { if (less(%n, 1)) { () } else { let %u = ref_write(%r, add(ref_read(%r), %n));
          %loop(subtract(%n, 1)) } }; let %v = %loop(%x); ref_read(%r) }
        """,
        [6],
    ),
    "lets in operands": (
        """
        def @main(%x: int32) { let %r = ref(%x); add((let %u = ref_write(%r, 2);
          ref_read(%r)), (let %w = ref_write(%r, multiply(ref_read(%r), 5)); ref_read(%r))) }
        """,
        [12],
    ),
    "a function that is never called": (
        """
        def @main(%x: int32) { let %r = ref(%x); let %u = (ref_write(%r, 4), %x);
          let %v = fn () -> () { ref_write(%r, 9) }; ref_read(%r) }
        """,
        [4],
    ),
    "two functions over one": (
        """
        def @main(%x: int32) { let %p = @mk(%x); %0 = %p.0; %1 = %p.1; let %a = %0(); let %b = %0();
          (%a, %b, %1()) }
        def @mk(%x: int32) -> (fn () -> int32, fn () -> int32) { let %r = ref(%x);
          (fn () -> int32 { let %u = ref_write(%r, add(ref_read(%r), 1));
          ref_read(%r) }, fn () -> int32 { ref_read(%r) }) }
        """,
        [4, 5, 5],
    ),
    "two names for one": (
        """
        def @main(%x: int32) { let %r = ref(%x); @two(%r, %r) }
        def @two(%a: ref(int32), %b: ref(int32)) -> (int32, int32) { let %u = ref_write(%a, 10);
          let %v = ref_read(%b); let %w = ref_write(%b, add(%v, 1)); (ref_read(%a), %v) }
        """,
        [11, 10],
    ),
    "through generic functions": (
        """
        def @main(%x: int32) { let %r = ref(%x); let %u = @id(ref_write(%r, 3));
          (@id(ref_read(%r)), @id((%r, 1)).1) }
        def @id[A](%a: A) -> A { %a }
        """,
        [3, 1],
    ),
    "a field that nothing reads": (
        """
        def @main(%x: int32) { let %r = ref(%x); let %p = Pair(ref_write(%r, 5), ref_read(%r));
          match (%p) { Pair(_, %v) => { add(%v, ref_read(%r)) } } }
        """,
        [10],
    ),
    "deep in patterns": (
        """
        def @main(%x: int32) { let %l = Cons((ref(%x), 1), Cons((ref(4), 2), Nil));
          match? (%l) { Cons((%r, %a), Cons((%s, %b), Nil)) => { let %u = ref_write(%r, ref_read(%s));
          let %w = ref_write(%s, add(ref_read(%r), %a)); (ref_read(%r), ref_read(%s), %b) } } }
        """,
        [4, 5, 2],
    ),
}
CHANGING = (
    "ToANormalForm",
    "ToGraphNormalForm",
    "PartialEvaluate",
    "LambdaLift",
    "Inline",
    "FuseOps",
    "Defunctionalization",
)


def program(name: str) -> IRModule:
    return infer_module(parse(TYPES + PROGRAMS[name][0]))


def value(kind: str, mod: IRModule) -> list[int]:
    result = create_executor(kind, mod).evaluate()(np.int32(3))
    return [int(part) for part in (result if isinstance(result, tuple) else (result,))]


@each("kind", ["debug", "aot"])
@each("name", PROGRAMS)
def test_an_executor_does_what_they_do(name: str, kind: str) -> None:
    assert value(kind, program(name)) == PROGRAMS[name][1]


@each("name", PROGRAMS)
def test_every_pass_keeps_what_they_do(name: str) -> None:
    mod = program(name)
    for pass_name in sorted(set(EVERY_PASS) - CHANGES_TYPES - NEEDS_DATAFLOW):
        with redirect_stdout(StringIO()):
            result = infer_module(run(pass_name, mod))
        if result is not mod:
            for kind in ("debug", "aot") if pass_name in CHANGING else ("debug",):
                assert value(kind, result) == PROGRAMS[name][1], f"{pass_name} on {kind}"
