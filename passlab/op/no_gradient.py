"""The operators without a gradient, and why: every other one has one.

`passlab.transform.gradient` and FirstOrderGradient give the reason when they meet one.
"""

from __future__ import annotations

_MACHINE = "it is an instruction of a compiled program; differentiate the program before it is compiled"
_INTEGERS = "its value is made of quantized integers, which move in steps; differentiate the program in floats"
_CHOSEN = "it chooses and orders boxes by their scores, and its value jumps where the choice changes"
_LATER = "its size is known only when it runs, and with it how elements mix; run DynamicToStatic first"

NO_GRADIENT: dict[str, str] = {
    "call_lowered": _MACHINE,
    "vm.invoke_tvm_op": _MACHINE,
    "memory.alloc_storage": _MACHINE,
    "memory.alloc_tensor": _MACHINE,
    "memory.kill": _MACHINE,
    "parser.MetaRef": "it stands for another expression until the metadata is read",
    "reinterpret": "it reads the bits of numbers as other numbers, which is no function with a slope",
    "unique": "elements that are equal become one, so that its size jumps when they part",
    **dict.fromkeys(("dyn.image.resize2d", "dyn.nn.upsampling", "dyn.nn.upsampling3d"), _LATER),
    "vision.roi_pool": (
        "which pixels a bin compares depends on the values of its region, and no operator tells; use vision.roi_align"
    ),
    **dict.fromkeys(
        (
            "vision.all_class_non_max_suppression", "vision.get_valid_counts", "vision.multibox_transform_loc",
            "vision.non_max_suppression", "vision.proposal", "vision.regular_non_max_suppression",
        ),
        _CHOSEN,
    ),
    **dict.fromkeys(
        (
            "qnn.abs", "qnn.add", "qnn.avg_pool2d", "qnn.batch_matmul", "qnn.concatenate", "qnn.conv2d",
            "qnn.conv2d_transpose", "qnn.dense", "qnn.erf", "qnn.exp", "qnn.hardswish", "qnn.leaky_relu", "qnn.log",
            "qnn.mul", "qnn.quantize", "qnn.requantize", "qnn.rsqrt", "qnn.sigmoid", "qnn.simulated_quantize",
            "qnn.softmax", "qnn.sqrt", "qnn.subtract", "qnn.tanh", "relay.op.annotation.simulated_quantize",
        ),
        _INTEGERS,
    ),
}  # fmt: skip
