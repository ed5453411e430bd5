"""XLA and JAX: a folder of `--xla_dump_to`, one of `JAX_DUMP_IR_TO`, or both as one recording.

A function of JAX has a jaxpr and a program of StableHLO. Its module of XLA, which has the same name, has HLO after each
pass that changed something. For each kernel it has the passes of an emitter in MLIR, and LLVM IR.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from passlab.dumps.assembly import Assembly
from passlab.dumps.banner import MODULE, Banner, Scan
from passlab.dumps.language import HLO
from passlab.dumps.recording import TextRecording
from passlab.dumps.source import FileSource
from passlab.dumps.stages import Stage, Stream, assemble_stages, recording_of
from passlab.dumps.verdicts import Traits

_PASS = re.compile(
    r"(?P<module>module_\d+\.(?P<name>.+?))\.(?P<number>\d{4,})\.(?P<pipeline>.+?)\.after_(?P<after>.+?)"
    r"(?:\.before_(?P<before>.+))?\.(?:txt|hlo)"
)
_INPUT = re.compile(r"(?P<module>module_\d+\.(?P<name>.+?))\.before_optimizations\.(?:txt|hlo)")
_OUTPUT = re.compile(r"(?P<module>module_\d+\.(?P<name>.+?))\.(?:[\w-]+\.)*?\w*after_optimizations\.(?:txt|hlo)")
_JAXPR = re.compile(r"jax_\d+_(?P<name>.*)\.jaxpr\.txt")
_STABLEHLO = re.compile(r"jax_ir\d+_(?:jit_)?(?P<name>.*?)(?:_compile)?\.mlir")
# The files of a kernel, in order: the end of the name, what it is, and its language.
_KERNEL = (
    ("-pre-optimization.mlir", "", "mlir"),
    (".mlir-passes.log", "", ""),
    ("-post-optimization.mlir", "MLIR, optimized", "mlir"),
    ("-post-lowering.mlir", "MLIR, lowered", "mlir"),
    (".ir-no-opt.ll", "LLVM IR", "llvm"),
    (".ir-with-opt.ll", "LLVM IR, optimized", "llvm"),
    (".ptx", "PTX", "asm"),
    (".s", "assembly", "asm"),
)


def is_folder(names: Sequence[str]) -> bool:
    """Whether files are named as XLA or JAX names its dumps."""
    patterns = (_PASS, _INPUT, _JAXPR, _STABLEHLO)
    return any(pattern.fullmatch(name) for name in names for pattern in patterns)


def read_folder(files: Sequence[Path], folder: Path) -> TextRecording:
    """Return the programs of a folder: what JAX wrote of each, its passes of HLO, and the passes of its kernels."""
    scan = _scan(files)
    used: set[Path] = set()
    functions = _functions(files, used)
    parts: list[tuple[str, Assembly]] = []
    for module, banners in groupby(scan.banners, key=lambda banner: banner.phase):
        part = Assembly(Scan(list(banners)), Traits(starts_unchanged=True), HLO)
        part.run()
        stages = functions.pop(_turn(module.partition(".")[2], [name for name, _ in parts]), None)
        if stages is None:
            parts.append((module, part))
            continue
        if part.input is not None:
            source = part.scan.banners[0].source
            stages.append(Stage("hlo", "HLO", "hlo", source))
        parts.append((module, assemble_stages([*stages, part], module, True)))
    hlo = [name for name, _ in parts]
    parts += [(name, assemble_stages(stages, name, True)) for (name, _), stages in functions.items()]
    parts += _kernels(files, hlo, used)
    order = {module: at for at, module in enumerate(hlo)}
    parts.sort(key=lambda one: order.get(one[0].partition(" ")[0], -1))
    used |= {banner.source.path for banner in scan.banners if isinstance(banner.source, FileSource)}
    return recording_of(folder, files, used, parts, ("xla", HLO), scan.notes if scan.banners else [])


def _functions(files: Sequence[Path], used: set[Path]) -> dict[tuple[str, int], list[Stage | Assembly]]:
    """Return the stages of each function that JAX wrote, by its name and how many before it have the same."""
    found: dict[tuple[str, int], list[Stage | Assembly]] = {}
    for pattern, kind, language in ((_JAXPR, "jaxpr", "text"), (_STABLEHLO, "StableHLO", "mlir")):
        names: list[str] = []
        for path in sorted(files, key=lambda path: path.name):
            if match := pattern.fullmatch(path.name):
                name = re.sub(r"\W+", "_", match["name"]).strip("_")
                found.setdefault(_turn(name, names), []).append(Stage(kind, kind, language, FileSource(path)))
                names.append(name)
                used.add(path)
    return found


def _turn(name: str, earlier: Sequence[str]) -> tuple[str, int]:
    """Return the name of a function without what JAX and XLA put in front, and how many before it have this name."""
    plain = [re.sub(r"^(?:module_\d+\.)?(?:jit_+|pmap_+)?", "", one).strip("_") for one in (name, *earlier)]
    return plain[0], Counter(plain[1:])[plain[0]]


def _kernels(files: Sequence[Path], modules: Sequence[str], used: set[Path]) -> list[tuple[str, Assembly]]:
    """Return the kernels of modules: the passes of their emitters, and their LLVM IR."""
    kernels: dict[tuple[str, str], dict[str, Path]] = {}
    for path in files:
        module = max((one for one in modules if path.name.startswith(one + ".")), key=len, default="")
        end = next((end for end, _, _ in _KERNEL if module and path.name.endswith(end)), "")
        if end:
            kernel = path.name[len(module) : -len(end)].lstrip(".")
            kernels.setdefault((module, kernel), {})[end] = path
    parts = []
    for (module, kernel), found in kernels.items():
        stages: list[Stage | Assembly] = []
        streams: list[Stream] = []
        for end, title, language in _KERNEL:
            if end not in found:
                continue
            source = FileSource(found[end])
            used.add(found[end])
            if not language:
                streams = [Stream("mlir", source)]
                continue
            stage = Stage(end, title, language, source)
            if streams and language == "mlir" and not (end == "-post-optimization.mlir" and _KERNEL[3][0] in found):
                streams[0].after, stage.streams, streams = source, streams, []
            elif streams and language == "mlir":
                used.discard(found[end])  # a program between two passes, which the log has as well
                continue
            stages.append(stage)
        parts.append((f"{module} {kernel}".strip(), assemble_stages(stages, kernel or module, True)))
    return parts


def _scan(files: Sequence[Path]) -> Scan:
    """Return the dumps of `--xla_dump_to`: one chain of files per module, of the passes that changed something."""
    inputs = {m["module"]: path for path in files if (m := _INPUT.fullmatch(path.name))}
    chains: dict[str, list[tuple[int, Path, re.Match[str]]]] = {}
    for path in files:
        if match := _PASS.fullmatch(path.name):
            chains.setdefault(match["module"], []).append((int(match["number"]), path, match))
    outputs = {m["module"]: path for path in files if (m := _OUTPUT.fullmatch(path.name))}
    banners: list[Banner] = []
    notes = [
        "XLA writes a file only where a pipeline starts or a pass changed something; the other passes are not named"
    ]
    for module in sorted({*chains, *inputs}):
        if module in inputs:
            banners.append(_banner(inputs[module], "start", "input", module))
        if module not in chains and module in outputs:  # made without --xla_dump_hlo_pass_re
            banners.append(_banner(outputs[module], "after", "all passes", module))
            notes.append(f"{module} has no passes: --xla_dump_hlo_pass_re=.* dumps the program around each")
        for _, path, match in sorted(chains.get(module, ()), key=lambda item: item[0]):
            banner = _banner(path, "after", match["after"], module)
            banner.unit, banner.kind = match["pipeline"], "pipeline"
            banner.note = f"before {match['before']}" if match["before"] else ""
            banners.append(banner)
    return Scan(banners, notes=notes)


def _banner(path: Path, when: str, name: str, module: str) -> Banner:
    """Return the banner of a file with a whole module."""
    source = FileSource(path)
    banner = Banner(source, when, name, module, "module", scope=MODULE, end=source.size)
    banner.phase = module
    return banner
