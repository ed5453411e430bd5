"""The networks of relay.testing: their programs, their parameters, and that they run."""

from __future__ import annotations

import numpy as np
import pytest

from passlab import ir, testing
from passlab.errors import PasslabError
from passlab.evaluate import Evaluator
from passlab.infer import infer_module
from passlab.ir.module import IRModule
from passlab.testing.init import Constant, QuantizeInitializer, Xavier
from passlab.text.parser import parse

# small sizes, so that each runs in a moment: (module, arguments, type of the result, number of parameters)
NETWORKS = [
    ("mlp", {"batch_size": 2}, "Tensor[(2, 10), float32]", 6),
    ("resnet", {"num_layers": 8, "image_shape": (3, 16, 16), "num_classes": 10}, "Tensor[(1, 10), float32]", 44),
    ("resnet", {"num_layers": 164, "image_shape": (3, 8, 8), "num_classes": 4}, "Tensor[(1, 4), float32]", 824),
    ("resnet", {"image_shape": (40, 40, 3), "layout": "NHWC"}, "Tensor[(1, 1000), float32]", 99),
    ("resnet_3d", {"image_shape": (3, 4, 36, 36), "num_classes": 5}, "Tensor[(1, 5), float32]", 99),
    ("mobilenet", {"image_shape": (3, 32, 32)}, "Tensor[(1, 1000), float32]", 137),
    ("mobilenet", {"image_shape": (32, 32, 3), "layout": "NHWC"}, "Tensor[(1, 1000), float32]", 137),
    ("squeezenet", {"image_shape": (3, 64, 64)}, "Tensor[(1, 1000), float32]", 52),
    ("squeezenet", {"image_shape": (3, 64, 64), "version": "1.1"}, "Tensor[(1, 1000), float32]", 52),
    ("dqn", {"batch_size": 1}, "Tensor[(1, 18), float32]", 10),
    ("dqn", {"batch_size": 1, "image_shape": (84, 84, 4), "layout": "NHWC"}, "Tensor[(1, 18), float32]", 10),
    ("dcgan", {"batch_size": 1, "ngf": 8}, "Tensor[(1, 3, 64, 64), float32]", 17),
    (
        "dcgan",
        {"batch_size": 1, "ngf": 8, "oshape": (64, 64, 3), "layout": "NHWC"},
        "Tensor[(1, 64, 64, 3), float32]",
        17,
    ),
    ("lstm", {"iterations": 3, "num_hidden": 8}, "Tensor[(1, 8), float32]", 12),
    ("synthetic", {}, "Tensor[(1, 3, 24, 12), float32]", 9),
]


@pytest.mark.parametrize(("name", "options", "result", "count"), NETWORKS)
def test_a_network_is_typed_and_runs(name, options, result, count):
    mod, params = getattr(testing, name).get_workload(**options)
    assert str(mod["main"].checked_type.ret_type) == result
    assert len(params) == count
    rng = np.random.default_rng(0)
    args = [
        params[p.name_hint] if p.name_hint in params else rng.random(p.checked_type.concrete_shape).astype(np.float32)
        for p in mod["main"].params
    ]
    value = Evaluator(mod).run("main", args)
    assert np.isfinite(value).all()
    if name not in ("dcgan", "lstm", "dqn", "synthetic"):
        np.testing.assert_allclose(value.sum(axis=1), 1, rtol=1e-4)


@pytest.mark.parametrize(
    ("net", "result"),
    [
        (lambda: testing.vgg.get_net(1, (3, 224, 224), 1000, "float32", 16, True), "Tensor[(1, 1000), float32]"),
        (lambda: testing.densenet.get_net(201), "Tensor[(4, 1000), float32]"),
        (lambda: testing.inception_v3.get_net(1, 1000, (3, 299, 299), "float32"), "Tensor[(1, 1000), float32]"),
        (lambda: testing.resnet.get_net(1, 1000, 269), "Tensor[(1, 1000), float32]"),
        (
            lambda: testing.mobilenet.mobile_net(10, (1, 3, 64, 64), alpha=0.5, is_shallow=True),
            "Tensor[(1, 10), float32]",
        ),
    ],
)
def test_a_large_network_is_typed(net, result):
    mod = infer_module(IRModule.from_expr(net()))
    assert str(mod["main"].checked_type.ret_type) == result


def test_the_multilayer_perceptron_is_this_program():
    mod, _ = testing.mlp.get_workload(1)
    want = parse(
        """
        def @main(%data: Tensor[(1, 1, 28, 28), float32],
                  %fc1_weight: Tensor[(128, 784), float32], %fc1_bias: Tensor[(128), float32],
                  %fc2_weight: Tensor[(64, 128), float32], %fc2_bias: Tensor[(64), float32],
                  %fc3_weight: Tensor[(10, 64), float32], %fc3_bias: Tensor[(10), float32]) -> Tensor[(1, 10), float32] {
          %0 = nn.batch_flatten(%data);
          %1 = nn.dense(%0, %fc1_weight, units=128);
          %2 = nn.bias_add(%1, %fc1_bias, axis=-1);
          %3 = nn.relu(%2);
          %4 = nn.dense(%3, %fc2_weight, units=64);
          %5 = nn.bias_add(%4, %fc2_bias, axis=-1);
          %6 = nn.relu(%5);
          %7 = nn.dense(%6, %fc3_weight, units=10);
          %8 = nn.bias_add(%7, %fc3_bias, axis=-1);
          nn.softmax(%8)
        }
        """
    )
    ir.assert_structural_equal(mod, infer_module(want))


