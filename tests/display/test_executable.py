"""An executable as a live listing: every instruction is a line, and knows the node that it carries out."""

from __future__ import annotations

import passlab
from passlab import relay
from passlab.display import executable_view
from passlab.display.nodes import node_of
from passlab.ir.expr import Call
from passlab.ir.walk import post_order
from passlab.notebook.widgets import ViewWidget, show

NET = """
def @half(%a: Tensor[(2, 3), float32]) { multiply(%a, 0.5f) }
def @main(%x: Tensor[(2, 3), float32]) { let %y = @half(exp(%x)); @half(tanh(%y)) }"""

BRANCHES = """def @main(%c: bool, %x: Tensor[(2, 3), float32]) {
  let %y = exp(%x);
  let %z = if (%c) { tanh(%y) } else { add(sigmoid(%y), negative(nn.softmax(%x))) };
  (multiply(%z, %y), strided_slice(%z, begin=[0, 1], end=[2, 2]))
}"""


def test_every_instruction_has_its_line_and_its_node():
    program = passlab.parse(NET)
    exe = relay.vm.compile(program)
    widget = show(executable_view(exe))
    assert isinstance(widget, ViewWidget)
    data = widget.data
    lines = [data["lines"][row][0] for row in data["rows"]]
    at = 0
    for function in exe.functions:
        assert lines[at].startswith(f"@{function.name}(")
        for pc, instruction in enumerate(function.instructions):
            at += 1
            number, text = lines[at].split(maxsplit=1)
            assert int(number) == pc
            if "PackedFunc" not in str(instruction) and "VMFunc" not in str(instruction):
                assert text == str(instruction)
        assert lines[at + 1] == "}"
        at += 2
    assert at == len(lines)
    kernels = {
        name: n for line, n in zip(lines, data["nodes"], strict=True) for name in exe.kernel_names if name in line
    }
    assert set(kernels) == set(exe.kernel_names)
    for name, numbers in kernels.items():
        nodes = [node_of(number) for number in numbers]
        assert all(isinstance(node, Call) for node in nodes)
        assert [node.op.name for node in nodes if node.op.name.rpartition(".")[2] not in name] == []
    selected = {node_of(number) for numbers in data["chosen"] for number in numbers}
    assert {node for node in post_order(program["main"]) if isinstance(node, Call)} <= selected


def test_memory_and_constants_select_the_calls_of_the_program_that_they_serve():
    for text in (NET, BRANCHES):
        program = passlab.parse(text)
        exe = relay.vm.compile(program)
        view = executable_view(exe)
        data = view.data()
        chosen = [c for row, c in zip(data["rows"], data["chosen"], strict=True) if data["lines"][row][0][0] == " "]
        served = base = 0
        written = {node for f in program.functions.values() for node in post_order(f)}
        for function in exe.functions:
            for pc, instruction in enumerate(function.instructions):
                if instruction.spec.mnemonic not in ("alloc_storage", "alloc_tensor", "alloc_tensor_reg"):
                    continue
                register, at = instruction.writes()[0], pc
                while function.instructions[at].spec.mnemonic != "invoke_packed":
                    at += 1
                    if register in function.instructions[at].reads():
                        register = (*function.instructions[at].writes(), register)[0]  # the tensor in this storage
                assert register in function.instructions[at].reads()
                assert chosen[base + pc] == chosen[base + at] != []
                served += 1
            base += len(function.instructions)
        assert served >= 6
        astray = [ns for ns in chosen if not {node_of(n) for n in ns} & written]
        assert astray == []  # each line of the listing leads back to the program as it was written


def test_a_listing_that_was_read_from_a_file_selects_its_own_nodes():
    code, library = relay.vm.compile(passlab.parse(NET)).save()
    view = executable_view(relay.vm.Executable.load_exec(code, library))
    data = view.data()
    assert data["links"] == []
    own = {number for numbers in data["nodes"] for number in numbers}
    assert {number for numbers in data["chosen"] for number in numbers} == own


def test_the_head_of_a_large_listing_tells_what_is_left_out():
    exe = relay.vm.compile(passlab.parse(NET))
    with passlab.limits.override(shown_lines=5):
        data = executable_view(exe).data()
    whole = executable_view(exe).data()
    assert data["rows"] == whole["rows"][:5]
    assert data["left_out"] == len(whole["rows"]) - 5
