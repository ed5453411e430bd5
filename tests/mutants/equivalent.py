"""Mutants that no test can catch, because passlab does the same with them: each by its key, with the reason."""

_NO_ORDER = "the result does not depend on the order of these two"
_SPEED = "the result is the same on both ways, of which one is quicker"

EQUIVALENT: dict[str, str] = {
    "CompiledEngine._choose_cache / other text 0 / 'python, sizes from ~'": "the text is a key that nothing else reads",
    "ConvertLayout.acts_on / drop statement 0": "a pass that does not say what it acts on runs on every function, which takes longer",
    "_patches / other comparison 3 / >=": _SPEED,
    "broadcast:_bitwise / other constant 3 / True": "NumPy warns of nothing that is computed with bits",
    "graph_module:_gap / swap arguments 0 / 0 1": _NO_ORDER,
    "number_array / drop statement 2": "a constant copies an array that can be written to, which takes longer",
    "pool:_max_pool / decide condition 0 / True": "an array that is copied to itself stays as it is",
    "replace_weights / swap arguments 2 / 0 1": _NO_ORDER,
    "run_const_expr / keep argument 0": "the value of a tensor is an array already, which the type checker is not told",
    "some_layer / swap operands 0": _NO_ORDER,
}
