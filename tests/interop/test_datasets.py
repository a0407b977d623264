"""Plans in ``map`` of Hugging Face's datasets, in this process and with worker processes."""

import datasets
import numpy as np
import pytest
from datasets.fingerprint import Hasher

from tensorbuf import Converter, NdArray, ShapeError

FRAMES = np.random.default_rng(4).integers(0, 256, (6, 4, 5, 3), "uint8")
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
OF_BATCHES = Converter.normalize(MEAN, STD, layout="NHWC->NCHW")
OF_ROWS = Converter.normalize(MEAN, STD, layout="HWC->CHW")


@pytest.fixture(autouse=True, scope="module")
def _quiet():
    datasets.disable_progress_bars()
    yield
    datasets.enable_progress_bars()


@pytest.fixture
def frames():
    features = datasets.Features({"image": datasets.Array3D((4, 5, 3), "uint8"), "label": datasets.Value("int64")})
    dataset = datasets.Dataset.from_dict({"image": FRAMES, "label": range(6)}, features=features)
    # Left to itself, the format makes int64 of every integer. It is that of what `map` gives, too.
    return dataset.with_format("numpy", dtype=np.uint8)


@pytest.mark.parametrize("workers", [None, 2])
def test_batches(frames, workers):
    images = frames.select_columns("image").map(OF_BATCHES, batched=True, batch_size=2, num_proc=workers)
    assert images.features["image"] == datasets.List(datasets.List(datasets.List(datasets.Value("float32"))))
    assert np.array_equal(images.with_format("numpy")[:]["image"], OF_BATCHES(FRAMES))


def test_one_column_of_several(frames):
    def convert(batch):
        return {"image": OF_BATCHES(batch["image"])}

    found = frames.map(convert, batched=True).with_format("numpy")
    assert np.array_equal(found[:]["image"], OF_BATCHES(FRAMES))
    assert found[:]["label"].tolist() == [0, 1, 2, 3, 4, 5]


def test_rows(frames):
    images = frames.select_columns("image").map(OF_ROWS)
    assert np.array_equal(images.with_format("numpy")[:]["image"], OF_BATCHES(FRAMES))
    lists = frames.with_format(None).select_columns("image").map(OF_ROWS)
    assert lists[0]["image"] == OF_ROWS(FRAMES[0].tolist()).tolist()


def test_a_transform(frames):
    image = frames.select_columns("image").with_transform(OF_BATCHES)[2:4]["image"]
    assert image == NdArray(OF_BATCHES(FRAMES[2:4].tolist()))


def test_equal_plans_have_one_fingerprint():
    before = Hasher.hash(OF_BATCHES)
    OF_BATCHES(np.zeros((1, 99, 99, 3), np.uint8))
    assert Hasher.hash(OF_BATCHES) == before == Hasher.hash(Converter.normalize(MEAN, STD, layout="NHWC->NCHW"))
    assert Hasher.hash(OF_ROWS) != before


@pytest.mark.parametrize("workers", [None, 2])
def test_a_wrong_shape_in_the_middle(workers):
    images = datasets.Dataset.from_dict(
        {"image": [*FRAMES[:3].tolist(), FRAMES[3, ..., :2].tolist(), FRAMES[4].tolist()]}
    )
    with pytest.raises(ShapeError, match=r"axis 2 of shape \(4, 5, 2\) has 2 channels"):
        images.with_format("numpy").map(OF_ROWS, num_proc=workers)


def test_a_killed_worker(frames):
    def kill(batch):
        import os

        os._exit(1)

    with pytest.raises(RuntimeError, match="abruptly died"):
        frames.map(kill, num_proc=2)
