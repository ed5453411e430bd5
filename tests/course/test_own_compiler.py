"""A compiler of one's own: parts are kept as files and used, and what it makes agrees with passlab's evaluator."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

import passlab
from passlab import relay
from passlab.course import Names, Tries, compiler, lesson
from passlab.course.certificate import certificate, validate
from passlab.course.given import lessons_folder
from passlab.course.own import FOLDER, PARTS, Program, Step, as_relay, evaluate, fuzz, keep, random_program, variable
from passlab.course.registry import CELLS, LESSONS, TASKS, tasks_of

TEXT = (lessons_folder() / "digits.relay").read_text(encoding="utf-8")
IMAGE = {"image": (1, 1, 8, 8)}
for label in LESSONS:
    tasks_of(label)
TASK = {task.part: task for task in TASKS.values() if task.part}


@pytest.fixture
def mine(tmp_path, monkeypatch):
    monkeypatch.setattr(CELLS, "last", {})
    return compiler(tmp_path)


def answered(tmp_path, part, source):
    """Do what a learner does: run the cell of a part, and its check."""
    task = TASK[part]
    space: dict[str, object] = {}
    exec(source, space)
    CELLS.ran(source, None)
    return lesson(task.lesson, space, tmp_path)(task.number)


def test_every_part_has_an_exercise_and_they_come_in_the_order_of_the_course():
    assert set(TASK) == set(PARTS)
    places = [list(LESSONS).index(TASK[part].lesson) for part in PARTS]
    assert places == sorted(places)
    assert all(task.solution.rstrip().endswith(f"answer_{task.number} = {part}") for part, task in TASK.items())


def test_digits_is_compiled_as_passlab_computes_it(mine, tmp_path):
    network, weights = relay.testing.digits.get_workload()
    compiled = mine.build(TEXT, weights, IMAGE)
    bound = passlab.IRModule.from_expr(relay.build_module.bind_params_by_name(network["main"], weights))
    run = relay.create_executor("graph", bound).evaluate()
    images, _ = relay.testing.digits.images(20)
    for image in images:
        np.testing.assert_allclose(compiled.run(image[None]), run(image[None]), rtol=1e-4, atol=1e-6)
    assert [len(group) for group in compiled.groups] == [4, 1, 1, 2, 1]
    assert compiled.bytes_of_buffers == 1280
    assert (tmp_path / FOLDER / "digits_compiled.py").read_text(encoding="utf-8") == compiled.source


LAYOUTS = {  # the same program, written in another way
    "one line": lambda text: " ".join(text.split()),
    "no spaces": lambda text: " ".join(text.split()).replace("; ", ";").replace(" = ", "=").replace(", %", ",%"),
    "a word a line": lambda text: text.replace(" ", "\n"),
    "Windows": lambda text: text.replace("\n", "\r\n"),
    "comments": lambda text: text.replace(";\n", "; // nn.relu(%zero)\n").replace("(%", "(/* exp(%one); */ %"),
    "passlab's own": lambda text: passlab.parse(text).astext(),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_program_is_read_in_every_layout(layout, mine):
    rng = np.random.default_rng(3)
    for _ in range(10):
        program, values = random_program(rng)
        arrays = {**program.weights, **values}
        text = as_relay(program, {name: np.shape(array) for name, array in arrays.items()})
        weights = {variable(name): array for name, array in program.weights.items()}
        shapes = {variable(name): array.shape for name, array in values.items()}
        result = mine.build(LAYOUTS[layout](text), weights, shapes).run(*values.values())
        np.testing.assert_allclose(result, evaluate(program, values), rtol=1e-3, atol=1e-4)


HEADER = "def @main(%x: Tensor[(2, 4), float32], %w: Tensor[(3, 4), float32])"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("nn.relu(nn.dense(%x, %w))", "expected: nn.dense of 2"),
        ("%x + 1f", "expected: add of 2"),
        ("add(%x, 1f)", "found:    add of 1"),
        ("%x", "expected: a step"),
        ("if (True) { %x } else { nn.relu(%x) }", "nn.relu of 1, If"),
        ("let %a = nn.relu(%x); let %b = tanh(%a); %a", "returns `%a`"),
        ("nn.dense(%x, %nowhere)", "not been previously declared"),
        ("nn.relu(%x", "expected"),
    ],
)
def test_a_program_beyond_the_language_is_refused_in_words(body, words, mine):
    for layout in (" {{ {} }}", " {{\n  {}\n}}\n"):
        with pytest.raises(passlab.errors.PasslabError, match=re.escape(words)):
            mine.build(HEADER + layout.format(body), {"w": np.ones((3, 4), "float32")}, {"x": (2, 4)})


def test_a_name_without_an_array_is_named(mine):
    with pytest.raises(passlab.errors.PasslabError, match="nothing defines `w`"):
        mine.build(HEADER + " { nn.dense(%x, %w) }", {}, {"x": (2, 4)})


def test_random_programs_agree_with_the_evaluator(mine):
    assert fuzz(mine, 30, seed=7).failure is None


def test_every_kind_of_random_step_is_drawn():
    rng = np.random.default_rng(0)
    drawn = {step.op for _ in range(60) for step in random_program(rng)[0].steps}
    assert drawn >= {
        "nn.dense",
        "nn.bias_add",
        "exp",
        "multiply",
        "nn.softmax",
        "add",
        "subtract",
        "nn.relu",
        "tanh",
        "negative",
    }


@pytest.mark.parametrize("part", PARTS)
def test_a_right_answer_becomes_the_part_of_every_later_day(part, mine, tmp_path):
    verdict = answered(tmp_path, part, TASK[part].solution)
    assert f"kept in {FOLDER}/{part}.py" in str(verdict.required())
    later = compiler(tmp_path)
    assert [name for name, one in later.parts.items() if one.is_own] == [part]
    assert f"{part:10}  {PARTS[part]:16}  yours" in repr(later)
    assert fuzz(later, 5).failure is None


def test_a_cell_that_needs_other_cells_is_not_a_part(mine, tmp_path):
    source = TASK["fuse"].solution.replace("from collections import Counter\n", "")
    from collections import Counter

    space: dict[str, object] = {"Counter": Counter}
    exec(source, space)
    CELLS.ran(source, None)
    verdict = lesson("10", space, tmp_path)(5)
    assert verdict.passed is False
    assert verdict.missing == "the cell works without the other cells"
    assert not compiler(tmp_path).parts["fuse"].is_own


def test_a_wrong_answer_is_not_kept_and_an_older_one_stays(mine, tmp_path):
    answered(tmp_path, "plan", TASK["plan"].solution)
    wrong = TASK["plan"].solution.replace("end < life.born", "end <= life.born")
    assert not answered(tmp_path, "plan", wrong)
    assert (tmp_path / FOLDER / "plan.py").read_text(encoding="utf-8").strip() == TASK["plan"].solution.strip()


@pytest.mark.parametrize("text", ["1 / 0", "def broken(:", "x = 1", "raise SystemExit", "import nowhere_to_be_found"])
def test_a_damaged_file_falls_back_to_the_solution_and_says_why(text, mine, tmp_path):
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "fuse.py").write_text(text)
    part = compiler(tmp_path).parts["fuse"]
    assert not part.is_own
    assert part.trouble.startswith("yours raised ")
    assert keep(tmp_path, "fuse", text, lambda answer: "not even now")
    assert (tmp_path / FOLDER / "fuse.py").read_text() == text


CARELESS = {
    "plan": lambda lives: {life.name: number % 2 for number, life in enumerate(lives)},
    "fuse": lambda program, shapes: [[step.name for step in program.steps]],
    "fold": lambda program: program._replace(steps=program.steps[-1:]),
    "normalise": lambda program: program._replace(steps=program.steps[:1]),
    "shape_of": lambda op, shapes, attrs: shapes[0],
    "emit": lambda name, steps, shapes: f"def {name}(*args):\n    args[-1][...] = 1\n",
}


@pytest.mark.parametrize("part", CARELESS)
def test_the_fuzzer_finds_a_careless_part(part, mine):
    found = fuzz(mine.replaced(part, CARELESS[part]), 60)
    assert found.failure is not None
    assert "goes wrong" in repr(found)


def test_the_certificate_says_what_was_built_and_what_failed(mine, tmp_path):
    answered(tmp_path, "plan", TASK["plan"].solution)
    own = compiler(tmp_path)
    _, weights = relay.testing.digits.get_workload()
    images, _ = relay.testing.digits.images(5)
    compiled = own.build(TEXT, weights, IMAGE)
    proof = validate(compiled, [image[None] for image in images], TEXT, own)
    good = certificate(own, compiled, proof, fuzz(own, 10))
    assert good.is_right
    assert "1 of 9 parts are yours" in repr(good)
    page = good.save(tmp_path / "certificate.html").read_text(encoding="utf-8")
    assert "It passed every test." in page
    assert "def kernel_0(" in page
    assert "<script" not in page
    bad = certificate(own, compiled, proof, fuzz(own.replaced("plan", CARELESS["plan"]), 60))
    assert not bad.is_right
    assert "It did not pass every test." in bad.save(tmp_path / "bad.html").read_text(encoding="utf-8")


def test_an_unknown_operator_and_an_unknown_part_are_said(mine):
    program = Program(("data",), [Step("a", "sigmoid", ("data",), {})], {})
    with pytest.raises(passlab.errors.PasslabError, match="no loops for this operator"):
        mine.lower(program, {"data": (2, 3)}, "unknown")
    with pytest.raises(AttributeError, match="it has read, shape_of"):
        mine.optimise  # noqa: B018
    assert evaluate(program, {"data": np.zeros((2, 3), "float32")}).tolist() == [[0.5] * 3] * 2


@pytest.mark.parametrize(("label", "number"), [("03", 5), ("15", 4)])
def test_an_answer_without_an_end_does_not_fill_the_memory(label, number):
    """A shape or a plan that is an endless iterator."""
    tasks_of(label)
    verdict = TASKS[label, number].make(Names({})).check(lambda *arguments: itertools.count(), tries=Tries())
    assert verdict.passed is False
