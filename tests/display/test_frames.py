"""Graphs of programs: what must be true of the frames of any program, open and folded, before and after passes."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from itertools import combinations
from typing import Any

import pytest

import passlab
from passlab import transform
from passlab.display import graph_view
from passlab.display.graphs.cards import skyline
from passlab.display.graphs.dataflow import dataflow
from passlab.display.graphs.frames import is_program
from passlab.ir.module import IRModule
from passlab.testing import resnet
from passlab.testing.programs import generate
from tests.display.large_program import LOCAL_LOOP, LOOP, PROGRAM
from tests.display.programs import network
from tests.scripts.node import run

pytestmark = pytest.mark.rotating

WINDOW = (1300, 900)
Rect = tuple[float, float, float, float]


def typed(text: str) -> IRModule:
    return transform.InferType()(passlab.parse(text))  # type: ignore[no-any-return]


def lowered(text: str, passes: str) -> IRModule:
    return passlab.record(typed(text), passes, opt_level=3).output


PROGRAMS: dict[str, Any] = {
    "large": lambda: typed(PROGRAM),
    "large, fused": lambda: lowered(PROGRAM, "ToANormalForm, FuseOps"),
    "large, lifted": lambda: lowered(PROGRAM, "LambdaLift"),
    "loop": lambda: typed(LOOP),
    "loop, fused": lambda: lowered(LOOP, "FuseOps(fuse_opt_level=2)"),
    "local loop": lambda: typed(LOCAL_LOOP),
    "one function": lambda: typed(PROGRAM)["counter"],
    "not typed": lambda: passlab.parse(LOCAL_LOOP),
    **{f"generated {seed}": lambda seed=seed: generate(seed) for seed in range(24)},
    **{
        f"generated {seed}, {passes}": lambda seed=seed, passes=passes: (
            passlab.record(generate(seed), passes, opt_level=3).output
        )
        for seed, passes in [
            (150, "LambdaLift"),
            (171, "LambdaLift"),
            (103, "PartialEvaluate"),
            (104, "ToANormalForm, FuseOps"),
            (105, "ToANormalForm, ToGraphNormalForm, InferType"),
        ]
    },
}


def program(name: str) -> Any:
    return PROGRAMS[name]()


def sheet_of(data: Any, folds: dict[str, bool] | None = None, window: tuple[int, int] = WINDOW, **more: Any) -> Any:
    return run(
        "pack_program.mjs", {"data": data, "folds": folds or {}, "width": window[0], "height": window[1], **more}
    )


def all_open(data: Any) -> dict[str, bool]:
    """Everything open: cards by their names, frames by their keys."""
    frames = {frame["key"]: False for frame in data["frames"] if frame["parent"] >= 0 and frame["kind"] != "arm"}
    return {card["name"]: True for card in data["cards"]} | frames


def rects_of(data: Any, sheet: Any) -> tuple[dict[int, Rect], dict[int, Rect]]:
    """The frames and boxes that stand on a sheet: left, top, right, bottom."""
    frames = {f["number"]: (f["x"], f["y"], f["x"] + f["width"], f["y"] + f["height"]) for f in sheet["frames"]}
    for card in sheet["cards"]:
        sides = (card["x"], card["y"], card["x"] + card["width"], card["y"] + card["height"])
        frames[card["row"]["frame"]] = sides
    boxes = {}
    for piece in sheet["pieces"]:
        for at, number in enumerate(piece["boxes"]):
            width = next(item[3] for frame in data["frames"] for item in frame["items"] if item[0] == number)
            height = data["boxes"][number][1]
            x, y = piece["x"] + piece["layout"]["at"][2 * at], piece["y"] + piece["layout"]["at"][2 * at + 1]
            boxes[number] = (x - width / 2, y - height / 2, x + width / 2, y + height / 2)
    return frames, boxes


def overlap(a: Rect, b: Rect) -> bool:
    return a[0] < b[2] - 0.1 and b[0] < a[2] - 0.1 and a[1] < b[3] - 0.1 and b[1] < a[3] - 0.1


def contains(a: Rect, b: Rect) -> bool:
    return a[0] <= b[0] + 0.1 and a[1] <= b[1] + 0.1 and a[2] >= b[2] - 0.1 and a[3] >= b[3] - 0.1


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_box_is_in_exactly_one_frame(name):
    view = graph_view(program(name))
    if view.sheet is None:
        assert not is_program(dataflow(view.program))
        return
    frames = view.sheet.frames
    inside = Counter(item for frame in frames for item in frame.items if item >= 0)
    told = Counter(box for frame in frames for box in frame.hidden)
    stand = Counter(frame.box for frame in frames if frame.box is not None)
    assert inside + told + stand == Counter(range(len(view.graph.boxes)))
    assert sorted(-1 - item for frame in frames for item in frame.items if item < 0) == [
        frame.number for frame in frames if frame.parent is not None and frame.kind != "arm"
    ]
    assert all(frame.parent is None or frame.parent < frame.number for frame in frames)
    assert len({frame.key for frame in frames}) == len(frames)


def check_geometry(data: Any, sheet: Any) -> None:
    frames, boxes = rects_of(data, sheet)
    parent = {number: frame["parent"] for number, frame in enumerate(data["frames"])}
    home = {item[0]: at for at, frame in enumerate(data["frames"]) for item in frame["items"] if item[0] >= 0}
    around = {("frame", n): parent[n] for n in frames} | {("box", n): home[n] for n in boxes}
    rects = {("frame", n): rect for n, rect in frames.items()} | {("box", n): rect for n, rect in boxes.items()}
    siblings: dict[int, list[Any]] = {}
    for one, outer in around.items():
        siblings.setdefault(outer, []).append(one)
        if outer >= 0:
            assert contains(rects["frame", outer], rects[one]), (one, outer)
    for group in siblings.values():
        for one, other in combinations(group, 2):
            assert not overlap(rects[one], rects[other]), (one, other)
    owners = {frame["box"]: number for number, frame in enumerate(data["frames"]) if frame["box"] >= 0}
    ends = boxes | {b: frames[n] for b, n in owners.items() if n in frames}
    check_arrows(data, sheet, frames, ends)


def check_arrows(data: Any, sheet: Any, frames: dict[int, Rect], ends: dict[int, Rect]) -> None:
    """Every arrow begins at the bottom of a box or frame, or at the top of the frame that it enters; it ends at a top."""
    outer = list(frames.values())
    for piece in sheet["pieces"]:
        for arrow in piece["layout"]["arrows"]:
            points = arrow[3]
            if not points:
                continue  # backwards: a recursive call
            (x0, y0), (x1, y1) = points[:2], points[-2:]
            x0, x1, y0, y1 = x0 + piece["x"], x1 + piece["x"], y0 + piece["y"], y1 + piece["y"]
            spots = [*ends.values(), *outer]
            starts = [abs(y0 - r[3]) < 1 or 0 <= y0 - r[1] < 26 for r in spots if r[0] - 1 <= x0 <= r[2] + 1]
            stops = [abs(y1 - r[1]) < 1 for r in spots if r[0] - 1 <= x1 <= r[2] + 1]
            assert any(starts), (arrow, piece["boxes"])
            assert any(stops), (arrow, piece["boxes"])
            assert y0 < y1


@pytest.mark.parametrize("name", PROGRAMS)
def test_frames_overlap_only_what_is_inside_them_and_arrows_end_at_boxes(name):
    data = graph_view(program(name)).data()
    if not data["cards"]:
        return
    for folds in (all_open(data), {}):
        check_geometry(data, sheet_of(data, folds)["sheet"])


@pytest.mark.parametrize("name", ["large", "large, fused", "loop", "one function", "generated 2", "generated 5"])
@pytest.mark.parametrize("seed", range(3))
def test_the_same_is_true_of_whatever_is_folded(name, seed):
    data = graph_view(program(name)).data()
    draw = random.Random(seed)
    folds = {key: draw.random() < 0.5 for key in all_open(data)}
    sheet = sheet_of(data, folds, (draw.choice([560, 960, 1360]), 900))["sheet"]
    check_geometry(data, sheet)
    shown = {box for piece in sheet["pieces"] for box in piece["boxes"]} | {box for box, _ in sheet["visible"]}
    folded = {number for number, frame in enumerate(data["frames"]) if folds.get(frame["key"]) and frame["parent"] >= 0}
    hidden = sheet_of(data, folds, boxes=[box for box in range(len(data["boxes"])) if box not in shown])["around"]
    closed = {card["frame"] for card in data["cards"] if not folds[card["name"]]}
    assert all(folded.intersection(frames) or closed.intersection(frames) for frames in hidden)


def test_folding_takes_no_more_room_and_moves_nothing_in_other_cards():
    data = graph_view(typed(PROGRAM)).data()
    folds = all_open(data)
    before = sheet_of(data, folds)["sheet"]
    frame = next(one for one in data["frames"] if one["title"].startswith("%low = if"))
    after = sheet_of(data, folds | {frame["key"]: True})["sheet"]
    sizes = [[(c["width"], c["height"]) for c in sheet["cards"]] for sheet in (before, after)]
    assert all(a <= b and c <= d for (b, d), (a, c) in zip(*sizes, strict=True))
    assert sum(one != other for one, other in zip(*sizes, strict=True)) == 1


def test_the_drawing_is_deterministic():
    texts = {json.dumps(graph_view(typed(PROGRAM)).data()["frames"]) for _ in range(2)}
    assert len(texts) == 1
    assert len({graph_view(typed(PROGRAM)).html() for _ in range(2)}) == 1


def test_a_frame_has_the_same_key_in_every_step_in_which_it_is_the_same():
    rec = passlab.record(typed(PROGRAM), "FoldConstant, SimplifyExpr, EliminateCommonSubexpr", opt_level=3)
    keys = [{frame.key for frame in graph_view(step.after).sheet.frames} for step in rec]
    assert all(len(one & other) > 0.9 * len(one) for one, other in combinations(keys, 2))


def test_a_card_of_two_steps_stands_at_the_same_place_in_both():
    rec = passlab.record(typed(LOOP), "SimplifyExpr, FuseOps(fuse_opt_level=2)", opt_level=3)
    before, after = (graph_view(mod).data() for mod in (rec.input, rec.output))
    both = sheet_of(before, all_open(after), beside=after)
    corners = [
        {card["row"]["name"]: (card["x"], card["y"]) for card in sheet["cards"]}
        for sheet in (both["sheet"], both["other"])
    ]
    assert corners[0] == corners[1]
    assert len(corners[0]) == 4
    check_geometry(after, both["other"])


def test_all_text_of_a_picture_is_equally_large():
    svg = graph_view(typed(PROGRAM))._draw()
    assert set(re.findall(r'font-size="([^"]*)"', svg)) == {"11"}


def test_networks_are_no_programs():
    assert graph_view(network()).sheet is None
    mod, _ = resnet.get_workload(num_layers=18)
    assert graph_view(mod).data()["cards"] == []
    fused = passlab.record(mod, "SimplifyInference, FuseOps(fuse_opt_level=2)", opt_level=3).output
    assert graph_view(fused).data()["frames"] == []


def test_effects_are_numbered_in_the_order_of_evaluation():
    view = graph_view(typed(PROGRAM))
    frames = {frame.name or frame.title: frame for frame in view.sheet.frames}
    titles = view.sheet.program.captions
    main = [titles[item][0] if item >= 0 else view.sheet.frames[-1 - item].title for item in frames["@main"].effects]
    assert main == [
        "%sum = ref 0f", "%u = @each", "%tick = @counter", "%act = @compose", "%ys = @map", "%low = if read %sum > 10f",
    ]  # fmt: skip
    counter = frames["fn (%by)"]
    assert [titles[item][0] if item >= 0 else "if" for item in counter.effects] == [
        "%old = read %cell", "%done = write %cell", "if",
    ]  # fmt: skip
    assert not frames["@total"].effects


def test_conditions_and_patterns_are_titles():
    titles = {frame.title for frame in graph_view(typed(PROGRAM)).sheet.frames}
    assert {"if %x < %lo", "if %n == 0", "match %xs", "Node(%l, %x, %r)", "%scale = fn (%t)"} <= titles
    assert "if %i < 50 and %err > 0.001f" in {frame.title for frame in graph_view(typed(LOOP)).sheet.frames}


@pytest.mark.parametrize("seed", range(20))
def test_cards_on_a_sheet_do_not_overlap(seed):
    draw = random.Random(seed)
    sizes = [(draw.randint(50, 700), draw.randint(40, 900)) for _ in range(draw.randint(1, 40))]
    corners = skyline(sizes, 1300)
    rects = [(x, y, x + w, y + h) for (x, y), (w, h) in zip(corners, sizes, strict=True)]
    assert not any(overlap(a, b) for a, b in combinations(rects, 2))
    assert max(right for _, _, right, _ in rects) <= 1300


def test_a_deep_program_is_laid_out_without_recursion():
    depth = 1500
    text = "def @main(%x: int32) -> int32 { " + "if (%x < 1) { %x } else { " * depth + "%x" + " }" * depth + " }"
    data = graph_view(passlab.parse(text)).data()
    assert sum(frame["kind"] == "choice" for frame in data["frames"]) == depth
    sheet = sheet_of(data)["sheet"]
    assert len(sheet["frames"]) < 40  # deep ones start folded


def test_a_function_is_titled_with_its_parameters_as_far_as_there_is_room():
    def title(names):
        params = ", ".join(f"%{name}: float32" for name in names)
        both = f"def @main({params}) {{ exp(%{names[0]}) }} def @other(%x: float32) {{ exp(%x) }}"
        return next(frame.title for frame in graph_view(typed(both)).sheet.frames if frame.title.startswith("@main"))

    assert title(["x"]) == "@main(%x)"
    assert title(["x", "y", "z"]) == "@main(%x, %y, %z)"
    assert title(["x" * 60, "y", "z"]) == f"@main(%{'x' * 60}, 2 more)"
    many = title([f"x{i}" for i in range(40)])
    assert many.startswith("@main(%x0, %x1, ")
    shown = many.count("%")
    assert f", {40 - shown} more)" in many
