"""The exercises and predictions of the lesson `19c-a-model-from-outside`."""

from __future__ import annotations

from typing import Any

import numpy as np

from passlab.course.predictions import a_number, one_of, predicts
from passlab.course.registry import Names, exercise
from passlab.course.verdicts import Exercise
from passlab.ir.walk import post_order


@exercise(
    "19c",
    1,
    starter="4015b3cc39962d3a",
    solution="""
def interface(model):
    weights = {weight.name for weight in model.graph.initializer}
    inputs = [value.name for value in model.graph.input if value.name not in weights]
    return inputs, [value.name for value in model.graph.output]


answer_1 = interface
""",
)
def the_interface(lesson: Names) -> Exercise:
    """The interface."""
    helper = lesson.onnx.helper

    def model(rng: np.random.Generator) -> Any:
        names = [f"{word}.{rng.integers(10)}" for word in ("image", "state", "mask")]
        chosen = names[: rng.integers(1, 4)]
        weight = helper.make_tensor("w", 1, [1], [2.0])
        values = [helper.make_tensor_value_info(name, 1, [1]) for name in (*chosen, "w")]
        nodes = [helper.make_node("Mul", [name, "w"], [f"{name}/scaled"]) for name in chosen]
        results = [helper.make_tensor_value_info(f"{name}/scaled", 1, [1]) for name in chosen]
        order = rng.permutation(len(values))
        return helper.make_model(helper.make_graph(nodes, "g", [values[i] for i in order], results, [weight]))

    def reference(given: Any) -> tuple[list[str], list[str]]:
        weights = {weight.name for weight in given.graph.initializer}
        inputs = [value.name for value in given.graph.input if value.name not in weights]
        return inputs, [value.name for value in given.graph.output]

    return Exercise("The interface", expects=callable).agrees(
        "it names inputs and outputs, in order",
        reference,
        model,
        hint=[
            "weights are listed in `model.graph.initializer`, and in older files also among the inputs",
            "leave out the inputs that have the name of a weight",
        ],
    )


@exercise(
    "19c",
    2,
    starter="458a14fae2f9a378",
    solution="""
def largest(model, size):
    mod, _ = relay.frontend.from_onnx(model, shape={"batch": size})
    calls = [node for node in post_order(mod["main"]) if isinstance(node, relay.Call)]
    return max(int(np.prod(call.checked_type.concrete_shape)) for call in calls)


answer_2 = largest
""",
)
def the_largest_tensor(lesson: Names) -> Exercise:
    """The largest tensor."""
    parser, numpy_helper, relay = lesson.parser, lesson.numpy_helper, lesson.relay

    def network(channels: int, units: int, size: int) -> tuple[Any, int]:
        model = parser.parse_model(f"""
            <ir_version: 8, opset_import: ["" : 18]>
            net (float[batch, {channels}, 8, 8] image) => (float[batch, {units}] y) {{
                pooled = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (image)
                row = Flatten(pooled)
                y = Gemm <transB = 1> (row, weight)
            }}""")
        weight = numpy_helper.from_array(np.ones((units, channels * 16), "float32"), "weight")
        model.graph.initializer.append(weight)
        return model, size

    def reference(model: Any, size: int) -> int:
        mod, _ = relay.frontend.from_onnx(model, shape={"batch": size})
        calls = [node for node in post_order(mod["main"]) if isinstance(node, relay.Call)]
        return max(int(np.prod(call.checked_type.concrete_shape)) for call in calls)

    return Exercise("The largest tensor", expects=callable).agrees(
        "it counts the elements with that batch",
        reference,
        lambda rng: network(*(int(rng.integers(1, most)) for most in (9, 200, 9))),
        first=[network(8, 1, 3), network(1, 199, 2)],
        hint=[
            "`shape=` takes the name of a size, and every call has its type in `checked_type`",
            "`concrete_shape` of a type is a tuple of numbers: the product of them is the number of elements",
        ],
        times=6,
    )


@exercise(
    "19c",
    3,
    starter="fbfca1362ef730b8",
    solution="""
def agree(one, other, image):
    programs = [relay.frontend.from_onnx(model)[0] for model in (one, other)]
    results = [relay.create_executor("vm", mod).evaluate()(image) for mod in programs]
    return bool(np.allclose(*results, rtol=1e-4, atol=1e-4))


answer_3 = agree
""",
)
def two_of_a_kind(lesson: Names) -> Exercise:
    """Two of a kind."""
    reader, small, numpy_helper, relay = lesson.reader, lesson.small.model(), lesson.numpy_helper, lesson.relay

    def question(rng: np.random.Generator) -> tuple[Any, Any, Any]:
        other = type(reader)()
        other.CopyFrom(small if rng.random() < 0.5 else reader)
        if rng.random() < 0.5:
            weights = [w for w in other.graph.initializer if numpy_helper.to_array(w).dtype == np.float32]
            weight = weights[int(rng.integers(len(weights)))]
            weight.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weight) + np.float32(1), weight.name))
        return reader, other, rng.standard_normal((int(rng.integers(1, 4)), 1, 8, 8)).astype("float32")

    def scaled(factor: float) -> Any:
        """The reader with one weight multiplied by a number."""
        other = type(reader)()
        other.CopyFrom(reader)
        weight = next(w for w in other.graph.initializer if numpy_helper.to_array(w).dtype == np.float32)
        weight.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weight) * np.float32(factor), weight.name))
        return other

    image = np.random.default_rng(0).standard_normal((2, 1, 8, 8)).astype("float32")

    def reference(one: Any, other: Any, image: Any) -> bool:
        programs = [relay.frontend.from_onnx(model)[0] for model in (one, other)]
        results = [relay.create_executor("vm", mod).evaluate()(image) for mod in programs]
        return bool(np.allclose(*results, rtol=1e-4, atol=1e-4))

    return Exercise("Two of a kind", expects=callable).agrees(
        "it tells models that agree from those that do not",
        reference,
        question,
        first=[(reader, other, image) for other in (small, scaled(1 + 1e-6), scaled(1.1), scaled(-1))],
        hint=[
            "import both, run both on the image, and compare what they give up to rounding",
            'relay.create_executor("vm", mod).evaluate()(image), and np.allclose',
        ],
        times=6,
    )


predicts(
    "19c",
    a_number("How many calls of operators has the program in Relay?", 7),
    a_number("How many nodes has the model after `simplify`?", 5),
    one_of(
        "How many operators has the smallest program that shows the fault?",
        "one",
        "three",
        "as many as before",
        right="a",
    ),
)
