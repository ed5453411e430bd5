"""The time before the first picture: import, extension, first pipeline, a saved recording.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.start [--runs N] [--json FILE]

Each figure is of a fresh process, in seconds of the processor, the least of some runs: `import passlab` beside
`import numpy`; `%load_ext passlab` in an IPython shell; all of the first `%passes` over ResNet-18, from its text to the
view, what is imported on the way included; `Recording.load` of 60 passes over ResNet-50, the second in its process.
Modules are compiled to bytecode before, as an installer does it: by the first of the runs.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import passlab
from benchmarks.calibrate import argument_parser, print_figures, write_record
from benchmarks.recording import pipeline
from passlab import relay

GOALS = {"import passlab, import numpy": 1.3, "%load_ext s": 0.2, "first %passes s": 1.0, "open a recording s": 0.2}
SHELL = "from IPython.core.interactiveshell import InteractiveShell\nshell = InteractiveShell.instance()\n"
PASSES = "InferType, SimplifyInference, FoldConstant, FoldScaleAxis, SimplifyExpr, FuseOps"


def seconds(before: str, measured: str, runs: int) -> float:
    """Return the least processor seconds that some Python takes in a fresh process, after some other."""
    code = f"{before}\nfrom time import process_time\nstart = process_time()\n{measured}\nprint(process_time() - start)"
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", code]
    outputs = [subprocess.run(command, check=True, capture_output=True, env=env) for _ in range(runs)]
    return min(float(output.stdout.split()[-1]) for output in outputs)


def measure(runs: int) -> dict[str, float]:
    """Return the figures."""
    numpy, package = (seconds("", f"import {name}", runs) for name in ("numpy", "passlab"))
    both = seconds("", "import passlab, numpy", runs)
    loading = "shell.run_line_magic('load_ext', 'passlab')"
    with TemporaryDirectory() as folder:
        text, saved = Path(folder) / "resnet18.relay", Path(folder) / "recording"
        text.write_text(relay.testing.resnet.get_workload(num_layers=18)[0].astext())
        passlab.record(relay.testing.resnet.get_workload(num_layers=50)[0], pipeline(), opt_level=4).save(saved)
        opening = f"passlab.lab.Recording.load({str(saved)!r})"
        cells = [
            loading,
            "import passlab",
            f"shell.push({{'net': passlab.parse(open({str(text)!r}).read())}})",
            f"recording = shell.run_line_magic('passes', 'net {PASSES} -O 3 -o out')",
            "shell.display_formatter.format(recording)",
        ]
        return {
            "import numpy s": numpy,
            "import passlab s": package,
            "import passlab, import numpy": package / numpy,
            "both, import numpy": both / numpy,
            "%load_ext s": seconds(SHELL, loading, runs),
            "first %passes s": seconds(SHELL, "\n".join(cells), runs),
            "open a recording s": seconds(f"import passlab.lab\n{opening}", opening, runs),
        }


def main(argv: list[str] | None = None) -> int:
    """Measure, print the table, write the record."""
    parser = argument_parser(__doc__, "start")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args(argv)
    figures = measure(options.runs)
    print_figures(figures, GOALS)
    write_record(options.json, figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
