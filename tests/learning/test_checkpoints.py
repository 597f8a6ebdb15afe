"""Arrays on disk: whole or not at all, the last and the best."""

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from fedroam.errors import StorageError
from fedroam.learning.checkpoints import Checkpoints, load_arrays, save_arrays


@given(
    content=st.dictionaries(
        st.text("abc.", min_size=1),
        st.sampled_from([np.float32, np.float64, np.int64, np.uint8]).flatmap(
            lambda kind: arrays(kind, array_shapes(max_dims=3, max_side=4))
        ),
    )
)
def test_what_is_saved_is_loaded(tmp_path_factory, content):
    """Names, types, shapes and bits."""
    path = tmp_path_factory.mktemp("saved") / "a.safetensors"
    save_arrays(path, content, {"note": "ä"})
    loaded, notes = load_arrays(path)

    assert notes == {"note": "ä"}
    assert loaded.keys() == content.keys()
    for name, array in content.items():
        assert loaded[name].dtype == array.dtype
        assert loaded[name].shape == array.shape
        assert loaded[name].tobytes() == array.tobytes()


def test_an_array_in_another_order_is_saved_as_it_looks(tmp_path):
    """Transposed and strided arrays are no trap."""
    array = np.arange(12.0).reshape(3, 4).T[::2]
    save_arrays(tmp_path / "a", {"x": array})
    np.testing.assert_array_equal(load_arrays(tmp_path / "a")[0]["x"], array)


@pytest.mark.parametrize("content", [b"", b"not a checkpoint at all"])
def test_a_file_that_is_none_is_named(tmp_path, content):
    """Also one that is missing."""
    (tmp_path / "a").write_bytes(content)
    for name in ("a", "missing"):
        with pytest.raises(StorageError, match=f"cannot read .*{name}"):
            load_arrays(tmp_path / name)


def test_a_place_that_cannot_be_written_to_is_named(tmp_path):
    """And what was there stays."""
    with pytest.raises(StorageError, match="cannot write"):
        save_arrays(tmp_path / "no folder" / "a", {"x": np.ones(1)})


def test_the_last_and_the_best_are_kept(tmp_path):
    """Also by another process that goes on with the folder."""
    checkpoints = Checkpoints(tmp_path / "c")
    assert checkpoints.last() is None
    assert checkpoints.best_accuracy == -np.inf
    for value, accuracy in enumerate([0.3, 0.7, None, 0.5]):
        Checkpoints(tmp_path / "c").save({"x": np.array([value])}, accuracy)

    assert checkpoints.best_accuracy == 0.7
    assert checkpoints.last()["x"] == [3]
    assert load_arrays(tmp_path / "c" / "best.safetensors")[0]["x"] == [1]
    assert sorted(os.listdir(tmp_path / "c")) == ["best.safetensors", "last.safetensors"]
