"""Reading a `.pt2` file runs nothing in it: what torch would unpickle, evaluate, import or call is refused by name."""

from __future__ import annotations

import io
import json
import pickle
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from passlab import limits, relay
from passlab.errors import FileAccessError, LimitError, MissingPackageError, ModelError, PasslabError
from passlab.frontend.pytorch.archive import safe_archive
from tests.frontend.pytorch.edits import edited

MODEL, WEIGHTS, CONSTANTS = (
    "models/model.json",
    "data/weights/model_weights_config.json",
    "data/constants/model_constants_config.json",
)
LEAF = {"type": None, "context": None, "children_spec": []}


class Opens:
    """An object whose pickle writes a file when it is read."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (str(self.marker), "w")


def size(text: str) -> dict[str, Any]:
    return {"as_expr": {"expr_str": text, "hint": {"as_int": 2}}}


def tensor(*sizes: Any) -> dict[str, Any]:
    dims = [{"as_int": one} if isinstance(one, int) else one for one in sizes]
    return {"dtype": 7, "sizes": dims, "strides": [{"as_int": 1}] * len(dims), "storage_offset": {"as_int": 0}}


def node(target: str) -> dict[str, Any]:
    inputs = [{"name": "self", "arg": {"as_tensor": {"name": "x"}}, "kind": 1}]
    return {"target": target, "inputs": inputs, "outputs": [{"as_tensor": {"name": "y"}}], "metadata": {}}


def files(marker: Path) -> dict[str, Any]:
    """The members of an archive of one node and one weight, JSON as data; its sample inputs would write `marker`."""
    spec = json.dumps([1, {"type": "builtins.tuple", "context": "null", "children_spec": [LEAF]}])
    graph = {
        "nodes": [node("torch.ops.aten.relu.default")],
        "tensor_values": {"x": tensor(size("Symbol('s0', positive=True, integer=True)"))},
    }
    module = {"graph": graph, "module_call_graph": [{"fqn": "", "signature": {"in_spec": spec, "out_spec": spec}}]}
    entry = {"path_name": "weight_0", "is_param": True, "use_pickle": False, "tensor_meta": tensor(2)}
    return {
        "archive_format": b"pt2",
        MODEL: {"graph_module": module, "guards_code": ["print(1)"]},
        WEIGHTS: {"config": {"w": entry}},
        "data/weights/weight_0": bytes(8),
        CONSTANTS: {"config": {}},
        "data/sample_inputs/model.pt": pickle.dumps(Opens(marker)),
    }


def write(path: Path, members: dict[str, Any]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(f"net/{name}", data if isinstance(data, bytes) else json.dumps(data))
    return path


def graph(members: dict[str, Any]) -> Any:
    return members[MODEL]["graph_module"]["graph"]


def with_size(text: str) -> Callable[[dict[str, Any], Path], None]:
    return lambda members, _: graph(members)["tensor_values"].update(x=tensor(size(text)))


def with_target(target: str) -> Callable[[dict[str, Any], Path], None]:
    return lambda members, _: graph(members)["nodes"].append(node(target))


def with_payload(config: str, member: str, **changes: Any) -> Callable[[dict[str, Any], Path], None]:
    def change(members: dict[str, Any], marker: Path) -> None:
        entry = {"path_name": member, "is_param": False, "use_pickle": False, "tensor_meta": tensor(2), **changes}
        members[config]["config"]["bad"] = entry
        members[config.rpartition("/")[0] + f"/{member}"] = pickle.dumps(Opens(marker))

    return change


def with_structure(spec: Any) -> Callable[[dict[str, Any], Path], None]:
    def change(members: dict[str, Any], _: Path) -> None:
        signature = members[MODEL]["graph_module"]["module_call_graph"][0]["signature"]
        signature["in_spec"] = spec if isinstance(spec, str) else json.dumps([1, spec])

    return change


RUN = "__import__('os').system('touch {marker}')"
ENUM = {"__enum__": True, "fqn": "antigravity:geohash", "name": "A"}
HOSTILE: dict[str, tuple[Callable[[dict[str, Any], Path], None], str]] = {
    "a weight that is a pickle": (with_payload(WEIGHTS, "weight_1", use_pickle=True), "use_pickle"),
    "a constant that is a pickle": (with_payload(CONSTANTS, "tensor_0", use_pickle=True), "use_pickle"),
    "a weight that may be a pickle": (with_payload(WEIGHTS, "weight_1", use_pickle="no"), "use_pickle"),
    "an object of a Python class": (with_payload(CONSTANTS, "opaque_obj_0"), "opaque_obj_0"),
    "an object of a TorchScript class": (with_payload(CONSTANTS, "custom_obj_0"), "custom_obj_0"),
    "a size that calls": (with_size(RUN), "symbolic size"),
    "a size that hides a call in a text": (with_size(f'Max(1, "{RUN}")'), "has a text inside"),
    "a size that hides a call in a name": (with_size(f'Symbol("{RUN}")'), "has a text inside"),
    "a size with an attribute": (with_size("s0.__class__.__mro__"), "more than arithmetic"),
    "a size without end": (with_size("9**9**9**9"), "too large powers"),
    "a size that prints a function": (with_size("lambdify(s0, s0)"), "unknown function"),
    "a node that calls the system": (with_target("torch.os.system"), "not an operator"),
    "a node that loads a pickle": (with_target("torch.load"), "not an operator"),
    "a node that loads a library": (with_target("torch.ops.load_library"), "not an operator"),
    "a node that opens a file": (with_target("torch.ops.aten.from_file.default"), "not an operator"),
    "a node that calls a method": (with_target("_operator.methodcaller"), "not an operator"),
    "a node that gets an attribute": (with_target("_operator.__class__"), "not an operator"),
    "arguments with an enumeration": (with_structure({"type": "x", "context": json.dumps(ENUM), "children_spec": []}), "module to import"),
    "arguments with a factory": (with_structure({"type": "collections.defaultdict", "context": {}, "children_spec": []}), "module to import"),
    "arguments of no structure": (with_structure("[1, "), "unknown structure"),
    "a shape of no bytes": (with_payload(WEIGHTS, "weight_1", tensor_meta={"sizes": [{"as_int": -1}]}), "the shape"),
    "no program": (lambda members, _: members.pop(MODEL), "not an exported program"),
    "no JSON": (lambda members, _: members.update({MODEL: b"\xff{"}), "not an exported program"),
    "too deep JSON": (lambda members, _: members.update({MODEL: b"[" * 200_000}), "not an exported program"),
    "no bytes of a weight": (lambda members, _: members.pop("data/weights/weight_0"), "lacks the bytes"),
}  # fmt: skip


@pytest.mark.parametrize("what", HOSTILE)
def test_what_would_be_run_is_refused_by_name(what: str, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    members = files(marker)
    change, named = HOSTILE[what]
    change(members, marker)
    text = json.dumps(members[MODEL]).replace("{marker}", str(marker)) if isinstance(members.get(MODEL), dict) else None
    if text is not None:
        members[MODEL] = json.loads(text)
    with pytest.raises(ModelError, match=named):
        relay.frontend.from_pytorch(write(tmp_path / "net.pt2", members))
    assert not marker.exists()


def test_a_program_of_tensors_is_kept_without_its_samples_and_guards(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    archive = safe_archive(write(tmp_path / "net.pt2", files(marker)))
    with zipfile.ZipFile(io.BytesIO(archive.data)) as copy:
        assert copy.read("net/data/sample_inputs/model.pt") == b""
        assert copy.read("net/data/weights/weight_0") == bytes(8)
        assert json.loads(copy.read(f"net/{MODEL}"))["guards_code"] == []
    assert not archive.pickles
    assert not marker.exists()


@pytest.mark.parametrize(
    "text",
    [
        "s77",
        "2*s0 + 1",
        "Symbol('u3', integer=True)",
        "FloorDiv(s0 - 3, 2) + 1",
        "Max(1, s0//2)",
        "Pow(Symbol('s27', positive=True, integer=True), Integer(2))",
        "Add(Integer(1), Mul(Integer(-2), Symbol('s0', positive=True, integer=True)))",
        "s0**2 - 4*s1",
        "Eq(s0, 4)",
    ],
)
def test_arithmetic_on_sizes_is_kept(text: str, tmp_path: Path) -> None:
    members = files(tmp_path / "marker")
    with_size(text)(members, tmp_path)
    safe_archive(write(tmp_path / "net.pt2", members))


def test_an_archive_that_unpacks_to_more_than_the_limit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "net.pt2"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MODEL, bytes(10**6))
    with limits.override(model_bytes=10**5), pytest.raises(LimitError, match="model_bytes"):
        safe_archive(path)


def test_a_weight_of_more_elements_than_fit_is_refused(tmp_path: Path) -> None:
    members = files(tmp_path / "marker")
    with_payload(WEIGHTS, "weight_1", tensor_meta=tensor(2**20, 2**20))(members, tmp_path / "marker")
    with pytest.raises(LimitError, match="tensor_bytes"):
        safe_archive(write(tmp_path / "net.pt2", members))


@pytest.mark.parametrize("name", ["missing.pt2", "missing.json", ".", "folder.json"])
def test_a_path_without_a_file_is_told(name: str, tmp_path: Path) -> None:
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(FileAccessError, match="cannot be read"):
        relay.frontend.from_pytorch(tmp_path / name)


def test_every_cut_of_an_archive_is_refused(tmp_path: Path) -> None:
    whole = write(tmp_path / "net.pt2", files(tmp_path / "marker")).read_bytes()
    for end in range(0, len(whole), max(1, len(whole) // 60)):
        (tmp_path / "cut.pt2").write_bytes(whole[:end])
        with pytest.raises(PasslabError) as caught:
            relay.frontend.from_pytorch(tmp_path / "cut.pt2")
        assert not isinstance(caught.value, MissingPackageError)
    assert not (tmp_path / "marker").exists()


def test_places_of_json_with_other_values_end_in_errors_of_passlab(tmp_path: Path) -> None:
    marker, faults = tmp_path / "written", {}
    for number in range(600):
        rng, members = random.Random(number), files(tmp_path / "written")
        name = rng.choice((MODEL, WEIGHTS, CONSTANTS))
        members[name] = edited(members[name], rng).encode()
        try:
            safe_archive(write(tmp_path / "net.pt2", members))
        except PasslabError:
            continue
        except Exception as error:  # noqa: BLE001 - this is what is looked for
            faults[number] = repr(error)
    assert faults == {}
    assert not marker.exists()
