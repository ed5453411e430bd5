"""What torch.compile writes about its own work, as one tree of graphs: `TORCH_TRACE` logs, tlparse's folders, and
`TORCH_COMPILE_DEBUG` folders.

    rec = passlab.dumps.read("trace/")         # a log, or a folder with logs, of tlparse, of debug files, or of all
    rec.tree(), rec["post-grad passes"].diff(), rec.graph_breaks(), rec.recompilations(), rec.guards("0/1")
    rec.provenance("0/0 forward").of("addmm")  # a node: its kernels, their lines, the lines of the user's program

`records` reads a log, `folders` a folder, `stages` orders what they found into the stages of each graph, `tables` and
`provenance` answer questions, `recording` is the recording.
"""

from passlab.dumps.torch.folders import is_folder, read_folder, read_log
from passlab.dumps.torch.recording import TorchRecording
from passlab.dumps.torch.records import is_log

__all__ = ["TorchRecording", "is_folder", "is_log", "read_folder", "read_log"]
