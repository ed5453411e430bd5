"""Programs and pipelines on which faults are shown: larger than a fault needs, as those of users are."""

# Pipelines and parameters that faults of several packages use.
PLAIN = "InferType, SimplifyInference, FoldConstant, FuseOps"
GRAD = "InferType, FirstOrderGradient"
BATCH = "Tensor[(2, 3, 4), float32]"
VECTORS = "%x: Tensor[(3), float32], %y: Tensor[(3), float32]"
MATRIX = "%x: Tensor[(3, 4), float32], %y: Tensor[(3, 4), float32]"
WEIGHT = "%w: Tensor[(4, 4, 3, 3), float32]"

NOISE = """
  let %n0 = tanh(%x);
  let %n1 = add(%n0, 0.5f);
  let %n2 = multiply(%n1, %n1);
  let %n3 = sum(%n2, axis=[1], keepdims=True);
"""


def among(value: str, shape: str = "(3, 4)", dtype: str = "float32", more: str = "") -> str:
    """A program that computes `value` of %x, and of %w and what else is given, among other things."""
    return f"""
#[version = "0.0.5"]
def @main(%x: Tensor[(3, 4), float32], %w: Tensor[{shape}, {dtype}]{more}) {{
  {NOISE}
  let %v = {value};
  (%n3, %v, nn.softmax(%n1))
}}
"""


def dataflow(body: str, params: str) -> str:
    """A program of one function whose body is given."""
    return f'#[version = "0.0.5"]\ndef @main({params}) {{\n{body}\n}}\n'


CONV = """
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 4, 8, 8), float32], %w1: Tensor[(4, 4, 3, 3), float32], %w2: Tensor[(4, 4, 1, 1), float32],
          %b: Tensor[(4), float32], %w3: Tensor[(5, 256), float32]) {
  %0 = nn.conv2d(%x, %w1, padding=[1, 1], channels=4, kernel_size=[3, 3]);
  %1 = nn.relu(nn.bias_add(%0, %b));
  %2 = nn.conv2d(%1, %w2, channels=4, kernel_size=[1, 1]);
  %3 = nn.relu(add(%2, %x));
  nn.softmax(nn.dense(nn.batch_flatten(%3), %w3))
}
"""

NORMALISED = """
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 4, 6, 6), float32], %w: Tensor[(4, 4, 3, 3), float32], %gamma: Tensor[(4), float32],
          %beta: Tensor[(4), float32], %mean: Tensor[(4), float32], %var: Tensor[(4), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1], channels=4, kernel_size=[3, 3]);
  %1 = nn.batch_norm(%0, %gamma, %beta, %mean, %var);
  %2 = nn.relu(%1.0);
  %3 = nn.global_avg_pool2d(%2);
  (tanh(nn.batch_flatten(%3)), %2)
}
"""

SCALED = """
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 4, 6, 6), float32], %w: Tensor[(4, 4, 3, 3), float32], %v: Tensor[(4, 4, 1, 1), float32],
          %s: Tensor[(4, 1, 1), float32], %t: Tensor[(4, 1, 1), float32]) {
  %0 = nn.conv2d(multiply(%x, %s), %w, padding=[1, 1], channels=4, kernel_size=[3, 3]);
  %1 = nn.relu(%0);
  %2 = multiply(add(nn.conv2d(%1, %v, channels=4, kernel_size=[1, 1]), %t), %t);
  (tanh(%2), nn.global_avg_pool2d(%2))
}
"""

BRANCHES = """
#[version = "0.0.5"]
def @main(%x: Tensor[(3, 4), float32], %c: bool) {
  %0 = tanh(%x);
  %1 = add(%0, 1f);
  %2 = if (%c) {
    let %a = multiply(%1, %x);
    let %b = subtract(%a, %0);
    exp(%b)
  } else {
    let %d = subtract(%x, %1);
    nn.relu(%d)
  };
  (sum(%2, axis=[1]), %0)
}
"""

LOOP = """
#[version = "0.0.5"]
def @main(%x: Tensor[(3), float32], %n: int32) {
  let %start = tanh(%x);
  (@loop(%n, %start), %start)
}
def @loop(%i: int32, %a: Tensor[(3), float32]) -> Tensor[(3), float32] {
  if (less(%i, 1)) { %a } else { @loop(subtract(%i, 1), add(multiply(%a, 0.5f), 1f)) }
}
"""

CLOSURES = """
#[version = "0.0.5"]
def @main(%x: Tensor[(3), float32], %y: Tensor[(3), float32]) {
  let %u = tanh(%x);
  let %f = fn (%a: Tensor[(3), float32], %b: Tensor[(3), float32]) { subtract(multiply(%a, %u), multiply(%b, %y)) };
  let %v = %f(%x, %y);
  let %w = %f(%y, %v);
  (exp(%v), %w)
}
"""

LISTS = """
#[version = "0.0.5"]
type L { Cons(Tensor[(2), float32], L), Nil, }
def @total(%l: L) -> Tensor[(2), float32] {
  match (%l) {
    Cons(%h, Nil) => multiply(%h, 2f),
    Cons(%h, %t) => add(%h, multiply(@total(%t), 0.5f)),
    Nil => zeros(shape=[2], dtype="float32"),
  }
}
def @main(%x: Tensor[(2), float32], %y: Tensor[(2), float32]) {
  let %a = tanh(%x);
  let %l = Cons(%a, Cons(%y, Cons(%x, Nil)));
  (@total(%l), @total(Nil), @total(Cons(%y, Nil)))
}
"""

