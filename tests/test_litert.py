"""What LiteRT's tensors ask for, from dicts as its interpreter gives them; tests/interop has the interpreter itself."""

import pickle

import numpy as np
import plans
import pytest
from patterns import sample

from tensorbuf import DataType, ShapeError, TensorBuffer
from tensorbuf.litert import input_converter, output_converter

QUANTISED = ("int8", "uint8", "int16", "uint16", "int32")


def entry(dtype, scales=(), zero_points=(), axis=0, shape=(1,), pair=None):
    """As the interpreter gives it: the pair speaks of tensors with one scale only."""
    single = (float(np.float32(scales[0])), zero_points[0]) if len(scales) == 1 else (0.0, 0)
    return {
        "name": "x",
        "index": 0,
        "shape": np.array(shape, np.int32),
        "shape_signature": np.array(shape, np.int32),
        "dtype": np.dtype(dtype).type,
        "quantization": single if pair is None else pair,
        "quantization_parameters": {
            "scales": np.array(scales, np.float32),
            "zero_points": np.array(zero_points, np.int32),
            "quantized_dimension": axis,
            "block_size": 0,
        },
        "sparsity_parameters": {},
    }


@pytest.mark.parametrize("dtype", QUANTISED)
def test_one_scale(dtype):
    zero_point = {"int8": -3, "uint8": 100}.get(dtype, 0)
    numbers = np.concatenate([np.float32(np.linspace(-30, 30, 2401)), sample("float32")])
    for scale in np.float32([0.1, 0.25, 1 / 3, 300]):
        details = entry(dtype, [scale], [zero_point])
        got = input_converter(details)(numbers)
        assert got.dtype == dtype
        assert np.array_equal(got, plans.quantize(numbers, scale, zero_point, dtype, rounding="nearest_away"))
        back = output_converter(details)(got)
        assert back.dtype == np.float32
        assert np.array_equal(back, plans.dequantize(got, scale, zero_point))


def test_halves_go_away_from_zero():
    details = entry("int8", [0.5], [1])
    assert input_converter(details)(np.float32([0.25, 0.75, -0.25, -0.75])).tolist() == [2, 3, 0, -1]


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_scale_for_each_coordinate(axis):
    numbers = np.float32(np.linspace(-20, 20, 27)).reshape(3, 3, 3)
    scales, zero_points = np.float32([0.1, 0.25, 1 / 3]), [0, 5, -7]
    details = entry("int8", scales, zero_points, axis)
    got = input_converter(details)(numbers)
    assert np.array_equal(got, plans.quantize(numbers, scales, zero_points, axis=axis, rounding="nearest_away"))
    assert np.array_equal(output_converter(details)(got), plans.dequantize(got, scales, zero_points, axis=axis))
    with pytest.raises(ShapeError, match="3"):
        input_converter(details)(np.zeros((2, 2, 2), np.float32))


def test_a_scale_for_the_only_coordinate_needs_no_axis():
    assert output_converter(entry("int8", [0.5], [1], axis=3))(np.int8([3])).tolist() == [1]


def test_the_older_pair():
    for details in (
        {"dtype": np.uint8, "quantization": (0.5, 10)},
        {"dtype": "uint8", "quantization": (0.5, 10), "quantization_parameters": {}},
        {"dtype": np.uint8, "quantization": (0.5, 10), "quantization_parameters": None},
        entry("uint8", pair=(0.5, 10)),
    ):
        assert input_converter(details)(np.float32([1, -9])).tolist() == [12, 0]
        assert output_converter(details)(np.uint8([12, 0])).tolist() == [1, -5]
    # Where both speak, the parameters do.
    assert output_converter(entry("uint8", [2.0], [1], pair=(0.5, 10)))(np.uint8([3])).tolist() == [4]


@pytest.mark.parametrize(
    "quantisation",
    [
        {},
        {"quantization": (0.0, 0)},
        {"quantization": (0.0, 7)},
        {"quantization": ()},
        {"quantization": None},
        {"quantization_parameters": {"scales": [], "zero_points": [], "quantized_dimension": 0}},
        {"quantization_parameters": {"scales": [0.0], "zero_points": [3]}, "quantization": (0.0, 3)},
        {"quantization_parameters": {"scales": np.zeros(3), "zero_points": np.zeros(3, np.int32)}},
        {"quantization_parameters": {"scales": None}},
    ],
    ids=str,
)
def test_no_scale_means_not_quantised(quantisation):
    details = {"dtype": np.int8, **quantisation}
    assert input_converter(details)(np.float32([1.9, -300])).tolist() == [1, -128]
    got = output_converter(details)(np.int8([1, -128]))
    assert (got.dtype, got.tolist()) == (np.int8, [1, -128])


