"""The names of `passlab.relay.op.contrib`.

Written from the declarations by `pytest tests/package --bless`; a test holds it to them.
"""

from collections.abc import Iterable
from typing import Literal, SupportsFloat, SupportsIndex

from passlab.ir.expr import Call
from passlab.ir.tuple_wrapper import TupleWrapper
from passlab.op.declare import Operand
from passlab.relay.pattern_tables import TABLES as TABLES
from passlab.relay.pattern_tables import get_pattern_table as get_pattern_table
from passlab.relay.pattern_tables import register_pattern_table as register_pattern_table

def recurrent(
    data: Operand,
    weight: Operand,
    recurrent_weight: Operand,
    optional: Operand = (),
    mode: Literal["lstm", "gru", "rnn_tanh", "rnn_relu"] = "lstm",
    direction: Literal["forward", "reverse", "bidirectional"] = "forward",
    linear_before_reset: bool = False,
    has_bias: bool = False,
    has_state: bool = False,
    has_lengths: bool = False,
) -> TupleWrapper:
    """A recurrent layer over a sequence: the outputs of all steps, and the last state (an LSTM's cell state too).

    The gates are ordered as in ONNX: input, output, forget, cell of an LSTM; update, reset, new state of a GRU. The
    gates have the logistic function, new states tanh (`rnn_relu`: relu). `optional` has the tensors that the attributes
    name: biases of both products, first states (zeros without them), the length of each sequence. After its length, the
    outputs of a sequence are zeros and its states stay. An output of the reverse direction stands at the step that made
    it.

    Attributes:
      mode: the kind of cell ('lstm' | 'gru' | 'rnn_tanh' | 'rnn_relu')
      direction: the order of the steps; both orders have weights of their own ('forward' | 'reverse' | 'bidirectional')
      linear_before_reset: whether a GRU resets the product with the state, not the state (bool)
      has_bias: whether `optional` begins with the biases (bool)
      has_state: whether `optional` goes on with the first state, for an LSTM also the first cell state (bool)
      has_lengths: whether `optional` ends with the length of each sequence (bool)
    Shapes: data (T, N, I), weights (D, G H, I) and (D, G H, H), optional bias (D, 2 G H), states (D, N, H), lengths (N) -> (T, D, N, H), (D, N, H) for each state; D directions, G gates of H elements.
    Source: ONNX's LSTM, GRU and RNN; Hochreiter and Schmidhuber (1997), Cho et al. (2014).
    In Relay text: contrib.recurrent(%x, %w, %r, ())
    """

def roi_align(
    data: Operand,
    rois: Operand,
    pooled_size: SupportsIndex | Iterable[SupportsIndex],
    spatial_scale: SupportsFloat,
    sample_ratio: SupportsIndex = -1,
    layout: Literal["NCHW", "NHWC"] = "NCHW",
    mode: Literal["avg", "max", "max_weighted"] = "avg",
) -> Call:
    """Pool regions as `vision.roi_align` does, at their exact places and sizes: torchvision's `aligned=True`.

    The centre of the first pixel is at 0.5, and regions may be smaller than a pixel, which `vision.roi_align` enlarges
    to one. A region without area has no samples and gives zeros, unless `sample_ratio` says how many it has.

    Attributes:
      pooled_size: height and width of the result (list of int)
      spatial_scale: size of the data divided by the size of the image of the regions (float)
      sample_ratio: samples along each side of a bin, -1 for one per pixel (int)
      layout: layout of data and result ('NCHW' | 'NHWC')
      mode: the reduction of the samples of a bin; `max_weighted` takes the largest of the products of pixels and weights that a sample is the sum of, as ONNX does ('avg' | 'max' | 'max_weighted')
    Shapes: data (N, C, H, W), rois (n, 5) -> (n, C, pooled_size).
    Source: He et al., Mask R-CNN (2017).
    In Relay text: contrib.roi_align(%x, %r, pooled_size=[2, 2], spatial_scale=0.5f)
    """
