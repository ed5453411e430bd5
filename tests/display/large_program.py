"""Programs with everything that a graph must show: data types, recursion, closures, references, branches, a loop."""

from __future__ import annotations

PROGRAM = """
type List[A] { Cons(A, List[A]), Nil }
type Tree[A] { Node(Tree[A], A, Tree[A]), Leaf }
type Shape { Circle(float32), Rect(float32, float32), Group(List[Shape]) }
def @length(%xs: List[float32]) -> int32 {
  match (%xs) { Nil => 0, Cons(_, %rest) => 1 + @length(%rest) }
}
def @total(%xs: List[float32]) -> float32 {
  match (%xs) { Nil => 0f, Cons(%x, %rest) => %x + @total(%rest) }
}
def @mean(%xs: List[float32]) -> float32 {
  let %n = @length(%xs);
  if (%n == 0) { 0f } else { @total(%xs) / cast(%n, dtype="float32") }
}
def @spread(%xs: List[float32], %m: float32) -> float32 {
  match (%xs) {
    Nil => 0f,
    Cons(%x, %rest) => { let %d = %x - %m; %d * %d + @spread(%rest, %m) }
  }
}
def @deviation(%xs: List[float32]) -> float32 {
  let %m = @mean(%xs);
  let %s = @spread(%xs, %m);
  let %n = @length(%xs);
  sqrt(%s / maximum(1f, cast(%n, dtype="float32")))
}
def @insert(%t: Tree[float32], %v: float32) -> Tree[float32] {
  match (%t) {
    Leaf => Node(Leaf, %v, Leaf),
    Node(%l, %x, %r) => if (%v < %x) { Node(@insert(%l, %v), %x, %r) } else { Node(%l, %x, @insert(%r, %v)) }
  }
}
def @build(%xs: List[float32], %t: Tree[float32]) -> Tree[float32] {
  match (%xs) { Nil => %t, Cons(%x, %rest) => @build(%rest, @insert(%t, %x)) }
}
def @flatten(%t: Tree[float32], %tail: List[float32]) -> List[float32] {
  match (%t) { Leaf => %tail, Node(%l, %x, %r) => @flatten(%l, Cons(%x, @flatten(%r, %tail))) }
}
def @sort(%xs: List[float32]) -> List[float32] { @flatten(@build(%xs, Leaf), Nil) }
def @depth(%t: Tree[float32]) -> int32 {
  match (%t) { Leaf => 0, Node(%l, _, %r) => 1 + @larger(@depth(%l), @depth(%r)) }
}
def @larger(%a: int32, %b: int32) -> int32 { if (%a < %b) { %b } else { %a } }
def @clamp(%x: float32, %lo: float32, %hi: float32) -> float32 {
  if (%x < %lo) { %lo } else { if (%x > %hi) { %hi } else { %x } }
}
def @area(%s: Shape) -> float32 {
  match (%s) {
    Circle(%r) => 3.14f * %r * %r,
    Rect(%w, %h) => %w * %h,
    Group(%all) => @areas(%all)
  }
}
def @areas(%all: List[Shape]) -> float32 {
  match (%all) { Nil => 0f, Cons(%s, %rest) => @area(%s) + @areas(%rest) }
}
def @each(%f: fn(float32) -> (), %xs: List[float32]) -> () {
  match (%xs) { Nil => (), Cons(%x, %rest) => { let %u = %f(%x); @each(%f, %rest) } }
}
def @map(%f: fn(float32) -> float32, %xs: List[float32]) -> List[float32] {
  match (%xs) { Nil => Nil, Cons(%x, %rest) => Cons(%f(%x), @map(%f, %rest)) }
}
def @counter(%start: float32) -> fn(float32) -> float32 {
  let %cell = ref(%start);
  fn (%by: float32) -> float32 {
    let %old = ref_read(%cell);
    let %new = %old + %by;
    let %done = ref_write(%cell, %new);
    if (%new > 100f) { let %reset = ref_write(%cell, 0f); %old } else { %new }
  }
}
def @compose(%f: fn(float32) -> float32, %g: fn(float32) -> float32) -> fn(float32) -> float32 {
  fn (%x: float32) -> float32 { %g(%f(%x)) }
}
def @main(%x: Tensor[(4), float32], %s: Shape) -> (float32, int32, List[float32], float32) {
  let %a = sum(%x);
  let %b = max(%x);
  let %c = mean(%x);
  let %xs = Cons(%a, Cons(%b, Cons(%c, Nil)));
  let %sum = ref(0f);
  let %add = fn (%y: float32) -> () { let %now = ref_read(%sum); ref_write(%sum, %now + %y) };
  let %u = @each(%add, %xs);
  let %tick = @counter(%a);
  let %scale = fn (%t: float32) -> float32 { tanh(%t * %c) };
  let %act = @compose(%tick, %scale);
  let %sorted = @sort(%xs);
  let %ys = @map(%act, %sorted);
  let %dev = @deviation(%ys);
  let %low = if (ref_read(%sum) > 10f) { @clamp(%dev, -1f, 1f) } else { let %w = ref_write(%sum, %dev); @mean(%sorted) };
  (%low, @depth(@build(%ys, Leaf)), %ys, @area(%s))
}
"""

# A while loop, which is a recursive function, with a network in it.
LOOP = """
def @network(%x: Tensor[(1, 16), float32], %w1: Tensor[(16, 16), float32], %b1: Tensor[(16), float32], %w2: Tensor[(16, 16), float32]) {
  let %h = nn.relu(nn.bias_add(nn.dense(%x, %w1, units=16), %b1));
  tanh(nn.dense(%h, %w2, units=16))
}
def @residual(%y: Tensor[(1, 16), float32], %x: Tensor[(1, 16), float32]) -> float32 { sum(abs(%y - %x)) }
def @solve(%i: int32, %x: Tensor[(1, 16), float32], %err: float32, %w1: Tensor[(16, 16), float32], %b1: Tensor[(16), float32], %w2: Tensor[(16, 16), float32]) -> (Tensor[(1, 16), float32], int32, float32) {
  if (logical_and(%i < 50, %err > 0.001f)) {
    let %y = @network(%x, %w1, %b1, %w2);
    let %e = @residual(%y, %x);
    let %next = if (%e > %err) { add(multiply(%x, 0.5f), multiply(%y, 0.5f)) } else { %y };
    @solve(%i + 1, %next, %e, %w1, %b1, %w2)
  } else { (%x, %i, %err) }
}
def @main(%x: Tensor[(1, 16), float32], %w1: Tensor[(16, 16), float32], %b1: Tensor[(16), float32], %w2: Tensor[(16, 16), float32]) {
  let %s = nn.softmax(%x);
  let %out = @solve(0, %s, 1f, %w1, %b1, %w2);
  (nn.dense(%out.0, %w2, units=16), %out.1)
}
"""

# A loop as a function that is bound by a `let`.
LOCAL_LOOP = """
def @main(%n: int32, %x: Tensor[(3), float32]) {
  let %loop = fn (%i: int32, %acc: Tensor[(3), float32]) -> Tensor[(3), float32] {
    if (%i < %n) { let %acc2 = tanh(%acc) + %x; %loop(%i + 1, %acc2) } else { %acc }
  };
  %loop(0, %x)
}
"""