def test_a_zero_point_left_out_is_0():
    for parameters in ({"scales": [0.5]}, {"scales": [0.5], "zero_points": np.array([], np.int32)}):
        details = {"dtype": np.int8, "quantization_parameters": parameters}
        assert output_converter(details)(np.int8([3])).tolist() == [1.5]


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "bfloat16", "bool", "complex64"])
def test_types_that_are_not_quantised(dtype):
    kind = DataType.of(dtype)
    # Models carry stray scales on such tensors, which no kernel reads.
    for details in ({"dtype": dtype}, {"dtype": kind.numpy_dtype.type, "quantization": (0.5, 1)}):
        x = np.array([0, 1, 2]).astype(kind.numpy_dtype)
        for make in (input_converter, output_converter):
            got = make(details)(x)
            assert got.dtype == kind.numpy_dtype
            assert got.tobytes() == x.tobytes()
    if kind.is_floating:
        assert input_converter({"dtype": dtype})(np.float64([0.1])).tolist() == [float(np.array(0.1).astype(x.dtype))]


def test_wide_integers_keep_their_values():
    x = np.array([2**63 - 1, -(2**63)])
    assert output_converter(entry("int64"))(x).tolist() == x.tolist()


def test_converters_keep_nothing_of_the_details():
    details = entry("int8", [0.5, 0.25], [1, 2])
    converter = input_converter(details)
    details["quantization_parameters"]["scales"][:] = 9
    for plan in (converter, pickle.loads(pickle.dumps(converter))):
        assert plan(np.float32([1, 1])).tolist() == [3, 6]


@pytest.mark.parametrize("make", [input_converter, output_converter, TensorBuffer.for_tensor])
@pytest.mark.parametrize("details", [None, 5, [], [entry("int8")], {}, {"dtype": np.int8}.keys(), "int8"])
def test_what_is_no_entry(make, details):
    with pytest.raises(TypeError, match="get_input_details"):
        make(details)


@pytest.mark.parametrize("make", [input_converter, output_converter, TensorBuffer.for_tensor])
@pytest.mark.parametrize("dtype", [None, np.bytes_, np.object_, "int7"])
def test_types_without_numbers(make, dtype):
    with pytest.raises(TypeError):
        make({"dtype": dtype, "shape": (1,)})


def test_an_axis_left_out_is_the_first():
    for rest in ({}, {"quantized_dimension": None}):
        details = {"dtype": "int8", "quantization_parameters": {"scales": [0.5, 2], "zero_points": [0, 1], **rest}}
        assert output_converter(details)(np.int8([[1, 2, 3], [1, 2, 3]])).tolist() == [[0.5, 1, 1.5], [0, 2, 4]]


@pytest.mark.parametrize(
    "quantisation",
    [
        {"quantization_parameters": [0.5, 0]},
        {"quantization_parameters": np.array([0.5, 0])},
        {"quantization_parameters": {"scales": ["0.5"]}},
        {"quantization_parameters": {"scales": [0.5, 1], "quantized_dimension": 0.0}},
        {"quantization": 0.5},
        {"quantization": (0.5,)},
        {"quantization": np.array([0.5, 1, 2])},
        {"quantization": "ab"},
    ],
    ids=str,
)
def test_quantisations_of_another_kind(quantisation):
    for make in (input_converter, output_converter):
        with pytest.raises(TypeError):
            make({"dtype": "int8", **quantisation})


def test_parameters_without_a_meaning():
    for scales, zero_points in (([np.nan], [0]), ([np.inf], [0]), ([0.5, 0], [0, 0]), ([0.5], [128])):
        with pytest.raises(ValueError, match="scale|zero_point"):
            input_converter(entry("int8", scales, zero_points))
    # A channel that never fires.
    assert output_converter(entry("int8", [0.5, 0], [0, 0]))(np.int8([3, 3])).tolist() == [1.5, 0]


def test_parameters_that_fit_no_tensor():
    for make in (input_converter, output_converter):
        with pytest.raises(ShapeError):
            make(entry("int8", [0.5, 0.5], [0, 0, 0]))
        with pytest.raises(ShapeError):
            make({"dtype": "int8", "quantization_parameters": {"scales": [[0.5, 0.25]], "zero_points": [0]}})


@pytest.mark.parametrize("shape", [(), (0,), (1, 128, 128, 3), [2, 3], np.int32([4, 5])])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "float16", "float32", "int64", "bool"])
def test_a_buffer_for_a_tensor(shape, dtype):
    buffer = TensorBuffer.for_tensor(entry(dtype, shape=shape))
    assert buffer.shape == tuple(shape)
    assert buffer.dtype == np.dtype(dtype)
    assert not buffer.is_dynamic
    assert not buffer.to_numpy().any()


def test_open_dimensions():
    details = {**entry("int8", shape=(4, 3)), "shape_signature": np.int32([-1, 3])}
    assert TensorBuffer.for_tensor(details).shape == (4, 3)
    with pytest.raises(ShapeError, match=r"\(-1, 3\)"):
        TensorBuffer.for_tensor({**details, "shape": np.int32([-1, 3])})


def test_a_buffer_of_a_subclass():
    class Mine(TensorBuffer):
        pass

    assert type(Mine.for_tensor(entry("int8"))) is Mine