def test_a_residual_unit_is_this_program():
    build = testing.resnet.ResNetBuilder(2, "NCHW")
    data = testing.layers.var("data", (1, 4, 8, 8))
    net = testing.layers.close_over(build.unit(data, 8, 2, False, "u", False))
    want = parse(
        """
        def @main(%data: Tensor[(1, 4, 8, 8), float32], %g1, %b1, %m1, %v1, %w1, %g2, %b2, %m2, %v2, %w2, %sc) {
          %0 = nn.batch_norm(%data, %g1, %b1, %m1, %v1, epsilon=2e-05f);
          %1 = nn.relu(%0.0);
          %2 = nn.conv2d(%1, %w1, strides=[2, 2], padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3]);
          %3 = nn.batch_norm(%2, %g2, %b2, %m2, %v2, epsilon=2e-05f);
          %4 = nn.relu(%3.0);
          %5 = nn.conv2d(%4, %w2, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3]);
          %6 = nn.conv2d(%1, %sc, strides=[2, 2], padding=[0, 0, 0, 0], channels=8, kernel_size=[1, 1]);
          add(%5, %6)
        }
        """
    )
    ir.assert_structural_equal(infer_module(IRModule.from_expr(net)), infer_module(want))


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: testing.resnet.get_net(1, 10, 20, (3, 224, 224)), "no ResNet of 20 layers"),
        (lambda: testing.resnet.get_net(1, 10, 18, (3, 28, 28)), "no ResNet of 18 layers"),
        (lambda: testing.vgg.get_net(1, (3, 32, 32), 10, "float32", 12), "no VGG of 12 layers"),
        (lambda: testing.densenet.get_net(100), "no DenseNet of size 100"),
        (lambda: testing.squeezenet.get_net(1, (3, 64, 64), 10, "2.0", "float32"), "no SqueezeNet 2.0"),
        (lambda: testing.dcgan.get_net(1, oshape=(3, 32, 32)), "images of 64 by 64"),
        (lambda: testing.mobilenet.get_net(layout="CHWN"), "not built in the layout CHWN"),
    ],
)
def test_what_cannot_be_built_is_said(build, says):
    with pytest.raises(PasslabError, match=says):
        build()


# ---------------------------------------------------------------- parameters
def test_parameters_are_those_of_published_networks():
    """The values that the generator of NumPy 1 gives for seed 0: weights in the order of the parameters."""
    _, params = testing.mlp.get_workload(1)
    random = np.random.RandomState(0)
    for name in ("fc1", "fc2", "fc3"):
        weight = params[f"{name}_weight"]
        scale = np.sqrt(3 / (sum(weight.shape) / 2))
        np.testing.assert_array_equal(weight, random.uniform(-scale, scale, weight.shape).astype(np.float32))
        assert not params[f"{name}_bias"].any()
    again = testing.mlp.get_workload(1)[1]
    np.testing.assert_array_equal(again["fc3_weight"], params["fc3_weight"])


def test_names_say_how_a_parameter_starts():
    arrays = {
        name: np.full(3, 7, np.float32) for name in ("a_bias", "a_gamma", "a_beta", "a_moving_mean", "a_moving_var")
    }
    for name, array in arrays.items():
        Xavier()(name, array)
    assert [float(a[0]) for a in arrays.values()] == [0, 1, 0, 0, 1]
    with pytest.raises(PasslabError, match="no first value for the parameter `x`"):
        Xavier()("x", np.zeros(3))
    with pytest.raises(PasslabError, match="cannot fill the vector"):
        Xavier()("x_weight", np.zeros(3))
    with pytest.raises(PasslabError, match="does not know this kind"):
        Xavier(rnd_type="cauchy")


def test_other_initializers():
    weight = np.zeros((3, 4), np.float32)
    Constant(2.5)("w_weight", weight)
    assert (weight == 2.5).all()
    whole = np.zeros((50, 50), np.int8)
    QuantizeInitializer()("w_weight", whole)
    assert whole.min() < -100
    assert whole.max() > 100
    gauss = np.zeros((100, 100), np.float32)
    Xavier("gaussian", "in", 2)("w_weight", gauss)
    assert abs(gauss.std() - np.sqrt(2 / 100)) < 0.01
    _, params = testing.create_workload(testing.mlp.get_net(1), lambda name, array: array.fill(len(name)))
    assert (params["fc1_weight"] == 10).all()
