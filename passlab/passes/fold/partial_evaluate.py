"""Evaluate the known parts of a program at compile time.

before:
    def @main(%x: float32) {
      let %double = fn (%d: float32) { add(%d, %d) };
      (%double(4f), %double(%x))
    }
after:
    def @main(%x: float32) {
      let %double = fn (%d: float32) { let %s = add(%d, %d); %s };
      let %four = 4f;
      let %eight = 8f;
      let %y = add(%x, %x);
      let %t = (%eight, %y);
      %t
    }

before:
    def @main(%x: float32) { @power(%x, 2) }
    def @power(%x: float32, %n: int32) -> float32 {
      if (equal(%n, 0)) { 1f } else { multiply(%x, @power(%x, subtract(%n, 1))) }
    }
after:
    def @main(%x: float32) {
      let %a = 2;
      let %b = 0;
      let %c = False;
      let %d = 1;
      let %e = 1;
      let %f = 0;
      let %g = False;
      let %h = 1;
      let %i = 0;
      let %j = 0;
      let %k = True;
      let %l = 1f;
      let %m = multiply(%x, %l);
      let %n = multiply(%x, %m);
      %n
    }
    def @power(%x: float32, %n: int32) -> float32 {
      let %a = 0;
      let %b = equal(%n, %a);
      let %c = if (%b) { let %d = 1f; %d } else {
        let %e = 1;
        let %f = subtract(%n, %e);
        let %g = @power(%x, %f);
        let %h = multiply(%x, %g);
        %h
      };
      %c
    }

before:
    def @main(%x: float32) {
      let %r = ref(%x);
      let %u = ref_write(%r, exp(ref_read(%r)));
      ref_read(%r)
    }
after:
    def @main(%x: float32) {
      let %r = ref(%x);
      let %v = exp(%x);
      let %u = ref_write(%r, %v);
      %v
    }

keep:
    def @main(%f: fn (float32) -> float32, %x: float32) { let %y = %f(%x); %y }
"""

from __future__ import annotations

from passlab.infer import infer_module
from passlab.ir.module import IRModule
from passlab.ir.walk import note_rewrite
from passlab.passes.fold.partial_evaluation import partially_evaluated
from passlab.transform.base import ModulePass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass


@standard_pass(opt_level=1, contract=EXACT, name="PartialEval")
class PartialEvaluate(ModulePass):
    """Evaluate operators of known arguments, select known branches and arms, and inline calls of known functions.

    Tuples, ADT values, functions and references are tracked field by field, so one unknown field does not make the rest
    unknown. A write to an unknown reference invalidates the tracked contents of all references. The residual program is
    a chain of lets, many of them unused: run DeadCodeElimination afterwards. Operators with effects stay. A recursive
    call is inlined while an argument is a smaller natural number, or an older value, than in the enclosing call, and
    until the result is about twenty times the size of the program. Functions for other compilers are not changed. The
    result is typed.

    Shared expressions are bound by lets first; Relay rejects such programs.
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        typed = infer_module(mod)
        changed = {name: f for name, f in partially_evaluated(typed).items() if f is not typed[name]}
        if not changed:
            return mod
        result = infer_module(typed.with_functions(changed))
        for name in changed:
            note_rewrite(mod[name], result[name])
        return mod.with_functions({name: result[name] for name in changed})
