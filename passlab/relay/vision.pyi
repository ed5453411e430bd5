"""The names of `passlab.relay.vision`.

Written from the declarations by `pytest tests/package --bless`; a test holds it to them.
"""

from collections.abc import Iterable
from typing import Literal, SupportsFloat, SupportsIndex, overload

from passlab.ir.expr import Call
from passlab.ir.tuple_wrapper import TupleWrapper
from passlab.op.declare import Operand

def all_class_non_max_suppression(
    boxes: Operand,
    scores: Operand,
    max_output_boxes_per_class: Operand | SupportsFloat | Iterable[SupportsFloat] = -1,
    iou_threshold: Operand | SupportsFloat | Iterable[SupportsFloat] = -1.0,
    score_threshold: Operand | SupportsFloat | Iterable[SupportsFloat] = -1.0,
    output_format: Literal["onnx", "tensorflow"] = "onnx",
) -> TupleWrapper:
    """Suppress class by class: rows (batch, class, box) for "onnx"; otherwise (class, box) and scores of each sample.

    In TensorFlow's form the detections of a sample are sorted by score. Unused rows are 0.

    Attributes:
      output_format: the format of the result ('onnx' | 'tensorflow')
    Shapes: boxes (N, n, 4), scores (N, classes, n) -> rows (N * classes * n, 3), their count (1).
    Source: ONNX's NonMaxSuppression.
    In Relay text: vision.all_class_non_max_suppression(%boxes, %scores, 3, 0.5f, 0f)
    """

def get_valid_counts(
    data: Operand,
    score_threshold: Operand | SupportsFloat | Iterable[SupportsFloat],
    id_index: SupportsIndex = 0,
    score_index: SupportsIndex = 1,
) -> TupleWrapper:
    """Move detections that have a class and a score above a threshold to the front; fill the rest with -1.

    Attributes:
      score_threshold: not used: the threshold is an input (float or None)
      id_index: the index of the class in a detection, -1 for none (int)
      score_index: the index of the score in a detection (int)
    Shapes: data (N, n, fields), score_threshold () -> (N), (N, n, fields), (N, n).
    Source: MXNet's box_nms.
    In Relay text: vision.get_valid_counts(%x, 0.1f)
    """

def multibox_prior(
    data: Operand,
    sizes: Iterable[SupportsFloat] = (1.0,),
    ratios: Iterable[SupportsFloat] = (1.0,),
    steps: Iterable[SupportsFloat] = (-1.0, -1.0),
    offsets: Iterable[SupportsFloat] = (0.5, 0.5),
    clip: bool = False,
) -> Call:
    """Boxes (left, top, right, bottom) around each pixel: all sizes, then the first size with the other ratios.

    Attributes:
      sizes: sizes of boxes, in units of the image (list of float)
      ratios: ratios of width to height (list of float)
      steps: distance between the boxes (y, x), -1 for one pixel (list of float)
      offsets: centre of the first box (y, x), in steps (list of float)
      clip: whether boxes are clipped at the border (bool)
    Shapes: (N, C, H, W) -> (1, H W boxes, 4).
    Source: Liu et al., SSD (2016).
    In Relay text: vision.multibox_prior(%x, sizes=[0.5f, 0.2f], ratios=[1f, 2f])
    """

def multibox_transform_loc(
    cls_prob: Operand,
    loc_pred: Operand,
    anchor: Operand,
    clip: bool = True,
    threshold: SupportsFloat = 0.01,
    variances: Iterable[SupportsFloat] = (0.1, 0.1, 0.2, 0.2),
    keep_background: bool = False,
) -> TupleWrapper:
    """Convert class probabilities and predicted moves of anchors into detections: valid ones first, then -1.

    Attributes:
      clip: whether boxes are clipped at the border (bool)
      threshold: least probability of a detection (float)
      variances: factors of the four predicted numbers (list of float)
      keep_background: whether class 0 counts as a class (bool)
    Shapes: cls_prob (N, classes, n), loc_pred (N, 4 n), anchor (1, n, 4) -> (N, n, 6), (N).
    Source: Liu et al., SSD (2016).
    In Relay text: vision.multibox_transform_loc(%p, %loc, %anchor, threshold=0.1f)
    """

@overload
def non_max_suppression(
    data: Operand,
    valid_count: Operand,
    indices: Operand,
    max_output_size: Operand | SupportsFloat | Iterable[SupportsFloat] = -1,
    iou_threshold: Operand | SupportsFloat | Iterable[SupportsFloat] = 0.5,
    force_suppress: bool = False,
    top_k: SupportsIndex = -1,
    coord_start: SupportsIndex = 2,
    score_index: SupportsIndex = 1,
    id_index: SupportsIndex = 0,
    return_indices: Literal[True] = True,
    invalid_to_bottom: bool = False,
) -> TupleWrapper: ...
@overload
def non_max_suppression(
    data: Operand,
    valid_count: Operand,
    indices: Operand,
    max_output_size: Operand | SupportsFloat | Iterable[SupportsFloat] = -1,
    iou_threshold: Operand | SupportsFloat | Iterable[SupportsFloat] = 0.5,
    force_suppress: bool = False,
    top_k: SupportsIndex = -1,
    coord_start: SupportsIndex = 2,
    score_index: SupportsIndex = 1,
    id_index: SupportsIndex = 0,
    *,
    return_indices: Literal[False],
    invalid_to_bottom: bool = False,
) -> Call:
    """Keep, from the best score down, the detections that do not overlap a kept one.

    Attributes:
      force_suppress: whether detections of different classes suppress each other (bool)
      top_k: the number of best detections to consider, -1 for all (int)
      coord_start: the index of the first of the four coordinates in a detection (int)
      score_index: the index of the score in a detection (int)
      id_index: the index of the class in a detection, -1 for none (int)
      return_indices: whether to return indices of detections, or the detections (bool)
      invalid_to_bottom: whether to move the remaining detections to the front (bool)
    Shapes: data (N, n, fields), valid_count (N), indices (N, n) -> (N, n), (N, 1).
    Source: greedy suppression, best score first: MXNet's box_nms.
    In Relay text: vision.non_max_suppression(%x, %count, %indices, -1, 0.5f)
    """