REFERENCES = """
#[version = "0.0.5"]
def @main(%x: Tensor[(3), float32], %y: Tensor[(3), float32]) {
  let %r = ref(%x);
  let %a = ref_read(%r);
  let %u = ref_write(%r, add(%a, %y));
  let %b = ref_read(%r);
  let %w = ref_write(%r, multiply(%b, %b));
  let %c = ref_read(%r);
  (exp(%a), %b, %c)
}
"""

PARALLEL = """
#[version = "0.0.5"]
def @main(%x: Tensor[(3, 4), float32], %a: Tensor[(5, 4), float32], %b: Tensor[(6, 4), float32],
          %c: Tensor[(7, 4), float32], %d: Tensor[(5), float32], %e: Tensor[(6), float32], %f: Tensor[(7), float32]) {
  %0 = tanh(%x);
  %1 = nn.relu(add(nn.dense(%0, %a), %d));
  %2 = nn.relu(add(nn.dense(%0, %b), %e));
  %3 = nn.relu(add(nn.dense(%0, %c), %f));
  (exp(%1), %2, %3)
}
"""

PARALLEL_CONV = """
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 4, 6, 6), float32], %a: Tensor[(2, 4, 1, 1), float32], %b: Tensor[(3, 4, 1, 1), float32],
          %c: Tensor[(4, 4, 1, 1), float32]) {
  %0 = nn.relu(%x);
  %1 = nn.relu(nn.conv2d(%0, %a, kernel_size=[1, 1]));
  %2 = nn.relu(nn.conv2d(%0, %b, kernel_size=[1, 1]));
  %3 = nn.relu(nn.conv2d(%0, %c, kernel_size=[1, 1]));
  concatenate((%1, %2, %3), axis=1)
}
"""

PARALLEL_MATMUL = """
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3, 4), float32], %a: Tensor[(2, 5, 4), float32], %b: Tensor[(2, 6, 4), float32],
          %c: Tensor[(2, 5, 4), float32]) {
  %0 = tanh(%x);
  (exp(nn.batch_matmul(%0, %a, transpose_b=True)), exp(nn.batch_matmul(%0, %b, transpose_b=True)), exp(nn.batch_matmul(%0, %c, transpose_b=True)))
}
"""

MLP = """
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 6), float32], %w1: Tensor[(8, 6), float32], %b1: Tensor[(8), float32],
          %w2: Tensor[(8, 8), float32], %b2: Tensor[(8), float32], %w3: Tensor[(4, 8), float32]) {
  %0 = nn.relu(nn.bias_add(nn.dense(%x, %w1), %b1));
  %1 = nn.relu(nn.bias_add(nn.dense(%0, %w2), %b2));
  %2 = add(%1, %0);
  nn.softmax(nn.dense(%2, %w3))
}
"""

REPEATED = """
#[version = "0.0.5"]
def @main(%x: Tensor[(3, 4), float32], %k: Tensor[(2), uint64]) {
  %0 = add(%x, 1f);
  %1 = add(%x, 1f);
  %2 = add(%x, 2f);
  %3 = multiply(%0, %1);
  %4 = sum(%x, axis=[0]);
  %5 = sum(%x, axis=[1], keepdims=True);
  (subtract(%3, %2), %4, %5)
}
"""

QUANTIZED = """
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 8), uint8], %w: Tensor[(4, 8), int8]) {
  %0 = qnn.dense(%x, %w, 7, 2, 0.25f, 0.5f, units=4);
  %1 = qnn.requantize(%0, 0.125f, 0, 0.5f, 3, out_dtype="uint8");
  qnn.dequantize(%1, 0.5f, 3, out_dtype="float32")
}
"""

DYNAMIC = """
#[version = "0.0.5"]
def @main(%x: Tensor[(?, 4), float32], %w: Tensor[(5, 4), float32]) {
  %0 = tanh(%x);
  %1 = nn.dense(%0, %w);
  (nn.relu(concatenate((%1, %1), axis=0)), sum(%0, axis=[1]))
}
"""

CELL = """
#[version = "0.0.5"]
def @main(%x: Tensor[(3), float32], %y: Tensor[(3), float32], %c: bool, %n: int32) {
  let %r = ref(%x);
  let %u = if (%c) { let %w = ref_write(%r, multiply(%y, 2f)); ref_read(%r) } else { add(ref_read(%r), 1f) };
  let %v = @turn(%n, %r);
  let %after = ref_read(%r);
  (exp(%u), %v, multiply(%after, %y))
}
def @turn(%n: int32, %r: ref(Tensor[(3), float32])) -> () {
  if (less(%n, 1)) { () } else { let %w = ref_write(%r, tanh(ref_read(%r))); @turn(subtract(%n, 1), %r) }
}
"""

TWO_LISTS = """
#[version = "0.0.5"]
type L { Cons(Tensor[(2), float32], L), Nil, }
def @both(%a: L, %b: L) -> Tensor[(2), float32] {
  match ((%a, %b)) {
    (Nil, _) => ones(shape=[2], dtype="float32"),
    (_, Nil) => zeros(shape=[2], dtype="float32"),
    (Cons(%h, _), Cons(%k, _)) => subtract(%h, %k),
  }
}
def @main(%x: Tensor[(2), float32], %y: Tensor[(2), float32]) {
  let %one = Cons(tanh(%x), Nil);
  let %two = Cons(%y, %one);
  (@both(%one, %two), @both(%two, Nil), @both(Nil, %one))
}
"""
