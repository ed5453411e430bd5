"""Recordings of other compilers' passes, read from what they print.

    rec = passlab.dumps.read("dump.txt")     # LLVM, MLIR, IREE, XLA, TVM, xDSL, GCC, rustc, torch.compile, ONNX folders

`read` tells the format by itself. Offsets and digests are kept, texts are read when somebody looks at them.
"""

from passlab.dumps.reading import NAMES, read, read_text
from passlab.dumps.recording import TextRecording
from passlab.dumps.step import Step

__all__ = ["NAMES", "Step", "TextRecording", "read", "read_text"]
