"""LazyGradientInit: zeros and ones that are only added and multiplied are never computed."""

from __future__ import annotations

import numpy as np
import pytest

from passlab import transform
from passlab.analysis.well_formed import well_formed
from passlab.errors import DiagnosticError
from passlab.evaluate import Evaluator
from passlab.infer import infer_module
from passlab.ir import IRModule
from passlab.ir.equal import structural_equal
from passlab.text.parser import parse
from tests.passes.law_programs import arguments
from tests.passes.test_laws import flat

X = "%x: Tensor[(3), float32]"
PROGRAMS = {
    "sums and products": f"def @main({X}) {{ add(multiply(ones_like(%x), %x), multiply(zeros_like(%x), exp(%x))) }}",
    "by shape": f'def @main({X}) {{ add(multiply(ones(shape=[3], dtype="float32"), %x), zeros(shape=[3], dtype="float32")) }}',
    "ones and ones": f"def @main({X}) {{ add(ones_like(%x), multiply(ones_like(%x), ones_like(%x))) }}",
    "broadcasting": f'def @main({X}) {{ multiply(zeros(shape=[2, 3], dtype="float32"), add(%x, 2f)) }}',
    "tuples": """def @main(%p: (Tensor[(3), float32], (Tensor[(3), float32],))) {
      let %q = (zeros_like(%p.0), %p);
      (%q.0, multiply(%q.1.1.0, ones_like(%q.0)), split(%q.0, indices_or_sections=3).1)
    }""",
    "branches": f"def @main(%c: bool, {X}) {{ if (%c) {{ zeros_like(%x) }} else {{ add(%x, zeros_like(%x)) }} }}",
    "closures": f"""def @main({X}) {{
      let %f = fn (%y: Tensor[(3), float32]) -> Tensor[(3), float32] {{ multiply(%y, ones_like(%x)) }};
      %f(%f(zeros_like(%x)))
    }}""",
    "references": f"""def @main({X}) {{
      let %r = ref(zeros_like(%x));
      let %u = ref_write(%r, add(ref_read(%r), %x));
      add(ref_read(%r), ref_read(%r))
    }}""",
    "global functions": f"""def @main({X}) {{ add(@f(zeros_like(%x)), %x) }}
    def @f(%y: Tensor[(3), float32]) -> Tensor[(3), float32] {{ multiply(%y, ones_like(%y)) }}""",
    "integers": "def @main(%x: Tensor[(3), int8]) { multiply(add(%x, ones_like(%x)), 3i8) }",
}
OTHERS = {
    "data": f"""type Option[A] {{ Some(A), None, }}
    def @main({X}) {{ match (Some(zeros_like(%x))) {{ Some(%y) => {{ %y }}, None => {{ %x }} }} }}""",
    "generic functions": "def @main[A](%x: A, %y: Tensor[(3), float32]) -> (A, Tensor[(3), float32]) { (%x, zeros_like(%y)) }",
    "kernels as values": f"""def @main({X}) {{
      let %f = fn (%y: Tensor[(3), float32], Primitive=1) -> Tensor[(3), float32] {{ exp(%y) }};
      %f(zeros_like(%x))
    }}""",
}


def typed(text: str) -> IRModule:
    return infer_module(parse(text))


def lazy(mod: IRModule) -> IRModule:
    with transform.PassContext(opt_level=4):
        return transform.Sequential([transform.LazyGradientInit()])(mod)


@pytest.mark.parametrize("name", PROGRAMS)
def test_numbers_stay_what_they_are(name: str):
    mod = typed(PROGRAMS[name])
    result = lazy(mod)
    assert "GradCell" in str(result["main"])
    assert well_formed(result)
    assert structural_equal(result["main"].checked_type, mod["main"].checked_type)
    values = [flat(Evaluator(m).run("main", arguments(mod))) for m in (mod, result)]
    for want, got in zip(*values, strict=True):
        np.testing.assert_array_equal(got, want)
    assert lazy(result) is result


@pytest.mark.parametrize("name", OTHERS)
def test_what_cells_cannot_hold_stays(name: str):
    mod = typed(OTHERS[name])
    assert lazy(mod) is mod


def test_a_product_with_zeros_is_not_computed():
    mod = lazy(typed(f"def @main({X}) {{ multiply(zeros_like(%x), divide(%x, 0f)) }}"))
    result = Evaluator(mod).run("main", [np.zeros(3, "float32")])
    np.testing.assert_array_equal(result, np.zeros(3, "float32"))


def test_gradients_are_made_lazy():
    mod = typed(f"def @main({X}) -> Tensor[(3), float32] {{ multiply(exp(%x), add(%x, %x)) }}")
    graded = infer_module(transform.FirstOrderGradient()(mod))
    result = lazy(graded)
    values = [flat(Evaluator(m).run("main", arguments(mod))) for m in (graded, result)]
    for want, got in zip(*values, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_other_definitions_of_the_library_are_not_replaced():
    mod = typed(f"type GradCell[T] {{ Mine(T), }} def @main({X}) {{ zeros_like(%x) }}")
    with pytest.raises(DiagnosticError, match="GradCell"):
        lazy(mod)


def test_a_module_that_has_the_library_keeps_it():
    mod = typed(f"def @main({X}) {{ add(zeros_like(%x), %x) }}")
    mod.import_from_std("gradient.rly")
    result = lazy(mod)
    assert result.type_data("GradCell") is mod.type_data("GradCell")
