"""Operators of classical machine learning: equal to ONNX's reference, or to onnxruntime where that has none."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from passlab.errors import ModelError
from passlab.frontend import from_onnx
from tests.frontend.onnx_text import run

FLOATS, LONGS = TensorProto.FLOAT, TensorProto.INT64
X = np.random.default_rng(7).standard_normal((6, 4)).astype("float32")


def model(op_type: str, outputs: list[int], element: int = FLOATS, version: int = 3, **attributes: Any) -> Any:
    """A model of one node on the input `x`, of a number of rows that is not known."""
    names = [f"y{at}" for at in range(len(outputs))]
    node = helper.make_node(op_type, ["x"], names, domain="ai.onnx.ml", name="node", **attributes)
    graph = helper.make_graph(
        [node], "g", [helper.make_tensor_value_info("x", element, ["rows", 4])],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in zip(names, outputs, strict=True)],
    )  # fmt: skip
    domains = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", version)]
    return helper.make_model(graph, opset_imports=domains, ir_version=8)


def trees(seed: int, kind: str, targets: int, count: int = 3, depth: int = 3, one: bool = False) -> dict[str, Any]:
    """Random trees as attributes; a part of the branches ends early, and nodes have all comparisons."""
    rng = np.random.default_rng(seed)
    nodes: dict[str, list[Any]] = {key: [] for key in ("treeids", "nodeids", "featureids", "values", "modes",
                                                       "truenodeids", "falsenodeids", "missing_value_tracks_true")}  # fmt: skip
    leaves: dict[str, list[Any]] = {key: [] for key in ("treeids", "nodeids", "ids", "weights")}
    for tree in range(count):
        todo, used = [(0, 0)], 1
        while todo:
            node, level = todo.pop()
            is_leaf = level == depth or (level and rng.random() < 0.3)
            nodes["treeids"].append(tree)
            nodes["nodeids"].append(node)
            nodes["featureids"].append(0 if is_leaf else int(rng.integers(4)))
            nodes["values"].append(0.0 if is_leaf else float(rng.standard_normal()))
            nodes["missing_value_tracks_true"].append(int(rng.integers(2)))
            kinds = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
            nodes["modes"].append("LEAF" if is_leaf else kinds[rng.integers(6)])
            nodes["truenodeids"].append(0 if is_leaf else used)
            nodes["falsenodeids"].append(0 if is_leaf else used + 1)
            if is_leaf:
                for target in [0] if one else rng.permutation(targets)[: int(rng.integers(1, targets + 1))]:
                    leaves["treeids"].append(tree)
                    leaves["nodeids"].append(node)
                    leaves["ids"].append(int(target))
                    leaves["weights"].append(float(rng.standard_normal()))
            else:
                todo += [(used, level + 1), (used + 1, level + 1)]
                used += 2
    return {
        **{f"nodes_{key}": value for key, value in nodes.items()},
        **{f"{kind}_{key}": value for key, value in leaves.items()},
    }


def by_reference(proto: Any, x: Any) -> list[Any]:
    return list(ReferenceEvaluator(proto).run(None, {"x": x}))


def by_onnxruntime(proto: Any, x: Any) -> list[Any]:
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    return list(session.run(None, {"x": x}))


def check(proto: Any, expected: list[Any], x: Any = X) -> None:
    mod, _ = from_onnx(proto)
    for kind in ("debug", "vm"):
        results = run(kind, mod, x)
        for result, value in zip(results, expected, strict=True):
            assert result.shape == value.shape
            assert result.dtype == value.dtype
            np.testing.assert_allclose(result, value, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("how", ["SUM", "AVERAGE", "MIN", "MAX"])
def test_regressors_of_trees(seed: int, how: str) -> None:
    attributes = trees(seed, "target", 2)
    proto = model("TreeEnsembleRegressor", [FLOATS], aggregate_function=how, n_targets=2, **attributes)
    x = X.copy()
    x[0, :] = np.nan
    x[1, :2] = attributes["nodes_values"][0]
    if how in ("SUM", "AVERAGE"):  # the others differ for a target without a leaf
        check(proto, by_onnxruntime(proto, x), x)
    check(proto, by_reference(proto, x[1:]), x[1:])


@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"])
@pytest.mark.parametrize("base", [None, [0.5, -0.25, 0.125]])
def test_classifiers_of_trees(transform: str, base: list[float] | None) -> None:
    extra = {} if base is None else {"base_values": base}
    proto = model("TreeEnsembleClassifier", [LONGS, FLOATS], post_transform=transform,
                  classlabels_int64s=[7, 3, 5], **trees(1, "class", 3), **extra)  # fmt: skip
    check(proto, by_onnxruntime(proto, X))


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC"])
@pytest.mark.parametrize("sign", [1, -1])
def test_classifiers_of_two_classes_with_one_score(transform: str, sign: int) -> None:
    attributes = trees(2, "class", 1, one=True)
    if sign == 1:
        attributes["class_weights"] = [abs(weight) / 3 for weight in attributes["class_weights"]]
    proto = model("TreeEnsembleClassifier", [LONGS, FLOATS], post_transform=transform,
                  classlabels_int64s=[0, 1], **attributes)  # fmt: skip
    check(proto, by_onnxruntime(proto, X))


@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC"])
@pytest.mark.parametrize("rows", [2, 3])
def test_linear_models(transform: str, rows: int) -> None:
    rng = np.random.default_rng(3)
    weights, shift = rng.standard_normal(rows * 4).tolist(), rng.standard_normal(rows).tolist()
    proto = model("LinearClassifier", [LONGS, FLOATS], coefficients=weights, intercepts=shift,
                  classlabels_ints=[4, 2, 9][:rows], post_transform=transform)  # fmt: skip
    check(proto, by_reference(proto, X))
    proto = model("LinearRegressor", [FLOATS], coefficients=weights, intercepts=shift, targets=rows)
    check(proto, by_reference(proto, X))


def test_more_coefficients_than_features_count_as_far_as_they_are_needed() -> None:
    weights = np.random.default_rng(3).standard_normal(15).tolist()
    proto = model("LinearClassifier", [LONGS, FLOATS], coefficients=weights, intercepts=[0.1, 0.2, 0.3],
                  classlabels_ints=[0, 1, 2], post_transform="LOGISTIC")  # fmt: skip
    check(proto, by_onnxruntime(proto, X))


@pytest.mark.parametrize("kernel", ["LINEAR", "POLY", "RBF", "SIGMOID"])
def test_support_vectors(kernel: str) -> None:
    rng = np.random.default_rng(5)
    common = {"kernel_type": kernel, "kernel_params": [0.3, 0.2, 3.0]}
    vectors = rng.standard_normal(6 * 4).tolist()
    proto = model("SVMRegressor", [FLOATS], coefficients=rng.standard_normal(6).tolist(), n_supports=6,
                  support_vectors=vectors, rho=[0.1], **common)  # fmt: skip
    check(proto, by_reference(proto, X))
    for classes in (2, 3):
        sizes = [6 // classes] * classes
        proto = model("SVMClassifier", [LONGS, FLOATS], coefficients=rng.standard_normal((classes - 1) * 6).tolist(),
                      support_vectors=vectors, vectors_per_class=sizes, classlabels_ints=[3, 1, 2][:classes],
                      rho=rng.standard_normal(classes * (classes - 1) // 2).tolist(), **common)  # fmt: skip
        check(proto, by_reference(proto, X))


PLAIN: list[tuple[str, dict[str, Any], Any]] = [
    ("Scaler", {"offset": [1.0, 2.0, 3.0, 4.0], "scale": [0.5, 1.0, 2.0, 4.0]}, X),
    ("Scaler", {"offset": [1.0], "scale": [0.5]}, X),
    ("Normalizer", {"norm": "MAX"}, X), ("Normalizer", {"norm": "L1"}, X), ("Normalizer", {"norm": "L2"}, X),
    ("Binarizer", {"threshold": 0.25}, X),
    ("Imputer", {"imputed_value_floats": [1.0, 2.0, 3.0, 4.0], "replaced_value_float": float("nan")},
     np.where(X > 1, np.float32("nan"), X)),
    ("Imputer", {"imputed_value_floats": [9.0], "replaced_value_float": 0.0}, np.where(X > 0, np.float32(0), X)),
    ("FeatureVectorizer", {"inputdimensions": [6]}, X), ("FeatureVectorizer", {"inputdimensions": [3]}, X),
]  # fmt: skip


@pytest.mark.parametrize("at", range(len(PLAIN)))
def test_features(at: int) -> None:
    op_type, attributes, x = PLAIN[at]
    proto = model(op_type, [FLOATS], **attributes)
    check(proto, by_reference(proto, x), x)


def test_encoders_of_whole_numbers() -> None:
    x = np.arange(24, dtype="int64").reshape(6, 4) % 5
    proto = model("OneHotEncoder", [FLOATS], LONGS, cats_int64s=[3, 0, 1], zeros=1)
    check(proto, by_reference(proto, x), x)
    proto = model("LabelEncoder", [LONGS], LONGS, keys_int64s=[3, 0, 1], values_int64s=[10, 20, 30], default_int64=-7)
    check(proto, by_reference(proto, x), x)
    proto = model("LabelEncoder", [FLOATS], LONGS, keys_int64s=[3, 0], values_floats=[0.5, 2.0], default_float=9.0)
    check(proto, by_reference(proto, x), x)


def test_labels_that_are_texts_become_their_numbers() -> None:
    proto = model("LinearClassifier", [LONGS, FLOATS], coefficients=[1.0] * 4 + [-1.0] * 4, intercepts=[0.0, 0.0],
                  classlabels_strings=["cat", "dog"])  # fmt: skip
    labels, _ = run("vm", from_onnx(proto)[0], X)
    np.testing.assert_array_equal(labels, (X.sum(axis=1) < 0).astype("int64"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"nodes_modes": ["BRANCH_SOMETIMES"]}, "unknown comparison"),
        ({"nodes_truenodeids": [99]}, "a node that its tree does not have"),
        ({"nodes_truenodeids": [0]}, "lead back to it"),
        ({"target_ids": [5]}, "a target that it does not have"),
        ({"target_nodeids": [77]}, "weights of nodes"),
    ],
)
def test_damaged_trees_are_refused(change: dict[str, list[Any]], words: str) -> None:
    attributes = trees(0, "target", 2)
    for key, first in change.items():
        attributes[key] = first + attributes[key][1:]
    with pytest.raises(ModelError, match=words):
        from_onnx(model("TreeEnsembleRegressor", [FLOATS], n_targets=2, **attributes))


def test_texts_are_refused() -> None:
    with pytest.raises(ModelError, match="translates texts"):
        from_onnx(model("LabelEncoder", [LONGS], LONGS, keys_strings=["a"], values_int64s=[1]))


assert onnx.__version__
