"""Classical machine learning: the operators of `ai.onnx.ml` on numbers, as arithmetic on whole arrays.

All samples go through all trees at once, level by level:

    node = roots                                      (samples, trees)
    node = x[:, feature[node]] <= value[node] ? true[node] : false[node]     as often as the deepest tree is deep
    scores = sum over trees of weights[node]          (samples, classes)

Labels that are texts become their numbers, since Relay has no tensors of text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from passlab.frontend.onnx.entries import onnx_operator
from passlab.frontend.onnx.node import OnnxNode
from passlab.ir.expr import Expr

Array = np.ndarray[Any, Any]
_AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


def _floats(n: OnnxNode, x: Expr) -> Expr:
    """Return numbers as floats; 64-bit numbers keep their width."""
    return x if n.dtype(x) in ("float32", "float64") else n.cast(x, "float32")


def _number_list(n: OnnxNode, name: str, default: Any = None) -> Array | None:
    """Return an attribute that is a list of numbers, or the tensor of wider numbers in its place."""
    if n.has(f"{name}_as_tensor"):
        return np.asarray(n.tensor(f"{name}_as_tensor"))
    values = n.numbers(name, default)
    return None if values is None else np.asarray(values, "float32")


def _labels(n: OnnxNode, integers: str) -> Array:
    """Return the labels of the classes: whole numbers, or the positions of texts."""
    numbers, texts = n.integers(integers, []), n.texts("classlabels_strings", [])
    if not numbers and not texts:
        n.refuse("has no labels of classes")
    return np.asarray(numbers or range(len(texts)), "int64")


# ---------------------------------------------------------------- scores
def _transformed(n: OnnxNode, scores: Expr, transform: str) -> Expr:
    """Return scores after one of the transforms of `ai.onnx.ml`, along the classes."""
    if transform == "LOGISTIC":
        return n("sigmoid", scores)
    if transform == "SOFTMAX":
        return n("nn.softmax", scores, axis=-1)
    if transform == "SOFTMAX_ZERO":  # as softmax, but scores of 0 stay small
        largest = n("max", scores, axis=[-1], keepdims=True)
        is_zero = n("less_equal", n("abs", scores), 1e-7)
        raised = n("exp", n("subtract", scores, largest))
        parts = n("where", is_zero, n("multiply", scores, n("exp", n("negative", largest))), raised)
        total = n("sum", parts, axis=[-1], keepdims=True)
        nothing = n("equal", total, 0.0)
        return n(
            "where",
            nothing,
            n.constant(0.5, scores),
            n("divide", parts, n("where", nothing, n.constant(1, total), total)),
        )
    if transform == "PROBIT":
        return n("multiply", _inverse_error(n, n("subtract", n("multiply", scores, 2.0), 1.0)), 1.41421356)
    return scores


def _inverse_error(n: OnnxNode, x: Expr) -> Expr:
    """Return the inverse of the error function (Winitzki, 2008)."""
    log = n("log", n("multiply", n("subtract", n.constant(1, x), x), n("add", x, 1.0)))
    half = n("add", n("multiply", log, 0.5), 2.0 / (np.pi * 0.147))
    root = n("sqrt", n("subtract", n("multiply", half, half), n("multiply", log, 1.0 / 0.147)))
    return n("multiply", n("sign", x), n("sqrt", n("subtract", root, half)))


def _two_scores(n: OnnxNode, score: Expr, transform: str, is_share: bool) -> Expr:
    """Return the scores of two classes from the score of the second, (samples, 1)."""
    other = n("subtract", n.constant(1, score), score) if is_share else n("negative", score)
    return _transformed(n, n.concat([other, score], axis=1), transform)


def _chosen(n: OnnxNode, scores: Expr, labels: Array) -> Expr:
    """Return the label of the highest score of each sample."""
    return n("take", n.array(labels), n.cast(n("argmax", scores, axis=[1]), "int64"), axis=0)


# ---------------------------------------------------------------- trees
@dataclass
class Forest:
    """The nodes of all trees by number: a leaf is its own successor. `modes` are comparisons, "" for a leaf."""

    features: Array
    values: Array
    modes: list[str]
    yes: Array
    no: Array
    missing: Array  # where a NaN goes to `yes`
    roots: Array
    depth: int
    members: Array | None = None  # of the set of each node whose comparison is "member"; NaN where it has fewer


_COMPARISONS = {
    "BRANCH_LEQ": "less_equal", "BRANCH_LT": "less", "BRANCH_GTE": "greater_equal", "BRANCH_GT": "greater",
    "BRANCH_EQ": "equal", "BRANCH_NEQ": "not_equal",
}  # fmt: skip


def _forest(n: OnnxNode) -> tuple[Forest, dict[tuple[int, int], int]]:
    """Return the trees of a node of the older definitions, and the numbers of nodes by tree and id."""
    trees, ids = n.integers("nodes_treeids"), n.integers("nodes_nodeids")
    numbers = {key: at for at, key in enumerate(zip(trees, ids, strict=True))}
    modes = n.texts("nodes_modes")
    own = np.arange(len(ids))
    yes, no = own.copy(), own.copy()
    for at, mode in enumerate(modes):
        if mode == "LEAF":
            continue
        if mode not in _COMPARISONS:
            n.refuse("has an unknown comparison", f"one of {', '.join(_COMPARISONS)}", mode)
        for successors, name in ((yes, "nodes_truenodeids"), (no, "nodes_falsenodeids")):
            key = (trees[at], n.integers(name)[at])
            if key not in numbers:
                n.refuse("names a node that its tree does not have", found=f"node {key[1]} of tree {key[0]}")
            successors[at] = numbers[key]
    values = _number_list(n, "nodes_values", [0.0] * len(ids))
    assert values is not None
    flags = n.integers("nodes_missing_value_tracks_true", []) or [0] * len(ids)
    inner = [_COMPARISONS.get(mode, "") for mode in modes]
    features = np.where(np.asarray(inner, object) == "", 0, np.asarray(n.integers("nodes_featureids"), "int64"))
    reached = {int(s) for at in own if inner[at] for s in (yes[at], no[at])}
    roots = [int(at) for at in own if int(at) not in reached]
    if [trees[root] for root in roots] != list(dict.fromkeys(trees)):
        n.refuse("has a tree whose branches lead back to it")
    forest = Forest(
        features.astype("int64"), values, inner, yes, no, np.asarray(flags, bool), np.asarray(roots, "int64"), 0
    )
    forest.depth = _depth(n, forest)
    return forest, numbers


def _depth(n: OnnxNode, forest: Forest) -> int:
    """Return the comparisons on the longest way from a root to a leaf. Raises `ModelError` for a cycle."""
    level, depth = set(forest.roots.tolist()), 0
    reached = set(level)
    while level and depth <= len(forest.modes):
        level = {int(s) for at in level if forest.modes[at] for s in (forest.yes[at], forest.no[at])}
        reached |= level
        depth += bool(level)
    if level or len(reached) < len(forest.modes):
        n.refuse("has a tree whose branches lead back to it")
    return depth


def _leaves(n: OnnxNode, x: Expr, forest: Forest) -> Expr:
    """Return the number of the leaf of each sample in each tree."""
    tables = {
        "features": forest.features, "values": forest.values, "yes": forest.yes.astype("int64"),
        "no": forest.no.astype("int64"), "missing": forest.missing,
    }  # fmt: skip
    kinds = sorted({mode for mode in forest.modes if mode})
    node: Expr | None = None

    def of(array: Array) -> Expr:
        """Return the entries of a table for the current nodes; at first, the entries of the roots."""
        return n.array(array[forest.roots]) if node is None else n("take", n.array(array), node, axis=0)

    for _ in range(max(forest.depth, 1)):
        features = of(tables["features"])
        number = n("take", x, features, axis=1) if node is None else n("gather", x, axis=1, indices=features)
        limit = n.cast(of(tables["values"]), n.dtype(x))
        goes: Expr | None = None
        for kind in kinds or ["less_equal"]:
            if kind == "member":
                assert forest.members is not None
                members = n.cast(of(forest.members), n.dtype(x))
                holds = n("any", n("equal", n("expand_dims", number, axis=2), members), axis=[2])
            else:
                holds = n(kind, number, limit)
            is_kind = of(np.asarray([mode == kind for mode in forest.modes]))
            goes = holds if goes is None else n("where", is_kind, holds, goes)
        assert goes is not None
        if forest.missing.any():
            goes = n("logical_or", goes, n("logical_and", n("isnan", number), of(tables["missing"])))
        node = n("where", goes, of(tables["yes"]), of(tables["no"]))
    assert node is not None
    return node


def _leaf_table(n: OnnxNode, count: int, targets: int, triples: Sequence[tuple[int, int, Any]], how: str) -> Array:
    """Return what each leaf adds to each target; (leaf, target, weight) of the same leaf and target are combined."""
    n.check_size(count, targets)
    wide = np.asarray([weight for _, _, weight in triples]).dtype if triples else np.dtype("float32")
    dtype = wide if wide == np.float64 else np.dtype("float32")
    limits = np.finfo(dtype)
    start = {"MIN": limits.max, "MAX": limits.min}.get(how, 0)
    table = np.full((count, targets), start, dtype)
    combine = {"MIN": np.minimum, "MAX": np.maximum}.get(how, np.add)
    for leaf, target, weight in triples:
        if not 0 <= target < targets:
            n.refuse("has a weight for a target that it does not have", f"0 to {targets - 1}", str(target))
        table[leaf, target] = combine(table[leaf, target], weight)
    return table


def _aggregated(n: OnnxNode, x: Expr, forest: Forest, table: Array, how: str) -> Expr:
    """Return the scores of samples, (samples, targets)."""
    parts = n("take", n.array(table), _leaves(n, x, forest), axis=0)
    reduction = {"MIN": "min", "MAX": "max"}.get(how, "sum")
    total = n(reduction, parts, axis=[1])
    return n("multiply", total, 1.0 / len(forest.roots)) if how == "AVERAGE" else total


def _weights(n: OnnxNode, kind: str, numbers: dict[tuple[int, int], int]) -> list[tuple[int, int, Any]]:
    """Return (leaf, target, weight) for each weight of a leaf."""
    weights = _number_list(n, f"{kind}_weights")
    keys = list(zip(n.integers(f"{kind}_treeids"), n.integers(f"{kind}_nodeids"), strict=True))
    if weights is None or any(key not in numbers for key in keys):
        n.refuse("has weights of nodes that it does not have")
    return [
        (numbers[key], target, weight)
        for key, target, weight in zip(keys, n.integers(f"{kind}_ids"), weights, strict=True)
    ]


@onnx_operator("ai.onnx.ml.TreeEnsembleRegressor", 1, 3, 5)
def tree_ensemble_regressor(n: OnnxNode, x: Expr) -> Expr:
    """`take` and `where`, once for each level of the trees, and a reduction over trees."""
    x = _floats(n, x)
    how = n.choice("aggregate_function", "SUM", _AGGREGATES)
    forest, numbers = _forest(n)
    table = _leaf_table(n, len(forest.modes), n.integer("n_targets"), _weights(n, "target", numbers), how)
    result = _aggregated(n, x, forest, table, how)
    base = _number_list(n, "base_values")
    if base is not None and base.size:
        result = n("add", result, n.array(base.astype(table.dtype)))
    return n.cast(_transformed(n, result, n.choice("post_transform", "NONE", _TRANSFORMS)), "float32")


@onnx_operator("ai.onnx.ml.TreeEnsembleClassifier", 1, 3, 5)
def tree_ensemble_classifier(n: OnnxNode, x: Expr) -> list[Expr]:
    """As for the regressor, with a score for each class; the label has the highest score."""
    x, labels = _floats(n, x), _labels(n, "classlabels_int64s")
    transform = n.choice("post_transform", "NONE", _TRANSFORMS)
    forest, numbers = _forest(n)
    triples = _weights(n, "class", numbers)
    base = _number_list(n, "base_values")
    targets = {target for _, target, _ in triples}
    if len(labels) == 2 and len(targets) == 1:
        table = _leaf_table(n, len(forest.modes), 1, [(leaf, 0, weight) for leaf, _, weight in triples], "SUM")
        score = n.cast(_aggregated(n, x, forest, table, "SUM"), "float32")
        if base is not None and base.size:
            score = n("add", score, float(base[-1]))
        is_share = all(weight >= 0 for _, _, weight in triples)
        second = n("greater", n("squeeze", score, axis=[1]), 0.5 if is_share else 0.0)
        label = n("where", second, n.constant(labels[1], "int64"), n.constant(labels[0], "int64"))
        return [label, _two_scores(n, score, transform, is_share and transform == "NONE")]
    if len(labels) < 2:
        n.refuse("has a single class", hint="classifiers of two or more classes are supported")
    table = _leaf_table(n, len(forest.modes), len(labels), triples, "SUM")
    scores = _aggregated(n, x, forest, table, "SUM")
    scores = scores if base is None or not base.size else n("add", scores, n.array(base.astype(table.dtype)))
    scores = n.cast(scores, "float32")
    return [_chosen(n, scores, labels), _transformed(n, scores, transform)]


@onnx_operator("ai.onnx.ml.TreeEnsemble", 5)
def tree_ensemble(n: OnnxNode, x: Expr) -> Expr:
    """As for the regressor; the leaves are a list of their own."""
    x = _floats(n, x)
    how = _AGGREGATES[n.integer("aggregate_function", 1)]
    codes = n.tensor("nodes_modes").reshape(-1)
    kinds = [*_COMPARISONS.values(), "member"]
    if (codes >= len(kinds)).any():
        n.refuse("has an unknown comparison", f"0 to {len(kinds) - 1}", str(codes.max()))
    count, leaves = len(codes), n.integers("leaf_targetids")
    own = np.arange(count, count + len(leaves))
    branches = [
        np.asarray(n.integers(ids)) + count * np.asarray(n.integers(flags), bool)
        for ids, flags in (("nodes_truenodeids", "nodes_trueleafs"), ("nodes_falsenodeids", "nodes_falseleafs"))
    ]
    yes, no = (np.concatenate([branch, own]) for branch in branches)
    if min(yes.min(), no.min()) < 0 or max(yes.max(), no.max()) >= count + len(leaves):
        n.refuse("names a node that it does not have")
    # A tree that is a single leaf is written as a node whose two branches lead to it.
    roots = np.asarray(n.integers("tree_roots"), "int64")
    filler = np.zeros(len(leaves))
    splits = np.concatenate([n.tensor("nodes_splits").reshape(-1), filler.astype(n.tensor("nodes_splits").dtype)])
    features = np.concatenate([np.asarray(n.integers("nodes_featureids")), filler]).astype("int64")
    flags = n.integers("nodes_missing_value_tracks_true", []) or [0] * count
    modes = [*(kinds[int(code)] for code in codes), *[""] * len(leaves)]
    missing = np.asarray([*flags, *filler], bool)
    forest = Forest(features, splits, modes, yes, no, missing, roots, 0, _members(n, modes))
    forest.depth = _depth(n, forest)
    weights = n.tensor("leaf_weights").reshape(-1)
    triples = [(count + at, target, weight) for at, (target, weight) in enumerate(zip(leaves, weights, strict=True))]
    table = _leaf_table(n, len(modes), n.integer("n_targets"), triples, how)
    result = _transformed(n, _aggregated(n, x, forest, table, how), _TRANSFORMS[n.integer("post_transform", 0)])
    return n.cast(result, n.dtype(x))


def _members(n: OnnxNode, modes: Sequence[str]) -> Array | None:
    """Return the members of the sets of nodes, padded with NaN; the attribute has a NaN after each set."""
    nodes = [at for at, mode in enumerate(modes) if mode == "member"]
    if not nodes:
        return None
    values = n.tensor("membership_values").reshape(-1)
    ends = np.flatnonzero(np.isnan(values))
    if len(ends) != len(nodes):
        n.refuse("has another number of sets than of nodes that have one", str(len(nodes)), str(len(ends)))
    sets = np.split(values, ends + 1)[:-1]
    table = np.full((len(modes), max(map(len, sets))), np.nan, values.dtype)
    for node, members in zip(nodes, sets, strict=True):
        table[node, : len(members)] = members
    return table


# ---------------------------------------------------------------- linear models and support vectors
@onnx_operator("ai.onnx.ml.LinearRegressor", 1)
def linear_regressor(n: OnnxNode, x: Expr) -> Expr:
    """`nn.dense` and `add`."""
    x, targets = _floats(n, x), n.integer("targets", 1)
    result = _linear(n, x, targets)
    return n.cast(_transformed(n, result, n.choice("post_transform", "NONE", _TRANSFORMS)), "float32")


def _linear(n: OnnxNode, x: Expr, rows: int) -> Expr:
    """Return the products of samples with the rows of the coefficients, and the intercepts added.

    A list with more coefficients than the samples have features counts as far as it is needed, as in onnxruntime.
    """
    features = n.shape(x)[-1]
    weights = np.asarray(n.numbers("coefficients"), n.dtype(x))
    weights = weights[: rows * features] if isinstance(features, int) else weights
    if rows < 1 or weights.size % rows:
        n.refuse("has coefficients that do not fit its targets", found=f"{weights.size} for {rows} targets")
    result = n("nn.dense", x, n.array(weights.reshape(rows, -1)))
    shift = np.asarray(n.numbers("intercepts", []), n.dtype(x))
    return n("add", result, n.array(shift)) if shift.size else result


@onnx_operator("ai.onnx.ml.LinearClassifier", 1)
def linear_classifier(n: OnnxNode, x: Expr) -> list[Expr]:
    """`nn.dense` and `add`; the label has the highest score."""
    x, labels = _floats(n, x), _labels(n, "classlabels_ints")
    transform = n.choice("post_transform", "NONE", _TRANSFORMS)
    rows = len(n.numbers("intercepts", [])) or len(n.numbers("coefficients")) // max(n.static_shape(x, [1])[0], 1)
    scores = n.cast(_linear(n, x, rows), "float32")
    if n.shape(scores)[1] == 1 and len(labels) == 2:
        scores = n.concat([n("negative", scores), scores], axis=1)
    elif n.shape(scores)[1] != len(labels):
        n.refuse("has another number of classes than scores", str(len(labels)), str(n.shape(scores)[1]))
    return [_chosen(n, scores, labels), _transformed(n, scores, transform)]


def _kernel_products(n: OnnxNode, x: Expr, vectors: Array) -> Expr:
    """Return the kernel of each sample with each support vector."""
    kind = n.choice("kernel_type", "LINEAR", ("LINEAR", "POLY", "RBF", "SIGMOID"))
    gamma, shift, degree = (*n.numbers("kernel_params", []), 0.0, 0.0, 0.0)[:3]
    other = n.array(vectors.astype(n.dtype(x)))
    if kind == "RBF":
        difference = n("subtract", n("expand_dims", x, axis=1), n("expand_dims", other, axis=0))
        squares = n("sum", n("multiply", difference, difference), axis=[2])
        return n("exp", n("multiply", squares, -gamma))
    product = n("nn.dense", x, other)
    if kind == "LINEAR":
        return product
    product = n("add", n("multiply", product, gamma), shift)
    return n("tanh", product) if kind == "SIGMOID" else n("power", product, float(int(degree)))


@onnx_operator("ai.onnx.ml.SVMRegressor", 1)
def svm_regressor(n: OnnxNode, x: Expr) -> Expr:
    """The kernels of samples with the support vectors, weighted and added; with `one_class`, their sign."""
    x = _floats(n, x)
    weights, count = np.asarray(n.numbers("coefficients"), n.dtype(x)), n.integer("n_supports", 0)
    if count:
        vectors = np.asarray(n.numbers("support_vectors"), n.dtype(x)).reshape(count, -1)
        result = n("nn.dense", _kernel_products(n, x, vectors), n.array(weights.reshape(1, -1)))
    else:
        result = n("nn.dense", x, n.array(weights.reshape(1, -1)))
    result = n("add", result, float(n.numbers("rho")[0]))
    if n.flag("one_class"):
        result = n("where", n("greater", result, 0.0), n.constant(1, result), n.constant(-1, result))
    return n.cast(_transformed(n, result, n.choice("post_transform", "NONE", _TRANSFORMS)), "float32")


@onnx_operator("ai.onnx.ml.SVMClassifier", 1)
def svm_classifier(n: OnnxNode, x: Expr) -> list[Expr]:
    """A vote of each pair of classes, by the kernels of samples with their support vectors."""
    x, labels = _floats(n, x), _labels(n, "classlabels_ints")
    transform = n.choice("post_transform", "NONE", _TRANSFORMS)
    sizes = n.integers("vectors_per_class", [])
    if not sizes:
        n.refuse("has no support vectors", hint="a LinearClassifier says the same")
    starts, total, classes = np.cumsum([0, *sizes]), sum(sizes), len(labels)
    weights = np.asarray(n.numbers("coefficients"), n.dtype(x)).reshape(-1, total)
    vectors = np.asarray(n.numbers("support_vectors"), n.dtype(x)).reshape(total, -1)
    pairs = [(i, j) for i in range(classes) for j in range(i + 1, classes)]
    rows, votes = np.zeros((len(pairs), total), weights.dtype), np.zeros((2, len(pairs), classes), "float32")
    for at, (i, j) in enumerate(pairs):
        rows[at, starts[i] : starts[i + 1]] = weights[j - 1, starts[i] : starts[i + 1]]
        rows[at, starts[j] : starts[j + 1]] = weights[i, starts[j] : starts[j + 1]]
        votes[0, at, i] = votes[1, at, j] = 1
    rho = np.asarray(n.numbers("rho"), n.dtype(x))
    scores = n("add", n("nn.dense", _kernel_products(n, x, vectors), n.array(rows)), n.array(rho))
    wins = n.cast(n("greater", scores, 0.0), "float32")
    ballot = n("nn.dense", wins, n.array(np.ascontiguousarray((votes[0] - votes[1]).T)))
    label = _chosen(n, n("add", ballot, n.array(votes[1].sum(axis=0))), labels)
    if n.numbers("prob_a", []):
        if classes != 2:
            hint = "onnxruntime solves for them step by step; without `prob_a`, the node gives scores, which are read"
            n.refuse("has probabilities of more than two classes", hint=hint)
        a, b = n.numbers("prob_a")[0], n.numbers("prob_b")[0]
        first = n("sigmoid", n("negative", n("add", n("multiply", scores, a), b)))
        first = n("clip", first, a_min=1e-7, a_max=1 - 1e-7)
        return [label, n.cast(n.concat([first, n("subtract", n.constant(1, first), first)], axis=1), "float32")]
    scores = n.cast(scores, "float32")
    if classes == 2:
        if min(n.numbers("coefficients")) >= 0:
            label = n("add", n("multiply", label, 0), int(labels[1]))
        return [label, _two_scores(n, scores, transform, False)]
    return [label, _transformed(n, scores, transform)]


# ---------------------------------------------------------------- features
@onnx_operator("ai.onnx.ml.Scaler", 1)
def scaler(n: OnnxNode, x: Expr) -> Expr:
    """The difference from the offset, times the scale."""
    x = _floats(n, x)
    offset, scale = (
        np.asarray(n.numbers(name, [value]), n.dtype(x)) for name, value in (("offset", 0.0), ("scale", 1.0))
    )
    return n.cast(n("multiply", n("subtract", x, n.array(offset)), n.array(scale)), "float32")


@onnx_operator("ai.onnx.ml.Normalizer", 1)
def normalizer(n: OnnxNode, x: Expr) -> Expr:
    """Division by the largest absolute value, by their sum, or by the root of the sum of squares."""
    x, norm = _floats(n, x), n.choice("norm", "MAX", ("MAX", "L1", "L2"))
    parts = n("multiply", x, x) if norm == "L2" else n("abs", x)
    size = n("max" if norm == "MAX" else "sum", parts, axis=[-1], keepdims=True)
    size = n("sqrt", size) if norm == "L2" else size
    return n.cast(n("divide", x, n("maximum", size, 1e-30)), "float32")


@onnx_operator("ai.onnx.ml.Binarizer", 1)
def binarizer(n: OnnxNode, x: Expr) -> Expr:
    """1 where a number is above the threshold, else 0."""
    return n.cast(n("greater", x, n.number("threshold", 0.0)), n.dtype(x))


@onnx_operator("ai.onnx.ml.Imputer", 1)
def imputer(n: OnnxNode, x: Expr) -> Expr:
    """Another value in place of a certain one, or of NaN."""
    values: Sequence[float] = n.numbers("imputed_value_floats", [])
    replaced = n.number("replaced_value_float", 0.0)
    if not values:
        values, replaced = n.integers("imputed_value_int64s"), n.integer("replaced_value_int64", 0)
    new = n.array(np.asarray(values).astype(n.dtype(x)))
    is_missing = n("isnan", x) if replaced != replaced else n("equal", x, replaced)
    return n("where", is_missing, new, x)


@onnx_operator("ai.onnx.ml.FeatureVectorizer", 1)
def feature_vectorizer(n: OnnxNode, *parts: Expr) -> Expr:
    """`concatenate` of matrices, each cut or filled with zeros to its length."""
    lengths = n.integers("inputdimensions", []) or [n.static_shape(x, [-1])[0] for x in parts]
    matrices = []
    for x, length in zip(parts, lengths, strict=True):
        x = n("expand_dims", x, axis=1) if n.rank(x) == 1 else x
        own = n.static_shape(x, [1])[0]
        if own > length:
            x = n("strided_slice", x, begin=[0], end=[length], axes=[1])
        elif own < length:
            x = n("nn.pad", x, pad_width=[[0, 0], [0, length - own]])
        matrices.append(n.cast(x, "float32"))
    return n.concat(matrices, axis=1)


@onnx_operator("ai.onnx.ml.ArrayFeatureExtractor", 1)
def array_feature_extractor(n: OnnxNode, x: Expr, indices: Expr) -> Expr:
    """`take` along the last axis."""
    x = n("expand_dims", x, axis=0) if n.rank(x) == 1 else x
    return n("take", x, n("reshape", indices, newshape=[-1]), axis=n.rank(x) - 1)


def _positions(n: OnnxNode, x: Expr, keys: Array) -> tuple[Expr, Expr]:
    """Return where each element is in a list of keys, and whether it is there."""
    equal = n("equal", n("expand_dims", x, axis=n.rank(x)), n.array(keys))
    if keys.dtype.kind == "f" and np.isnan(keys).any():
        both = n("logical_and", n("isnan", n("expand_dims", x, axis=n.rank(x))), n.array(np.isnan(keys)))
        equal = n("logical_or", equal, both)
    numbers = n.cast(equal, "int32")
    return n("argmax", numbers, axis=[-1]), n("any", equal, axis=[-1])


@onnx_operator("ai.onnx.ml.LabelEncoder", 1, 2, 4)
def label_encoder(n: OnnxNode, x: Expr) -> Expr:
    """A table from numbers to numbers."""
    if n.version == 1 or n.has("keys_strings") or n.has("values_strings"):
        n.refuse("translates texts", hint="Relay has no tensors of text")
    keys, values = (_table(n, name) for name in ("keys", "values"))
    other: Any = n.number("default_float", -0.0) if values.dtype.kind == "f" else n.integer("default_int64", -1)
    if n.has("default_tensor"):
        other = np.asarray(n.tensor("default_tensor")).reshape(-1)[0]
    if keys.dtype.kind not in "iufb" or keys.shape != values.shape or not keys.size:
        n.refuse("has keys and values that do not fit", found=f"{keys.size} keys and {values.size} values")
    place, is_known = _positions(n, x, keys.astype(n.dtype(x)))
    return n("where", is_known, n("take", n.array(values), place, axis=0), n.constant(other, values.dtype.name))


def _table(n: OnnxNode, name: str) -> Array:
    if n.has(f"{name}_tensor"):
        return np.asarray(n.tensor(f"{name}_tensor")).reshape(-1)
    if n.has(f"{name}_floats"):
        return np.asarray(n.numbers(f"{name}_floats"), "float32")
    return np.asarray(n.integers(f"{name}_int64s"), "int64")


@onnx_operator("ai.onnx.ml.OneHotEncoder", 1)
def one_hot_encoder(n: OnnxNode, x: Expr) -> Expr:
    """1 at the place of the category along a new last axis; zeros for an unknown one."""
    if not n.has("cats_int64s"):
        n.refuse("encodes texts", hint="Relay has no tensors of text")
    keys = np.asarray(n.integers("cats_int64s"), "int64")
    return n.cast(n("equal", n("expand_dims", n.cast(x, "int64"), axis=n.rank(x)), n.array(keys)), "float32")


@onnx_operator("ai.onnx.ml.ZipMap", 1)
def zip_map(n: OnnxNode, x: Expr) -> Expr:
    """The scores as they are, (samples, classes), where ONNX has a dictionary for each sample."""
    return x
