"""Weights in files of their own: read from beside the model, and from nowhere else."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import pytest

from passlab.errors import ModelError
from passlab.frontend import from_onnx
from tests.frontend.onnx_text import model

WEIGHT = np.arange(6, dtype="float32").reshape(2, 3)


def saved(folder: Path, location: str = "weights.bin", **entries: str) -> Path:
    """Write a model whose weight lies in `location`, and the file that an honest location names."""
    folder.mkdir(exist_ok=True)
    proto = model("g (float[2, 3] x) => (float[2, 3] y) { y = Add(x, w) }", w=WEIGHT)
    tensor = proto.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in {"location": location, **entries}.items():
        entry = tensor.external_data.add()
        entry.key, entry.value = key, value
    (folder / "net.onnx").write_bytes(proto.SerializeToString())
    if not (folder / "weights.bin").exists():
        (folder / "weights.bin").write_bytes(b"head" + WEIGHT.tobytes())
    return folder / "net.onnx"


def finding(path: Path) -> str:
    with pytest.raises(ModelError) as caught:
        from_onnx(path)
    return str(caught.value)


def test_weights_are_read_from_beside_the_model(tmp_path):
    mod = from_onnx(saved(tmp_path, offset="4", length="24"))[0]
    assert (mod["main"].body.args[1].data == WEIGHT).all()


def test_weights_are_read_from_a_folder_below(tmp_path):
    path = saved(tmp_path, "parts/w.bin")
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "w.bin").write_bytes(WEIGHT.tobytes())
    assert (from_onnx(path)[0]["main"].body.args[1].data == WEIGHT).all()


def test_what_onnx_saves_is_read(tmp_path):
    proto = model("g (float[2, 3] x) => (float[2, 3] y) { y = Add(x, w) }", w=WEIGHT)
    onnx.save(proto, tmp_path / "net.onnx", save_as_external_data=True, location="net.data", size_threshold=0)
    assert (from_onnx(tmp_path / "net.onnx")[0]["main"].body.args[1].data == WEIGHT).all()


@pytest.mark.parametrize(
    "location",
    ["../secret.bin", "/etc/passwd", "parts/../../secret.bin", "C:\\secret.bin", "..\\secret.bin", "", ".", "a\0b"],
)
def test_a_location_elsewhere_is_refused(location, tmp_path):
    (tmp_path / "secret.bin").write_bytes(WEIGHT.tobytes())
    assert "leaves the directory of the model" in finding(saved(tmp_path / "model", location))


def test_links_are_refused(tmp_path):
    path = saved(tmp_path / "model", "link.bin")
    (tmp_path / "secret.bin").write_bytes(WEIGHT.tobytes())
    link = tmp_path / "model" / "link.bin"
    link.symlink_to(tmp_path / "secret.bin")
    assert "symbolic link" in finding(path)
    link.unlink()
    os.link(tmp_path / "secret.bin", link)
    assert "a second name" in finding(path)


def test_links_on_the_way_are_refused(tmp_path):
    path = saved(tmp_path / "model", "parts/w.bin")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "w.bin").write_bytes(WEIGHT.tobytes())
    (tmp_path / "model" / "parts").symlink_to(tmp_path / "elsewhere")
    assert "symbolic link" in finding(path)


def test_what_is_no_file_is_refused(tmp_path):
    path = saved(tmp_path, "pipe")
    os.mkfifo(tmp_path / "pipe")
    assert "not a plain file" in finding(path)


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ({"offset": "-4"}, "its offset is not a whole number"),
        ({"offset": "1e3"}, "its offset is not a whole number"),
        ({"offset": "4", "length": "20"}, "expected: 24 bytes"),
        ({"offset": "5"}, "weights.bin is too short"),
        ({"offset": "9" * 19}, "weights.bin is too short"),
    ],
)
def test_places_that_are_none_are_told(entries, expected, tmp_path):
    assert expected in finding(saved(tmp_path, **entries))


def test_a_model_without_a_path_has_no_directory(tmp_path):
    data = saved(tmp_path).read_bytes()
    with pytest.raises(ModelError, match="give `from_onnx` the path of the model"):
        from_onnx(data)


@pytest.mark.parametrize(
    "location", ["x" * 5000, "a/" * 3000 + "b", "\ud800".encode("utf-16", "surrogatepass").decode("utf-16", "replace")]
)
def test_names_that_no_file_has_are_refused(tmp_path, location):
    text = finding(saved(tmp_path, location))
    assert "cannot be read" in text
    assert len(text) < 1000


def test_a_folder_is_no_data(tmp_path):
    path = saved(tmp_path, "parts")
    (tmp_path / "parts").mkdir()
    assert "parts is not a plain file" in finding(path)
