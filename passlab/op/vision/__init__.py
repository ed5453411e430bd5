"""Operators of object detection. Importing this package declares all of them."""

from __future__ import annotations

from passlab.op.vision import multibox, nms, rois
