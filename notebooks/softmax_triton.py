"""The kernel of the lesson on Triton: `softmax` of each row of a matrix.

`python softmax_triton.py` compiles it for an H100, without a GPU, and writes what every pass did into
`softmax-triton.txt.gz`. It needs `pip install triton`.
"""

import triton
import triton.language as tl


@triton.jit
def softmax(out, x, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    v = tl.load(x + row * stride + cols, mask=mask, other=-float("inf"))
    v = v - tl.max(v, axis=0)
    e = tl.exp(v)
    tl.store(out + row * stride + cols, e / tl.sum(e, axis=0), mask=mask)


if __name__ == "__main__":
    import gzip
    from pathlib import Path

    from passlab.recorders.triton import record

    recording = record(softmax, "*fp32:16, *fp32:16, i32:16, i32", "cuda:90", constexprs={"BLOCK": 512})
    recording.save("softmax-triton.txt.gz")
    print(recording.summary())

    # The stored file names no folder of this machine.
    stored = Path("softmax-triton.txt.gz")
    text = gzip.decompress(stored.read_bytes())
    for folder in (Path(__file__).resolve().parent, Path(triton.__file__).parent.parent):
        text = text.replace(f"{folder}/".encode(), b"").replace(str(folder).encode(), b"")
    stored.write_bytes(gzip.compress(text, mtime=0))
