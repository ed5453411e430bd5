"""`%instruments`: pipelines of a notebook under passlab's instruments and the user's own."""

from __future__ import annotations

import pytest
from IPython.core.error import UsageError

from passlab.display import diff_view
from passlab.notebook.widgets import show
from passlab.testing import squeezenet

NET = "def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 8), float32]) { nn.relu(nn.dense(%x, %w, units=4)) }"


@pytest.fixture
def shell(running_shell):
    loaded = "passlab" in running_shell.extension_manager.loaded
    running_shell.run_line_magic("reload_ext" if loaded else "load_ext", "passlab")
    running_shell.run_cell_magic("relay", "net --show none", NET)
    yield running_shell
    running_shell.run_line_magic("instruments", "none")
    running_shell.run_line_magic("unload_ext", "passlab")


def test_what_instruments_measured_is_shown(shell, capsys):
    shell.run_line_magic("instruments", "timing statistics diff")
    shell.run_line_magic("passes", "net FuseOps")
    out = capsys.readouterr().out
    shell.run_line_magic("instruments", "none")
    assert "sequential\n  InferType\n  FuseOps" in out  # the tree of times
    assert "nodes change" in out  # the table of sizes
    assert "After FuseOps: Fused nn.dense and nn.relu into one function" in out  # the differences


def test_a_long_difference_is_folded_in_a_terminal_and_one_command_prints_all_of_it(shell, capsys):
    shell.user_ns["deep"] = squeezenet.get_workload(image_shape=(3, 64, 64))[0]
    shell.run_line_magic("instruments", "diff")
    shell.run_line_magic("passes", "deep FuseOps -O 4 -r fused")
    out = capsys.readouterr().out
    shell.run_line_magic("instruments", "none")
    change = shell.user_ns["fused"]["FuseOps"].diff()
    shown = out.partition("After FuseOps: ")[2].partition("After sequential")[0].splitlines()
    assert len(shown) < 50
    assert shown[0].lower() == f"{change.summary}.".lower()
    left_out = next(line for line in shown if "more lines" in line)
    assert "print(STEP.diff().text()) prints all lines" in left_out
    whole = change.text().splitlines()
    assert len(whole) > 200
    head = [line.removeprefix("  ") for line in shown[2 : shown.index(left_out)]]
    start = next(n for n, line in enumerate(whole) if line == head[0])
    assert whole[start : start + len(head)] == head
    count = int(left_out.split()[1].replace(",", ""))
    assert whole[start + len(head) + count] == ""  # then only the legend follows
    assert show(diff_view(change))._repr_mimebundle_()[0]["text/plain"].count("\n") < 60


def test_instruments_are_remembered(shell, capsys):
    shell.run_line_magic("instruments", "timing")
    assert capsys.readouterr().out == "instruments: timing\n"
    with pytest.raises(UsageError, match="did you mean `timing`"):
        shell.run_line_magic("instruments", "timin")
    shell.run_line_magic("instruments", "none")
    assert capsys.readouterr().out == "instruments: none\n"


def test_an_instrument_of_the_notebook_is_named(shell, capsys):
    shell.run_cell(
        "from passlab import instrument\n"
        "@instrument.pass_instrument\n"
        "class Names:\n"
        "    def __init__(self):\n        self.seen = []\n"
        "    def run_before_pass(self, mod, info):\n        self.seen.append(info.name)\n"
        "mine = Names()\n"
    )
    try:
        shell.run_line_magic("instruments", "mine Names")
        shell.run_line_magic("passes", "net InferType, FuseOps -q")
    finally:
        shell.run_line_magic("instruments", "none")
    assert [name for name in shell.user_ns["mine"].seen if name in ("InferType", "FuseOps")]
    shell.user_ns["plain"] = 3
    with pytest.raises(UsageError, match="not an instrument"):
        shell.run_line_magic("instruments", "plain")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("self.seen = 0", "Own: 1 attribute\nattribute  value\n---------  -----\nseen       1\n"),
        (
            "self._seen = self.seen = 0\n    def __repr__(self):\n        return f'saw <{self.seen}> pass'",
            "saw <1> pass\n",
        ),
        ("Own.seen = 0", "Own has nothing to show: give it a method `table()`, or attributes without `_`\n"),
    ],
)
def test_what_an_own_instrument_without_a_table_tells_is_shown(shell, capsys, fields, message):
    count = "type(self).seen += 1" if "Own" in fields else "self.seen += 1"
    shell.run_cell(
        "from passlab import instrument\n@instrument.pass_instrument\nclass Own:\n"
        f"    def __init__(self):\n        {fields}\n"
        f"    def run_after_pass(self, mod, info):\n        if info.name == 'FoldConstant': {count}\n"
    )
    try:
        shell.run_line_magic("instruments", "Own")
        capsys.readouterr()
        shell.run_line_magic("passes", "net FoldConstant")
    finally:
        out = capsys.readouterr().out
        shell.run_line_magic("instruments", "none")
    assert message in out
