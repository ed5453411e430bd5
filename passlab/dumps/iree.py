"""IREE: the phases of a compilation and the files of its executables as one recording."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from passlab.dumps.assembly import Assembly
from passlab.dumps.banner import MODULE, Banner, Scan
from passlab.dumps.language import MLIR
from passlab.dumps.mlir import PEEK, root_of
from passlab.dumps.recording import TextRecording
from passlab.dumps.source import FileSource
from passlab.dumps.stages import Stage, assemble_stages, recording_of
from passlab.dumps.verdicts import Traits

_PHASE = re.compile(r"(?P<module>.+)\.(?P<number>\d+)\.(?P<name>[\w-]+)\.mlir")
# The files of `--iree-hal-dump-executable-intermediates-to`, in order: the end of the name, what it is, its language.
_CODE = (
    (".codegen.ll", "LLVM IR", "llvm"),
    (".linked.ll", "LLVM IR, linked", "llvm"),
    (".optimized.ll", "LLVM IR, optimized", "llvm"),
    (".s", "assembly", "asm"),
    (".ptx", "PTX", "asm"),
    (".rocmasm", "AMDGCN", "asm"),
)


def is_folder(names: Sequence[str]) -> bool:
    """Whether files are named as phases of a compilation, or as the code of executables."""
    is_phases = sum(_PHASE.fullmatch(name) is not None for name in names) >= 2
    return is_phases or any(name.endswith((".codegen.ll", ".linked.ll")) for name in names)


def read_folder(files: Sequence[Path], folder: Path) -> TextRecording:
    """Return the phases, each the program after many passes, and the code of each executable."""
    scan = _phases(files)
    parts: list[tuple[str, Assembly]] = []
    if scan.banners:
        phases = Assembly(scan, Traits(), MLIR)
        phases.run()
        parts.append(("phases", phases))
    used = {banner.source.path for banner in scan.banners if isinstance(banner.source, FileSource)}
    executables: dict[str, list[Stage | Assembly]] = {}
    for end, title, language in _CODE:
        for path in files:
            if path.name.endswith(end):
                stage = Stage(end, title, language, FileSource(path))
                executables.setdefault(path.name.removesuffix(end), []).append(stage)
                used.add(path)
    parts += [(name, assemble_stages(stages, name, True)) for name, stages in executables.items()]
    return recording_of(folder, files, used, parts, ("iree-phases", MLIR), scan.notes if scan.banners else [])


def _phases(files: Sequence[Path]) -> Scan:
    """Return the programs of `--dump-compilation-phases-to`, in order of their numbers."""
    numbered = sorted((m["module"], int(m["number"]), path, m) for path in files if (m := _PHASE.fullmatch(path.name)))
    banners = []
    for module, number, path, match in numbered:
        source = FileSource(path)
        name = f"{number}.{match['name']}"
        unit = root_of(source.read(0, PEEK)) or module
        banners.append(Banner(source, "after", name, unit, "op", scope=MODULE, phase=name, end=source.size))
    return Scan(banners, notes=["each file is the program after a phase of many passes"])
