"""`tvm.topi.testing`: reference implementations of operators on NumPy arrays, for tests to compare with.

Convolutions and pooling are implemented here. Everything else uses the definitions of passlab's operators
(`passlab.definitions`), which are independent of the kernels.
"""

from __future__ import annotations

from passlab.compat.topi.testing.arrays import batch_matmul as batch_matmul
from passlab.compat.topi.testing.arrays import dense as dense
from passlab.compat.topi.testing.arrays import dilate_python as dilate_python
from passlab.compat.topi.testing.arrays import gather_nd_python as gather_nd_python
from passlab.compat.topi.testing.arrays import gather_python as gather_python
from passlab.compat.topi.testing.arrays import matrix_set_diag as matrix_set_diag
from passlab.compat.topi.testing.arrays import one_hot as one_hot
from passlab.compat.topi.testing.arrays import searchsorted_ref as searchsorted_ref
from passlab.compat.topi.testing.arrays import sequence_mask as sequence_mask
from passlab.compat.topi.testing.arrays import slice_axis_python as slice_axis_python
from passlab.compat.topi.testing.arrays import strided_set_python as strided_set_python
from passlab.compat.topi.testing.arrays import strided_slice_python as strided_slice_python
from passlab.compat.topi.testing.convolutions import conv1d_ncw_python as conv1d_ncw_python
from passlab.compat.topi.testing.convolutions import conv1d_transpose_ncw_python as conv1d_transpose_ncw_python
from passlab.compat.topi.testing.convolutions import conv2d_backward_weight_python as conv2d_backward_weight_python
from passlab.compat.topi.testing.convolutions import conv2d_hwcn_python as conv2d_hwcn_python
from passlab.compat.topi.testing.convolutions import conv2d_nchw_python as conv2d_nchw_python
from passlab.compat.topi.testing.convolutions import conv2d_nhwc_python as conv2d_nhwc_python
from passlab.compat.topi.testing.convolutions import conv2d_transpose_nchw_python as conv2d_transpose_nchw_python
from passlab.compat.topi.testing.convolutions import conv2d_transpose_nhwc_python as conv2d_transpose_nhwc_python
from passlab.compat.topi.testing.convolutions import conv3d_ncdhw_python as conv3d_ncdhw_python
from passlab.compat.topi.testing.convolutions import conv3d_ndhwc_python as conv3d_ndhwc_python
from passlab.compat.topi.testing.convolutions import conv3d_transpose_ncdhw_python as conv3d_transpose_ncdhw_python
from passlab.compat.topi.testing.convolutions import depthwise_conv2d_python_nchw as depthwise_conv2d_python_nchw
from passlab.compat.topi.testing.convolutions import depthwise_conv2d_python_nhwc as depthwise_conv2d_python_nhwc
from passlab.compat.topi.testing.convolutions import group_conv1d_ncw_python as group_conv1d_ncw_python
from passlab.compat.topi.testing.convolutions import (
    group_conv1d_transpose_ncw_python as group_conv1d_transpose_ncw_python,
)
from passlab.compat.topi.testing.images import affine_grid_python as affine_grid_python
from passlab.compat.topi.testing.images import batch_to_space_nd_python as batch_to_space_nd_python
from passlab.compat.topi.testing.images import bilinear_resize_python as bilinear_resize_python
from passlab.compat.topi.testing.images import correlation_nchw_python as correlation_nchw_python
from passlab.compat.topi.testing.images import crop_and_resize_python as crop_and_resize_python
from passlab.compat.topi.testing.images import deformable_conv2d_nchw_python as deformable_conv2d_nchw_python
from passlab.compat.topi.testing.images import deformable_conv2d_nhwc_python as deformable_conv2d_nhwc_python
from passlab.compat.topi.testing.images import depth_to_space_python as depth_to_space_python
from passlab.compat.topi.testing.images import grid_sample_nchw_python as grid_sample_nchw_python
from passlab.compat.topi.testing.images import grid_sample_python as grid_sample_python
from passlab.compat.topi.testing.images import reorg_python as reorg_python
from passlab.compat.topi.testing.images import resize1d_python as resize1d_python
from passlab.compat.topi.testing.images import resize2d_python as resize2d_python
from passlab.compat.topi.testing.images import resize3d_python as resize3d_python
from passlab.compat.topi.testing.images import roi_align_nchw_python as roi_align_nchw_python
from passlab.compat.topi.testing.images import roi_align_nhwc_python as roi_align_nhwc_python
from passlab.compat.topi.testing.images import roi_pool_nchw_python as roi_pool_nchw_python
from passlab.compat.topi.testing.images import space_to_batch_nd_python as space_to_batch_nd_python
from passlab.compat.topi.testing.images import space_to_depth_python as space_to_depth_python
from passlab.compat.topi.testing.images import trilinear_resize3d_python as trilinear_resize3d_python
from passlab.compat.topi.testing.images import upsampling3d_python as upsampling3d_python
from passlab.compat.topi.testing.images import upsampling_python as upsampling_python
from passlab.compat.topi.testing.networks import batch_norm as batch_norm
from passlab.compat.topi.testing.networks import group_norm_python as group_norm_python
from passlab.compat.topi.testing.networks import instance_norm_python as instance_norm_python
from passlab.compat.topi.testing.networks import l2_normalize_python as l2_normalize_python
from passlab.compat.topi.testing.networks import layer_norm_python as layer_norm_python
from passlab.compat.topi.testing.networks import log_softmax_python as log_softmax_python
from passlab.compat.topi.testing.networks import lrn_python as lrn_python
from passlab.compat.topi.testing.networks import nll_loss as nll_loss
from passlab.compat.topi.testing.networks import rms_norm_python as rms_norm_python
from passlab.compat.topi.testing.networks import softmax_python as softmax_python
from passlab.compat.topi.testing.pooling import adaptive_pool as adaptive_pool
from passlab.compat.topi.testing.pooling import pool1d_ncw_python as pool1d_ncw_python
from passlab.compat.topi.testing.pooling import pool3d_ncdhw_python as pool3d_ncdhw_python
from passlab.compat.topi.testing.pooling import pool_grad_nchw as pool_grad_nchw
from passlab.compat.topi.testing.pooling import poolnd_python as poolnd_python

conv2d_backcward_weight_nchw_python = conv2d_backward_weight_python