def proposal(
    cls_prob: Operand,
    bbox_pred: Operand,
    im_info: Operand,
    scales: Iterable[SupportsFloat],
    ratios: Iterable[SupportsFloat],
    feature_stride: SupportsIndex,
    threshold: SupportsFloat,
    rpn_pre_nms_top_n: SupportsIndex,
    rpn_post_nms_top_n: SupportsIndex,
    rpn_min_size: SupportsIndex,
    iou_loss: bool,
) -> Call:
    """Rows (image, left, top, right, bottom) of the best regions, repeated if there are too few.

    Attributes:
      scales: scales of the anchors (list of float)
      ratios: ratios of height to width of the anchors (list of float)
      feature_stride: distance between the anchors in pixels (int)
      threshold: overlap above which the worse proposal is removed (float)
      rpn_pre_nms_top_n: the number of best proposals to consider, 0 or less for all (int)
      rpn_post_nms_top_n: the number of proposals to return for each image (int)
      rpn_min_size: least side of a proposal (int)
      iou_loss: whether the predictions are corners instead of centre and size (bool)
    Shapes: cls_prob (N, 2 anchors, H, W), bbox_pred (N, 4 anchors, H, W), im_info (N, 3) -> (N * rpn_post_nms_top_n, 5).
    Source: Ren et al., Faster R-CNN (2015).
    In Relay text: vision.proposal(%p, %m, %i, scales=[1f], ratios=[1f], rpn_pre_nms_top_n=4, rpn_post_nms_top_n=3, rpn_min_size=1)
    """

def regular_non_max_suppression(
    boxes: Operand,
    scores: Operand,
    max_detections_per_class: SupportsIndex,
    max_detections: SupportsIndex,
    num_classes: SupportsIndex,
    iou_threshold: SupportsFloat,
    score_threshold: SupportsFloat,
) -> TupleWrapper:
    """Suppress class by class and keep the best of all, as TensorFlow Lite's detection postprocessing does.

    Attributes:
      max_detections_per_class: the most detections to keep of a class (int)
      max_detections: the number of detections to return (int)
      num_classes: number of classes, without background (int)
      iou_threshold: the overlap above which the worse detection is removed (float)
      score_threshold: least score of a detection (float)
    Shapes: boxes (N, n, 4), scores (N, n, classes) -> (N, max_detections, 4), (N, max_detections), (N, max_detections), (N).
    Source: TensorFlow Lite's detection postprocessing.
    In Relay text: vision.regular_non_max_suppression(%boxes, %scores, max_detections_per_class=3, max_detections=2, num_classes=1, iou_threshold=0.5f, score_threshold=0.1f)
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
    """Pool regions over samples interpolated between pixels (He et al., "Mask R-CNN", 2017).

    Attributes:
      pooled_size: height and width of the result (list of int)
      spatial_scale: size of the data divided by the size of the image of the regions (float)
      sample_ratio: samples along each side of a bin, -1 for one per pixel (int)
      layout: layout of data and result ('NCHW' | 'NHWC')
      mode: the reduction of the samples of a bin; `max_weighted` takes the largest of the products of pixels and weights that a sample is the sum of, as ONNX does ('avg' | 'max' | 'max_weighted')
    Shapes: data (N, C, H, W), rois (n, 5) -> (n, C, pooled_size).
    Source: He et al., Mask R-CNN (2017).
    In Relay text: vision.roi_align(%x, %r, pooled_size=[2, 2], spatial_scale=0.5f)
    """

def roi_pool(
    data: Operand,
    rois: Operand,
    pooled_size: SupportsIndex | Iterable[SupportsIndex],
    spatial_scale: SupportsFloat,
    layout: Literal["NCHW", "NHWC"] = "NCHW",
) -> Call:
    """The maximum of the pixels of each bin of a region, 0 for a bin without pixels (Girshick, "Fast R-CNN", 2015).

    Attributes:
      pooled_size: height and width of the result (list of int)
      spatial_scale: size of the data divided by the size of the image of the regions (float)
      layout: layout of data and result ('NCHW' | 'NHWC')
    Shapes: data (N, C, H, W), rois (n, 5) -> (n, C, pooled_size).
    Source: Girshick, Fast R-CNN (2015).
    In Relay text: vision.roi_pool(%x, %rois, pooled_size=[2, 2], spatial_scale=0.5f)
    """

def yolo_reorg(data: Operand, stride: SupportsIndex) -> Call:
    """Move pixels into channels by Darknet's rule, which reads the data as if it had fewer channels and larger rows.

    Attributes:
      stride: the factor by which the image shrinks along each side (int)
    Shapes: (N, C, H, W) -> (N, C stride², H / stride, W / stride).
    Source: Darknet's reorg layer.
    In Relay text: vision.yolo_reorg(%x, stride=2)
    """
