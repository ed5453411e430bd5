"""The law of scripts: a pass is written such that a process that knows nothing of its author makes the same pass."""

from __future__ import annotations

import ast
import enum
import functools
import json
import linecache
import socket
import subprocess
import sys
import types
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

import passlab
from passlab import lab, relay, transform
from passlab.ir.expr import Call
from passlab.ir.walk import post_order, rewrite, substitute
from passlab.lab.reducer.python_source import pass_source
from passlab.lab.reducer.script import bisection_script
from passlab.relay.dataflow_pattern import DFPatternCallback, is_op, wildcard
from passlab.transform import function_pass, module_pass
from tests.each import each
from tests.lab.user.ways import FORMS, RULES, WAYS, is_call

NET = """
def @main(%p: Tensor[(2, 3), float32]) {
  subtract(multiply(%p, 2f), tanh(%p))
}
"""


def scaled(func, by):
    return func.with_fields(body=relay.multiply(func.body, relay.const(by, "float32")), ret_type=None)


# ---------------------------------------------------------------- passes of all kinds
def variable_of_a_loop_as_a_default():
    return [function_pass(lambda f, m, c, by=by: scaled(f, by), opt_level=0, name="by") for by in (2.0, 3.0)][1]


def lambdas_on_one_line():
    return [function_pass(lambda f, m, c: scaled(f, 2.0), opt_level=0), function_pass(lambda f, m, c: scaled(f, 4.0), opt_level=0)][1]  # fmt: skip


def functions_that_call_each_other():
    def turned(node, depth):
        return kept(node, depth - 1) if depth else relay.negative(node)

    def kept(node, depth):
        return turned(node, depth - 1) if depth else node

    @function_pass(opt_level=0)
    def both(func, mod, ctx):
        return func.with_fields(body=turned(func.body, 2), ret_type=None)

    return both


def function_that_calls_itself():
    @function_pass(opt_level=0)
    def deep(func, mod, ctx):
        def down(node, left):
            return down(relay.tanh(node), left - 1) if left else node

        return func.with_fields(body=down(func.body, 3), ret_type=None)

    return deep


def class_of_a_factory():
    def base(name):
        class Base(relay.ExprMutator):
            def visit_call(self, call):
                new = super().visit_call(call)
                return relay.negative(new) if is_call(new, name) else new

        return Base

    def fp(base_class, hint):
        class Own(base_class):
            word = hint

        @function_pass(opt_level=1, name=hint)
        def own(func, mod, ctx):
            assert Own.word == hint
            return Own().visit(func)

        return own

    return fp(base("tanh"), "negates")


class Kind(enum.Enum):
    NEGATIVE = "negative"
    ABS = "abs"


@dataclass
class Options:
    kind: Kind
    by: float = 2.0
    seen: list[str] = field(default_factory=list)


def object_of_options():
    options = Options(Kind.ABS, 3.0)

    @function_pass(opt_level=0, name="options")
    def chosen(func, mod, ctx):
        options.seen.append(func)
        return scaled(func.with_fields(body=getattr(relay, options.kind.value)(func.body), ret_type=None), options.by)

    return chosen


def data_of_all_kinds():
    table = {"tanh": [1, (2.5, None)], "by": {"x", "y"}, "infinite": float("inf"), "where": b"\x00"}
    counts, lists = Counter(tanh=2), defaultdict(list, {"tanh": [3.0]})
    array, number, dtype = np.arange(6, dtype="float32").reshape(2, 3), np.float32(0.5), np.dtype("float32")
    constant, op = relay.const(np.ones((2, 3), "float32")), relay.op.get("add")

    @function_pass(opt_level=0, required=["InferType"])
    def uses(func, mod, ctx):
        assert table["tanh"] == [1, (2.5, None)]
        assert table["by"] == {"x", "y"}
        assert table["infinite"] > 1e300
        assert counts["tanh"] == 2
        assert counts["none"] == 0
        assert lists["none"] == []
        assert dtype == "float32"
        by = relay.const(array * number * lists["tanh"][0])
        return func.with_fields(body=Call(op, [relay.multiply(func.body, by), constant]), ret_type=None)

    return uses


def other_globals():
    """A function of another file, whose names mean something else here."""
    space = types.ModuleType("other_file")
    source = "def scaled(func, by):\n    return func\n\ndef apply(func, mod, ctx):\n    return first(scaled(func, 3.0), 2.0)\n"
    linecache.cache["other_file.py"] = (len(source), None, source.splitlines(keepends=True), "other_file.py")
    exec(compile(source, "other_file.py", "exec"), vars(space))
    space.first = scaled
    return function_pass(space.apply, opt_level=0)


class Base:
    def __init__(self, **options):
        self.by = options["by"]


