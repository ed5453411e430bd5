"""Programs of any size in one shape each: one construct grows, so a cost that grows with it shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable

_HEADER = '#[version = "0.0.5"]\n'
_LIST = "type Nat { Zero, Succ(Nat) }\n"


def _main(lines: Iterable[str], result: str, params: str = "%x: Tensor[(2, 2), float32]", before: str = "") -> str:
    return f"{_HEADER}{before}def @main({params}) {{\n{''.join(lines)}  {result}\n}}\n"


def _after(n: int) -> Iterable[tuple[int, str]]:
    """Yield numbers, each with the name of the let variable before it."""
    return ((i, f"%v{i - 1}" if i else "%x") for i in range(n))


def calls(n: int) -> str:
    """Nested calls, each using the one before."""
    return _main((f"  %{i} = add(%{i - 1 if i else 'x'}, %x);\n" for i in range(n)), f"%{n - 1}")


def lets(n: int) -> str:
    """Nested lets, each using the one before."""
    return _main((f"  let %v{i} = add(%{f'v{i - 1}' if i else 'x'}, %x);\n" for i in range(n)), f"%v{n - 1}")


def apart(n: int) -> str:
    """Lets that do not use each other; the last line uses all of them."""
    fields = ", ".join(f"%v{i}" for i in range(n))
    return _main((f"  let %v{i} = multiply(%x, {i}f);\n" for i in range(n)), f"({fields})")


def ifs(n: int) -> str:
    """Branches, nested in the false branch."""
    opened = (f"  if (%c) {{\n  add(%x, {i}f)\n  }} else {{\n" for i in range(n))
    return _main(opened, "%x\n" + "}" * n, "%c: bool, %x: Tensor[(2, 2), float32]")


def choices(n: int) -> str:
    """Branches one after the other, each on the result of the one before."""
    lines = (
        f"  let %v{i} = if (%c) {{\n    add({at}, %x)\n  }} else {{\n    negative({at})\n  }};\n" for i, at in _after(n)
    )
    return _main(lines, f"%v{n - 1}", "%c: bool, %x: Tensor[(2, 2), float32]")


def functions(n: int) -> str:
    """Local functions, nested in each other, each of which uses what the outer ones bind."""
    opened = (f"  let %f{i} = fn (%p{i}: Tensor[(2, 2), float32]) {{\n" for i in range(n))
    closed = "".join(f"\n  }};\n  %f{i}(%{f'p{i - 1}' if i else 'x'})" for i in reversed(range(n)))
    return _main(opened, f"add(%p{n - 1}, %x){closed}")


def closures(n: int) -> str:
    """Local functions one after the other, each of which calls the one before."""
    lines = (
        f"  let %f{i} = fn (%p: Tensor[(2, 2), float32]) {{\n    {f'%f{i - 1}(%p)' if i else 'add(%p, %x)'}\n  }};\n"
        for i in range(n)
    )
    return _main(lines, f"%f{n - 1}(%x)")


def globals_(n: int) -> str:
    """Global functions, each calling the one before."""
    kind = "Tensor[(2, 2), float32]"
    before = "".join(
        f"def @f{i}(%p: {kind}) -> {kind} {{\n  {f'@f{i - 1}(%p)' if i else 'negative(%p)'}\n}}\n" for i in range(n)
    )
    return _main((), f"@f{n - 1}(%x)", before=before)


def unsigned(n: int) -> str:
    """Global functions without a declared result, each calling the one after it."""
    kind = "Tensor[(2, 2), float32]"
    before = "".join(
        f"def @f{i}(%p: {kind}) {{\n  {f'@f{i + 1}(%p)' if i < n - 1 else 'negative(%p)'}\n}}\n" for i in range(n)
    )
    return _main((), "@f0(%x)", before=before)


def concatenate(n: int) -> str:
    """One concatenation of many tensors."""
    fields = (f"  %{i} = multiply(%x, {i}f);\n" for i in range(n))
    return _main(fields, f"concatenate(({', '.join(f'%{i}' for i in range(n))}))")


def concatenates(n: int) -> str:
    """Concatenations and slices of their results, in turns."""
    lines = (
        f"  %{2 * i} = concatenate((%{2 * i - 1 if i else 'x'}, %x), axis=1);\n"
        f"  %{2 * i + 1} = strided_slice(%{2 * i}, begin=[0, 0], end=[2, 2]);\n"
        for i in range(n)
    )
    return _main(lines, f"%{2 * n - 1}")


def split(n: int) -> str:
    """One split into many parts, and projections of all of them."""
    parts = (f"  %{i + 1} = %0.{i};\n" for i in range(n))
    params = f"%x: Tensor[({n}, 2), float32]"
    lines = [f"  %0 = split(%x, indices_or_sections={n});\n", *parts]
    return _main(lines, f"({', '.join(f'%{i + 1}' for i in range(n))})", params)


def fan(n: int) -> str:
    """One node with many users, which are added up."""
    users = (f"  %{i + 1} = multiply(%0, {i}f);\n" for i in range(n))
    sums = (f"  %{n + 1 + i} = add(%{n + i if i else 1}, %{i + 1});\n" for i in range(n))
    return _main(["  %0 = exp(%x);\n", *users, *sums], f"%{2 * n}")


def parameters(n: int) -> str:
    """A function of many parameters, which are added up."""
    params = ", ".join(f"%x{i}: Tensor[(2, 2), float32]" for i in range(n))
    return _main((f"  %{i} = add(%{i - 1 if i else 'x0'}, %x{i});\n" for i in range(n)), f"%{n - 1}", params)


def clauses(n: int) -> str:
    """One match with a clause for each constructor of a wide data type."""
    data = "type Wide {\n" + "".join(f"  C{i}(Tensor[(), float32]),\n" for i in range(n)) + "}\n"
    arms = "".join(f"    C{i}(%a{i}) => add(%a{i}, {i}f),\n" for i in range(n))
    return _main((), f"match (%w) {{\n{arms}  }}", "%w: Wide", data)


def numerals(n: int) -> str:
    """One match whose clauses hold deeper and deeper patterns, `n` constructors in all."""
    arms, depth = [], 0
    while depth * (depth + 1) // 2 < n:
        arms.append(f"    {'Succ(' * depth}Zero{')' * depth} => {depth},\n")
        depth += 1
    return _main((), f"match (%w) {{\n{''.join(arms)}    _ => {depth},\n  }}", "%w: Nat", _LIST)


def pattern(n: int) -> str:
    """One deep pattern."""
    deep = f"{'Succ(' * n}%a{')' * n}"
    return _main((), f"match (%w) {{\n    {deep} => %a,\n    _ => %w,\n  }}", "%w: Nat", _LIST)


def matches(n: int) -> str:
    """Matches one after the other."""
    lines = (
        f"  let %v{i} = match (%{f'v{i - 1}' if i else 'w'}) {{\n    Succ(%a{i}) => %a{i},\n    Zero => Zero,\n  }};\n"
        for i in range(n)
    )
    return _main(lines, f"%v{n - 1}", "%w: Nat", _LIST)


def references(n: int) -> str:
    """Writes to and reads from one reference, in order."""
    lines = (f"  let %v{i} = ref_read(%r);\n  let %u{i} = ref_write(%r, add(%v{i}, %x));\n" for i in range(n))
    return _main(["  let %r = ref(%x);\n", *lines], "ref_read(%r)")


def convolutions(n: int) -> str:
    """Convolution, bias, batch norm and relu, again and again."""
    lines = []
    for i in range(n):
        at = 5 * i
        lines.append(
            f"  %{at} = nn.conv2d(%{at - 1 if i else 'x'}, %w, padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3]);\n"
            f"  %{at + 1} = nn.bias_add(%{at}, %b);\n"
            f"  %{at + 2} = nn.batch_norm(%{at + 1}, %b, %b, %b, %b);\n"
            f"  %{at + 3} = %{at + 2}.0;\n"
            f"  %{at + 4} = nn.relu(%{at + 3});\n"
        )
    params = "%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(4, 4, 3, 3), float32], %b: Tensor[(4), float32]"
    return _main(lines, f"%{5 * n - 1}", params)


def dense(n: int) -> str:
    """Many dense layers of one input, added up."""
    users = (f"  %{i} = nn.dense(%x, %w, units=2);\n" for i in range(n))
    sums = (f"  %{n + i} = add(%{n + i - 1 if i else 0}, %{i});\n" for i in range(n))
    return _main([*users, *sums], f"%{2 * n - 1}", "%x: Tensor[(2, 2), float32], %w: Tensor[(2, 2), float32]")


def dynamic(n: int) -> str:
    """Calls on tensors whose sizes are not known."""
    lines = (f"  %{i} = concatenate((%{i - 1 if i else 'x'}, %x));\n" for i in range(n))
    return _main(lines, f"%{n - 1}", "%x: Tensor[(?, 2), float32]")


def casts(n: int) -> str:
    """Casts, there and back."""
    kinds = ("float16", "float32")
    return _main((f'  %{i} = cast(%{i - 1 if i else "x"}, dtype="{kinds[i % 2]}");\n' for i in range(n)), f"%{n - 1}")


def quantized(n: int) -> str:
    """Dequantize, relu, quantize, again and again."""
    lines = []
    for i in range(n):
        at = 3 * i
        lines.append(
            f"  %{at} = qnn.dequantize(%{at - 1 if i else 'x'}, 0.5f, 0, out_dtype="
            '"float32");\n'
            f"  %{at + 1} = nn.relu(%{at});\n"
            f'  %{at + 2} = qnn.quantize(%{at + 1}, 0.5f, 0, out_dtype="int8");\n'
        )
    return _main(lines, f"%{3 * n - 1}", "%x: Tensor[(2, 2), int8]")


def regions(n: int) -> str:
    """Regions for another compiler, one operator in each."""
    lines = []
    for i in range(n):
        at = 4 * i
        lines.append(
            f'  %{at} = annotation.compiler_begin(%{at - 1 if i else "x"}, compiler="toy");\n'
            f'  %{at + 1} = annotation.compiler_begin(%x, compiler="toy");\n'
            f"  %{at + 2} = add(%{at}, %{at + 1});\n"
            f'  %{at + 3} = annotation.compiler_end(%{at + 2}, compiler="toy");\n'
        )
    return _main(lines, f"%{4 * n - 1}")


def bound_regions(n: int) -> str:
    """Regions for another compiler, one operator in each, in lets: they stay apart."""
    lines = (
        f'  let %v{i} = annotation.compiler_end(add(annotation.compiler_begin({at}, compiler="toy"), '
        f'annotation.compiler_begin(%x, compiler="toy")), compiler="toy");\n'
        for i, at in _after(n)
    )
    return _main(lines, f"%v{n - 1}")


Shape = Callable[[int], str]
SHAPES: dict[str, Shape] = {
    make.__name__.rstrip("_"): make
    for make in (
        calls, lets, apart, ifs, choices, functions, closures, globals_, unsigned, concatenate, concatenates,
        split, fan, parameters, clauses, numerals, pattern, matches, references, convolutions, dense, dynamic, casts,
        quantized, regions, bound_regions,
    )
}  # fmt: skip
