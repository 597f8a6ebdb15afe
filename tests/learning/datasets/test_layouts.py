"""Decoders of the containers that data sets come in."""

import gzip
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from PIL import Image

from fedroam.errors import StorageError
from fedroam.learning.datasets.layouts import CifarBinary, CifarPictures, find, read_idx
from learning.tiny import idx


@given(array=arrays(np.uint8, array_shapes(max_dims=4, max_side=5)), zipped=st.booleans())
def test_an_idx_file_is_read_as_it_was_written(tmp_path_factory, array, zipped):
    """Any number of axes, with and without gzip."""
    path = tmp_path_factory.mktemp("idx") / ("a.gz" if zipped else "a")
    path.write_bytes(gzip.compress(idx(array)) if zipped else idx(array))
    np.testing.assert_array_equal(read_idx(path), array)


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "not an IDX file"), (b"\0\0\x0d\x01", "not an IDX"), (idx(np.ones(9)[:8]), "cut")],
)
def test_a_file_that_is_no_idx_file_is_named(tmp_path, content, message):
    """Doubles, emptiness and a length that does not fit."""
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(StorageError, match=message):
        read_idx(tmp_path / "file")


def test_pictures_and_records_of_cifar_decode_to_the_same_arrays(tmp_path):
    """Two containers of one data set, written from one random array."""
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (6, 4, 3, 32, 32), np.uint8)
    labels = rng.integers(0, 10, (6, 4), np.uint8)
    names = [*(f"data_batch_{k}" for k in range(1, 6)), "test_batch"]
    for name, x, y in zip(names, pixels, labels, strict=True):
        records = np.concatenate([y[:, None], x.reshape(4, -1)], axis=1)
        (tmp_path / f"{name}.bin").write_bytes(records.tobytes())
        rows = x.transpose(0, 2, 3, 1).reshape(4, 1024, 3)
        Image.fromarray(rows).save(tmp_path / f"{name}.png")
    (tmp_path / "train_lables.json").write_text(json.dumps(labels[:5].reshape(-1).tolist()))
    (tmp_path / "test_lables.json").write_text(json.dumps(labels[5].tolist()))
    expected = (pixels[:5].reshape(20, 3, 32, 32), labels[:5].reshape(20), pixels[5], labels[5])

    for layout in (CifarBinary(), CifarPictures()):
        decoded = layout.decode(find(layout, [tmp_path]))
        for ours, theirs in zip(decoded, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_a_layout_with_a_file_missing_is_not_found(tmp_path):
    """Half a data set is none."""
    (tmp_path / "data_batch_1.bin").write_bytes(b"")
    assert find(CifarBinary(), [tmp_path]) is None