class Derived(Base):
    __slots__ = ("extra",)

    def __init__(self):
        super().__init__(by=2.0)
        self.extra = 1.5

    def __call__(self, func, mod, ctx):
        return scaled(func, self.by * self.extra)


def object_with_slots():
    made = Derived()
    made.by = 8.0
    return function_pass(made, opt_level=0, name="slots")


def keyword_defaults(by=None):
    for factor in (2.0, 5.0):

        def apply(func, mod, ctx, *, by=factor):
            return scaled(func, by)

    return function_pass(apply, opt_level=0)


def cached_function():
    @functools.lru_cache
    def factor(n):
        return float(n)

    return function_pass(
        functools.partial(lambda by, f, m, c: scaled(f, by(3)), factor.__wrapped__), opt_level=0, name="f"
    )


def pattern_in_a_cell():
    pattern = is_op("tanh")(wildcard())

    class Callback(DFPatternCallback):
        def __init__(self):
            super().__init__(rewrite_once=True)
            self.pattern = pattern

        def callback(self, pre, post, node_map):
            return relay.negative(post)

    @function_pass(opt_level=0)
    def replaces(func, mod, ctx):
        from passlab.relay.dataflow_pattern import rewrite as rewrite_patterns

        return rewrite_patterns(Callback(), func)

    return replaces


def pass_that_calls_passes():
    first = function_pass(lambda f, m, c: scaled(f, 2.0), opt_level=0, name="first")
    fold, text = (
        transform.FoldConstant(),
        """a text
with lines
  of several indents""",
    )

    @module_pass(opt_level=0)
    def outer(mod, ctx):
        """Runs others."""
        assert len(text.splitlines()) == 3
        return fold(first(mod))

    return outer


class Nested:
    class Inner:
        @staticmethod
        def by():
            return 3.0

    @classmethod
    def apply(cls, func, mod, ctx):
        return scaled(func, cls.Inner.by())


def class_method():
    return function_pass(Nested.apply, opt_level=0)


@function_pass(opt_level=0, name="with `a` name\nprint('run')")
class Named:
    def __init__(self, by=2.0, *rest):
        self.by, self.rest = by, rest

    def transform_function(self, func, mod, ctx):
        return scaled(func, self.by + len(self.rest))


def lambda_named_as_what_it_calls():
    return function_pass(lambda f, m, c: scaled(f, 5.0), opt_level=0, name="scaled")


def lambda_named_as_what_its_factory_holds():
    def halves(func, _):
        return scaled(func, 0.5)

    return function_pass(lambda f, m, c: halves(f, m), opt_level=0, name="halves")


def method_named_as_what_it_calls():
    class Doubled:
        def scaled(self, func, mod, ctx):
            return scaled(func, 2.0)

    return function_pass(Doubled().scaled, opt_level=0, name="scaled")


def function_whose_name_is_another_one_now():
    def scaled(func, mod, ctx):
        return relay.Function(func.params, relay.tanh(func.body))

    return function_pass(scaled, opt_level=0)


KINDS = [
    lambda_named_as_what_it_calls,
    lambda_named_as_what_its_factory_holds,
    method_named_as_what_it_calls,
    function_whose_name_is_another_one_now,
    variable_of_a_loop_as_a_default,
    lambdas_on_one_line,
    functions_that_call_each_other,
    function_that_calls_itself,
    class_of_a_factory,
    object_of_options,
    data_of_all_kinds,
    other_globals,
    object_with_slots,
    keyword_defaults,
    cached_function,
    pattern_in_a_cell,
    pass_that_calls_passes,
    class_method,
    functools.partial(Named, 3.0, 1, 2),
]
PASSES = {getattr(kind, "__name__", "named"): kind for kind in KINDS}
PASSES |= {
    f"{form}, {way}": functools.partial(FORMS[form], WAYS[way], RULES["wrong"]) for form in FORMS for way in WAYS
}


def made_again(pass_):
    source = pass_source(pass_, pass_.as_text())
    assert not source.missing
    assert "tests.lab" not in source.definition
    ast.parse(source.definition)
    space = {}
    exec(source.definition + f"\nfrom passlab import transform\nmade_here = {source.expression}", space)
    return space["made_here"]


@pytest.mark.rotating
@each("kind", PASSES)
def test_the_source_of_a_pass_makes_the_same_pass(kind):
    pass_ = PASSES[kind]()
    again = made_again(pass_)
    assert (again.info.name, again.info.opt_level, again.info.required) == (
        pass_.info.name,
        pass_.info.opt_level,
        pass_.info.required,
    )
    net = transform.InferType()(passlab.parse(NET))
    changed = pass_(net)
    assert not passlab.structural_equal(changed, net)
    assert passlab.structural_equal(again(net), changed)


