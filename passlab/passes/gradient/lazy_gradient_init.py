"""Avoid computing zeros and ones that are only added and multiplied.

before:
    def @main(%x: Tensor[(2), float32]) -> Tensor[(2), float32] { multiply(exp(%x), ones_like(%x)) }
after:
    type GradCell[T] { Raw(T), One(fn () -> T), Zero(fn () -> T), }
    def @main(%x: Tensor[(2), float32]) -> Tensor[(2), float32] {
      let %x1 = Raw(%x);
      let %result = {
        %0 = fn (%l: Tensor[(2), float32], %r: Tensor[(2), float32]) -> Tensor[(2), float32] { multiply(%l, %r) };
        %1 = Raw(exp(@FromGradCell(%x1)));
        @MultiplyGradCell(%0, %1, {
          let %like = %x1;
          One(fn () -> Tensor[(2), float32] { ones_like(@FromGradCell(%like)) })
        })
      };
      @FromGradCell(%result)
    }
    def @FromGradCell[T](%g: GradCell[T]) -> T {
      match (%g) { Raw(%v) => { %v }, One(%m) => { %m() }, Zero(%n) => { %n() } }
    }
    def @MultiplyGradCell[T](%f: fn (T, T) -> T, %l: GradCell[T], %r: GradCell[T]) -> GradCell[T] {
      match ((%l, %r)) {
        (Zero(_), _) => { %l },
        (_, Zero(_)) => { %r },
        (One(_), _) => { %r },
        (_, One(_)) => { %l },
        (Raw(%x), Raw(%y)) => { Raw(%f(%x, %y)) },
      }
    }
    def @AddGradCell[T](%f: fn (T, T) -> T, %l: GradCell[T], %r: GradCell[T]) -> GradCell[T] {
      match ((%l, %r)) {
        (Zero(_), _) => { %r },
        (_, Zero(_)) => { %l },
        (_, _) => { Raw(%f(@FromGradCell(%l), @FromGradCell(%r))) },
      }
    }

keep:
    def @main(%x: Tensor[(2), float32]) -> Tensor[(2), float32] { multiply(exp(%x), %x) }
"""

from __future__ import annotations

from passlab.ir.expr import Function
from passlab.ir.module import IRModule
from passlab.passes.gradient.lazy_gradients import wrap_in_cells
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import FINITE, standard_pass


@standard_pass(opt_level=2, required=("InferType",), contract=FINITE)
class LazyGradientInit(FunctionPass):
    """Wrap the tensors of a gradient function in `GradCell`s, which represent zeros and ones symbolically.

    Sums and products of cells skip zeros and ones; other operators unwrap their arguments and wrap their result.
    Parameters are wrapped, results unwrapped. Imports `gradient.rly` of the standard library. Zero times infinity or
    NaN becomes zero. Functions without zeros and ones are not changed (Relay wraps them, too), nor are generic
    functions, and those with ADT values, matches, or global functions as values.
    """

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return func if func.is_primitive else wrap_in_cells(func, mod)
