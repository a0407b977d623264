"""Plans in ``tf.data``. It may be missing: `make test-interop` leaves this file out then."""

import numpy as np
import pages
import pytest
import tensorflow as tf

from tensorbuf import Converter, DataType, NdArray, convert

FRAMES = np.random.default_rng(5).integers(0, 256, (6, 4, 5, 3), "uint8")
NORMALIZE = Converter.normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225], layout="HWC->CHW")


def mapped(frames, plan, dtype, **how):
    return tf.data.Dataset.from_tensor_slices(frames).map(lambda x: tf.numpy_function(plan, [x], dtype), **how)


def test_a_plan_as_a_function_of_the_pipeline():
    dataset = mapped(FRAMES, NORMALIZE, tf.float32, num_parallel_calls=2).batch(6)
    (found,) = dataset.as_numpy_iterator()
    assert np.array_equal(found, [NORMALIZE(frame) for frame in FRAMES])


@pytest.mark.parametrize("dtype", [tf.bool, tf.int8, tf.uint64, tf.float16, tf.bfloat16, tf.complex64])
def test_types(dtype):
    plan = Converter(dtype)
    assert DataType.of(dtype) is DataType.of(plan.dtype)
    (found,) = mapped(FRAMES[:1], plan, dtype)
    assert found.dtype == dtype
    assert np.array_equal(found.numpy(), plan(FRAMES[0]))


def test_tensors_are_arrays():
    assert convert(tf.constant([1.5, 300.0]), "uint8") == NdArray(np.uint8([1, 255]))
    assert NdArray(tf.constant([1.5], tf.bfloat16)).dtype == "bfloat16"


def test_a_wrong_shape_in_the_middle():
    def frames():
        yield from (FRAMES[0], FRAMES[1, ..., :2], FRAMES[2])

    dataset = tf.data.Dataset.from_generator(frames, output_signature=tf.TensorSpec((4, 5, None), tf.uint8))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"ShapeError: axis 2 of shape \(4, 5, 2\) has 2 channels"):
        list(dataset.map(lambda x: tf.numpy_function(NORMALIZE, [x], tf.float32)))


def test_the_examples_of_the_page():
    pages.run(pages.ROOT / "docs" / "engine_tensorflow.md")