def test_scripts_run_in_another_process_and_another_folder(tmp_path):
    net = passlab.parse(NET)
    texts = []
    for form, make in FORMS.items():
        script = bisection_script(lab.bisect(net, ["InferType", make(WAYS["construction"], RULES["wrong"])]), net)
        texts.append(f"exec(compile({script!r}, {form!r}, 'exec'), {{'__name__': {form!r}}})\n")
    texts.append(
        "import sys\nassert not any(name.partition('.')[0] == 'tests' for name in sys.modules)\nprint('all ran')"
    )
    path = tmp_path / "all.py"
    path.write_text("".join(texts))
    root = str(Path(passlab.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, path], check=False, cwd=tmp_path, env={"PYTHONPATH": root}, capture_output=True, text=True
    )
    assert done.stdout.endswith("all ran\n"), done.stderr


# Variables of one name, which text would tell apart.
NAMESAKES = {
    "a parameter inside": "let %y = multiply(%x, 2f); let %f = fn (%z: float32) -> float32 { add(%z, 1f) }; %f(%y)",
    "two lets": "let %y = multiply(%x, 2f); let %z = subtract(%y, 1f); multiply(%z, %y)",
    "both branches": "if (less(%x, 9f)) { let %y = tanh(%x); add(%y, 1f) } else { let %z = exp(%x); add(%z, 1f) }",
}


def with_one_name(func, mod, ctx):
    renamed = {
        node: relay.Var("v", node.type_annotation)
        for node in post_order(func)
        if isinstance(node, relay.Var) and node not in func.params
    }
    return relay.Function(func.params, substitute(func.body, renamed), func.ret_type)


@function_pass(opt_level=0)
def doubles_a_namesake(func, mod, ctx):
    names = Counter(node.name_hint for node in post_order(func) if isinstance(node, relay.Var))
    body = relay.multiply(func.body, relay.const(2.0)) if max(names.values()) > 1 else func.body
    return relay.Function(func.params, body, func.ret_type)


@pytest.mark.parametrize("name", NAMESAKES)
def test_a_script_keeps_the_names_that_a_fault_needs(name, tmp_path):
    main = passlab.parse(f"def @main(%x: float32) -> float32 {{ {NAMESAKES[name]} }}")["main"]
    net = transform.InferType()(passlab.IRModule.from_expr(with_one_name(main, None, None)))
    culprit = lab.culprit(net, [doubles_a_namesake])
    for form in ("script", "notebook"):
        text = culprit.script()
        if form == "notebook":
            cells = json.loads(culprit.notebook(tmp_path / "fault.ipynb").read_text())["cells"]
            code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
            text = "\n".join(line for line in "\n".join(code).splitlines() if not line.startswith("%"))
        exec(text, {"__name__": form})
    with pytest.raises(AssertionError, match="no pass breaks the program any more"):
        exec(culprit.script().replace("> 1 else", "> 9 else"), {"__name__": "mended"})


def test_passes_of_cells(tmp_path):
    """What a notebook defines has its source in the cell, under the name of no file."""
    cell = "def rule(node):\n    return relay.negative(node)\n\nclass Turns:\n    by = 2\n    def __call__(self, func, mod, ctx):\n        return func.with_fields(body=rule(func.body), ret_type=None)\n\nturns = Turns()\n"
    name = "<ipython-input-1-abc>"
    linecache.cache[name] = (len(cell), None, cell.splitlines(keepends=True), name)
    main = types.ModuleType("__main__")
    vars(main).update(relay=relay)
    exec(compile(cell, name, "exec"), vars(main))
    space = made_again(function_pass(main.turns, opt_level=0, name="turns"))
    net = transform.InferType()(passlab.parse(NET))
    assert " negative(" in space(net).astext()


@pytest.mark.parametrize("held", [lambda: socket.socket(), lambda: eval("lambda: 1"), lambda: (i for i in [1])])
def test_what_cannot_be_written_is_named(held, tmp_path):
    value = held()

    @function_pass(opt_level=0, name="holds")
    def holds(func, mod, ctx):
        assert value
        return rewrite(func, lambda old, new: relay.negative(new) if is_call(new, "tanh") else new, only=(Call,))

    source = pass_source(holds, "holds")
    assert source.expression == "holds"
    assert source.definition.startswith("# Define the pass `holds` here: passlab cannot write ")
    script = lab.culprit(passlab.parse(NET), ["InferType", holds], executors=[]).script()
    if hasattr(value, "close"):
        value.close()
    assert "this is what `holds` made of the program" in script
    exec(compile(script, "script", "exec"), {"__name__": "script"})
