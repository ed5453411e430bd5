"""The functions on tensor arrays as Relay text, with placeholders for names and types (`$read`, `$element`).

Tensors of any rank and tensors of one shape differ in their wrappers, not in the operations on lists of them.
`$element` is the type of the elements, `$joined` that of concatenated tensors, `$stacked` that of stacked tensors;
indices and lengths are vectors of int32. The text uses only the lists of the prelude.
"""

from string import Template

ARRAY = Template("""
def @$array(%n: int32) -> List[$element] {
  if (equal(%n, 0)) {
    Nil
  } else {
    Cons($nil, @$array(subtract(%n, 1)))
  }
}
""")

READ = Template("""
def @$read(%array: List[$element], %n: int32) -> $element {
  @nth(%array, %n)
}
""")

WRITE = Template("""
def @$write(%array: List[$element], %n: int32, %v: $element) -> List[$element] {
  @update(%array, %n, %v)
}
""")

UNSTACK = Template("""
def @$helper(%i: int32, %end: int32, %tensor: $tensor) -> List[$part] {
  if (equal(%i, %end)) {
    Nil
  } else {
    Cons($wrap(take(%tensor, %i, axis=0)), @$helper(add(%i, 1), %end, %tensor))
  }
}

def @$unstack(%tensor: $tensor) -> List[$part] {
  @$helper(0, take(shape_of(%tensor, dtype="int32"), 0), %tensor)
}
""")

# Element i of the values is written at the i-th index.
SCATTER = Template("""
def @$helper(
  %array: List[$element], %i: int32, %end: int32, %indices: $indices, %values: List[$element]
) -> List[$element] {
  if (equal(%i, %end)) {
    %array
  } else {
    let %written = @$write(%array, take(%indices, %i), @$read(%values, %i));
    @$helper(%written, add(%i, 1), %end, %indices, %values)
  }
}

def @$scatter(%array: List[$element], %indices: $indices, %values: List[$element]) -> List[$element] {
  @$helper(%array, 0, take(shape_of(%indices, dtype="int32"), 0), %indices, %values)
}
""")

# The value is cut along its first axis into pieces of the given lengths, which overwrite the array from its start.
SPLIT = Template("""
def @$helper(
  %array: List[$joined], %value: $value, %offset: int32, %i: int32, %end: int32, %lengths: $lengths
) -> List[$joined] {
  if (equal(%i, %end)) {
    %array
  } else {
    let %after = add(%offset, take(%lengths, %i));
    let %rest = @$helper(%array, %value, %after, add(%i, 1), %end, %lengths);
    @$joined_write(%rest, %i, @$take(%value, %offset, %after))
  }
}

def @$split(%array: List[$joined], %value: $value, %lengths: $lengths) -> List[$joined] {
  @$helper(%array, %value, 0, 0, take(shape_of(%lengths, dtype="int32"), 0), %lengths)
}
""")

CONCAT = Template("""
def @$concat(%array: List[$joined]) -> $joined {
  match (%array) {
    Nil => $joined_nil,
    Cons(%tensor, Nil) => %tensor,
    Cons(%tensor, %rest) => @$joined_concatenate(%tensor, @$concat(%rest)),
  }
}
""")

STACK = Template("""
def @$stack(%array: List[$element]) -> $stacked {
  let %tensors = @map(@$expand_dims, %array);
  @foldl(@$stacked_concatenate, @hd(%tensors), @tl(%tensors))
}
""")

STACK_ONE = Template("""
def @$stack(%array: List[$element]) -> $stacked {
  @hd(@map(@$expand_dims, %array))
}
""")

GATHER = Template("""
def @$helper(
  %array: List[$element], %found: List[$element], %left: int32, %indices: Tensor[(?), int32]
) -> $stacked {
  if (equal(%left, 0)) {
    @$stack(%found)
  } else {
    let %i = subtract(%left, 1);
    @$helper(%array, Cons(@$read(%array, take(%indices, %i)), %found), %i, %indices)
  }
}

def @$gather(%array: List[$element], %indices: Tensor[(?), int32]) -> $stacked {
  @$helper(%array, Nil, take(shape_of(%indices, dtype="int32"), 0), %indices)
}
""")

# ---------------------------------------------------------------- tensors of any rank

DYNAMIC = Template("""
type $element {
  $nil,
$constructors
}

def @$take(%tensor: $element, %lower: int32, %upper: int32) -> $element {
  let %rows = arange(%lower, %upper, 1, dtype="int32");
  match? (%tensor) {
$takes
  }
}

def @$expand_dims(%tensor: $element) -> $element {
  match? (%tensor) {
$expansions
  }
}

def @$stacked_concatenate(%x: $element, %y: $element) -> $element {
  match? ((%x, %y)) {
$concatenations
  }
}
""")

# ---------------------------------------------------------------- tensors of one shape

STATIC = Template("""
type $element {
  $nil,
  $constructor($tensor),
}
""")

GET_DATA = Template("""
def @$get_data(%tensor: $element) -> $tensor {
  match? (%tensor) {
    $constructor(%t) => %t,
  }
}
""")

TAKE = Template("""
def @$take(%tensor: $element, %lower: int32, %upper: int32) -> $joined {
  match? (%tensor) {
    $constructor(%t) => $joined_constructor(take(%t, arange(%lower, %upper, 1, dtype="int32"), axis=0)),
  }
}
""")

CONCATENATE = Template("""
def @$concatenate(%x: $element, %y: $element) -> $joined {
  match? ((%x, %y)) {
    ($constructor(%a), $constructor(%b)) => $joined_constructor(concatenate((%a, %b), axis=0)),
  }
}
""")

EXPAND_DIMS = Template("""
def @$expand_dims(%tensor: $element) -> $stacked {
  match? (%tensor) {
    $constructor(%t) => $stacked_constructor(expand_dims(%t, axis=0)),
  }
}
""")
