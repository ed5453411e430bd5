"""What Python and the scripts say to each other: declared once, and kept by every view."""

from __future__ import annotations

import json

from passlab.display.pages.scripts import WEB
from passlab.display.protocol.analyses import FactCells
from passlab.display.protocol.programs import ChangedWords
from passlab.display.protocol.recordings import StepRow
from passlab.display.protocol.widgets import DATA, STATES
from tests.display.protocol_shapes import declarations, fields_of, problems
from tests.display.view_examples import EXAMPLES, LIVE, SCRIPTS
from tests.each import each

DATA_OF = {**DATA, **{name: fields_of(state)["data"][0] for name, state in STATES.items()}}
DATA_OF["prospects"] = fields_of(STATES["prospects"])["prospects"][0]  # the data of its view; its widget holds more


def test_the_declarations_for_the_scripts_are_those_of_python(request):
    path = WEB / "protocol.d.ts"
    if request.config.getoption("--bless"):
        path.write_text(declarations(), encoding="utf-8")
    assert path.read_text(encoding="utf-8") == declarations(), "run `make bless`"


def test_every_script_has_its_shape():
    assert sorted({*STATES, *DATA} - {"live"}) == SCRIPTS


@each("name", LIVE)
def test_the_data_of_a_view_has_the_declared_shape(name):
    view = EXAMPLES[name]()
    data = json.loads(json.dumps(view.data()))
    assert problems(data, DATA_OF[view.script])[:10] == []


def test_the_check_knows_its_cases():
    assert problems({"kinds": 1}, dict[str, str]) == ["data.kinds: 1 is no str"]
    assert problems([[1], []], ChangedWords) == []
    assert problems([[1], [], "x"], ChangedWords) == ["data.retyped: 'x' is no int"]
    assert problems([[1]], ChangedWords) == ["data: [[1]] is no array of 3"]
    assert problems(["", "", "", "", "", True, "", "", 0], FactCells) == ["data.fraction: True is no float"]
    assert problems(None, int | None) == []
    assert problems([2, "a"], list[int | None]) == ["data[1]: 'a' is no int"]
    assert "data.colour is not declared in StepRow" in problems({"colour": 1}, StepRow)
    assert "data.id is missing" in problems({}, StepRow)
    assert "data.diff is missing" not in problems({}, StepRow)
