"""`DumpIR`: write the program after each pass to a numbered file."""

from __future__ import annotations

import os
import re
from pathlib import Path

from passlab.arguments import checked
from passlab.atomic_file import checked_path, make_folder, remove_file, write_text
from passlab.instrument.base import PassInstrument
from passlab.instrument.change import is_changed
from passlab.instrument.per_run import PerRun
from passlab.ir.module import IRModule
from passlab.table import Table, Tabular
from passlab.transform.pass_info import PassInfo

_OURS = re.compile(r"\d{3,}_[A-Za-z0-9_.-]*\.(relay|failed\.txt)")  # only files with such names may be removed
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")


class DumpIR(PassInstrument, Tabular):
    """Write the module after each pass to `DIR/NNN_PASS.relay`; numbers start at 000 when the context is entered.

    With `refresh` the files of an earlier run are removed first; no other file is touched. With `only_changed` a pass
    that changed nothing writes none. A pass that raises writes its error to `NNN_PASS.failed.txt`. Raises
    `FileAccessError` when the directory cannot be written. A file is either complete or not there.

    >>> import tempfile, pathlib
    >>> folder = tempfile.mkdtemp()
    >>> with transform.PassContext(instruments=[instrument.DumpIR(folder, only_changed=True)]):
    ...     _ = transform.FoldConstant()(passlab.parse("def @main() { 1f + 2f }"))
    >>> [path.name for path in pathlib.Path(folder).iterdir()]
    ['000_FoldConstant.relay']
    """

    @checked
    def __init__(
        self,
        dump_dir: str | os.PathLike[str],
        refresh: bool = False,
        *,
        only_changed: bool = False,
        show_meta_data: bool = True,
    ) -> None:
        super().__init__()
        self.dump_dir = checked_path(dump_dir)
        self.refresh = refresh
        self.only_changed = only_changed
        self.show_meta_data = show_meta_data
        self._running: PerRun[IRModule] = PerRun()
        self._written: list[tuple[int, str, str]] = []
        self._next = 0

    def enter_pass_ctx(self) -> None:
        self._running.forget()
        self._written, self._next = [], 0
        make_folder(self.dump_dir)
        if self.refresh:
            for path in self.dump_dir.iterdir():
                if _OURS.fullmatch(path.name) and path.is_file():
                    remove_file(path)

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        self._running.begin(mod.snapshot())

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        before = self._running.end()
        if not self.only_changed or before is None or is_changed(before, mod):
            self._write(info.name, ".relay", mod.astext(show_meta_data=self.show_meta_data))

    def pass_failed(self, mod: IRModule, info: PassInfo, error: BaseException) -> None:
        self._running.end()
        self._write(info.name, ".failed.txt", f"{type(error).__name__}: {error}\n")

    def _write(self, name: str, ending: str, text: str) -> None:
        file_name = f"{self._next:03d}_{_UNSAFE.sub('_', name)[:100]}{ending}"
        write_text(self.dump_dir / file_name, text, "backslashreplace")
        self._written.append((self._next, name, file_name))
        self._next += 1

    @property
    def paths(self) -> list[Path]:
        """The files written since the context was entered, in order."""
        return [self.dump_dir / file_name for _, _, file_name in self._written]

    def table(self) -> Table:
        """Return the files written: step, pass, file name."""
        return Table(("step", "pass", "file"), self._written)
