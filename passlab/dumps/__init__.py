"""Recordings of the passes of other compilers, read from what these print.

    rec = passlab.dumps.read("dump.txt")     # LLVM, MLIR, IREE, XLA, TVM, xDSL, GCC, rustc, torch.compile, ONNX folders

`read` recognises the format. A recording keeps offsets and digests; texts are read from the dump on demand.
"""

from passlab.dumps.reading import NAMES, read, read_text
from passlab.dumps.recording import TextRecording
from passlab.dumps.step import Step

__all__ = ["NAMES", "Step", "TextRecording", "read", "read_text"]
