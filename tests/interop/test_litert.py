"""LiteRT's interpreter as the partner: its details, its kernels, and a real model."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from one_operator import OneOperator, tensor
from PIL import Image

from tensorbuf import Converter, TensorBuffer
from tensorbuf.litert import input_converter, output_converter

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
DATA = EXAMPLES / "data"
MODELS = Path(__file__).parent / "models"

SCALES = (0.1, 0.05, 1 / 3, 7.5)
ZERO_POINTS = {"int8": (0, -128, 127, -3), "uint8": (0, 255, 100, 128), "int16": (0,)}


def numbers(scale: float) -> np.ndarray:
    """Ties of that scale and their neighbours, on both sides of the range of every type; and other numbers."""
    scale = np.float32(scale)
    ties = (np.arange(-700, 700, dtype=np.float32) + np.float32(0.5)) * scale
    spread = np.random.default_rng(1).uniform(-40000, 40000, 20000).astype(np.float32) * scale
    near = [np.nextafter(ties, np.float32(side), dtype=np.float32) for side in (-np.inf, np.inf)]
    return np.concatenate([ties, *near, spread, np.float32([0, -0.0, 1e-45, 1e6, -1e6])])


@pytest.mark.parametrize("dtype", ZERO_POINTS)
@pytest.mark.parametrize("scale", SCALES)
def test_one_scale_as_the_reference_kernels(dtype, scale):
    x = numbers(scale)
    every = np.arange(1 << 8 * np.dtype(dtype).itemsize, dtype=f"u{np.dtype(dtype).itemsize}").view(dtype)
    for zero_point in ZERO_POINTS[dtype]:
        quantised = tensor(dtype, x.shape, [scale], [zero_point])
        quantize = OneOperator("QUANTIZE", tensor("float32", x.shape), quantised)
        assert np.array_equal(input_converter(quantize.given)(x), quantize(x))
        dequantize = OneOperator(
            "DEQUANTIZE", tensor(dtype, every.shape, [scale], [zero_point]), tensor("float32", every.shape)
        )
        assert output_converter(dequantize.taken)(every).tobytes() == dequantize(every).tobytes()


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_a_scale_for_each_coordinate_as_the_reference_kernels(dtype, axis):
    shape = [5, 6, 7]
    shape[axis] = len(SCALES)
    x = np.random.default_rng(2).uniform(-60, 60, shape).astype(np.float32)
    zero_points = [0, 0, 0, 0] if dtype == "int16" else [0, 5, 100, 3]
    quantised = tensor(dtype, shape, SCALES, zero_points, axis)
    quantize = OneOperator("QUANTIZE", tensor("float32", shape), quantised)
    assert quantize.given["quantization_parameters"]["quantized_dimension"] == axis
    got = input_converter(quantize.given)(x)
    assert np.array_equal(got, quantize(x))
    if dtype != "int16":  # for which there is no such kernel
        dequantize = OneOperator("DEQUANTIZE", quantised, tensor("float32", shape))
        assert output_converter(dequantize.taken)(got).tobytes() == dequantize(got).tobytes()


@pytest.mark.parametrize("kernels", [OpResolverType.BUILTIN, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_the_optimised_kernels_differ_by_one_at_most(dtype, kernels):
    x = numbers(0.1)
    quantize = OneOperator("QUANTIZE", tensor("float32", x.shape), tensor(dtype, x.shape, [0.1], [0]), kernels=kernels)
    assert np.abs(input_converter(quantize.given)(x).astype(int) - quantize(x)).max() <= 1


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "bool", "int64", "uint32", "uint16", "complex64", "int8"]
)
def test_tensors_that_are_not_quantised(dtype):
    target = "complex128" if dtype == "complex64" else "float64"
    cast = OneOperator("CAST", tensor(dtype, [2, 2]), tensor("int32", [2, 2]))
    buffer = TensorBuffer.for_tensor(cast.taken)
    assert (buffer.shape, buffer.dtype) == ((2, 2), np.dtype(dtype))
    input_converter(cast.taken)(np.array([[0, 1], [1, 0]], target), out=buffer)
    got = cast(buffer.to_numpy())
    assert got.tolist() == [[0, 1], [1, 0]]
    assert output_converter(cast.given)(got).dtype == np.int32


def test_open_dimensions():
    dequantize = OneOperator(
        "DEQUANTIZE",
        tensor("int8", [1, 3], [0.5], [1], signature=[-1, 3]),
        tensor("float32", [1, 3], signature=[-1, 3]),
    )
    assert TensorBuffer.for_tensor(dequantize.taken).shape == (1, 3)
    dequantize.interpreter.resize_tensor_input(dequantize.taken["index"], [4, 3])
    dequantize.interpreter.allocate_tensors()
    assert dequantize.taken["shape_signature"].tolist() == [-1, 3]
    buffer = TensorBuffer.for_tensor(dequantize.taken)
    buffer.load_array(range(12))
    into = TensorBuffer.for_tensor(dequantize.given)
    into.load_array(dequantize(buffer.to_numpy()))
    assert into.to_numpy().tolist() == (np.arange(-1, 11).reshape(4, 3) / 2).tolist()


def outputs_of(name: str, numbers_in: np.ndarray) -> np.ndarray:
    """What a model of tests/interop/models makes of each row of numbers, as numbers again."""
    model = str(MODELS / f"{name}.tflite")
    interpreter = Interpreter(model, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    [taken], [given] = interpreter.get_input_details(), interpreter.get_output_details()
    to_tensor, from_tensor = input_converter(taken), output_converter(given)
    buffer = TensorBuffer.for_tensor(taken)
    rows = []
    for row in numbers_in:
        to_tensor(row, out=buffer)
        interpreter.set_tensor(taken["index"], buffer)
        interpreter.invoke()
        rows.append(from_tensor(interpreter.get_tensor(given["index"])))
    return np.array(rows)


@pytest.mark.parametrize("name", ["int8_int8", "int8_uint8", "int16_int16"])
def test_quantised_models_as_their_own_kernels_quantise(name):
    # The other model is the same network, with a QUANTIZE behind its input and a DEQUANTIZE before its output.
    x = np.random.default_rng(3).uniform(-4, 5, (500, 1, 8)).astype(np.float32)
    assert np.array_equal(outputs_of(name, x), outputs_of(f"{name.partition('_')[0]}_float32", x))


def test_the_face_on_the_photograph():
    interpreter = Interpreter(str(DATA / "face_detection_short_range.tflite"))
    interpreter.allocate_tensors()
    [wanted] = interpreter.get_input_details()
    with Image.open(DATA / "astronaut.png") as photograph:
        pixels = np.asarray(photograph.resize((128, 128)))
    tensor_in = TensorBuffer.for_tensor(wanted)
    Converter.normalize(divide_by=255, mean=0.5, std=0.5)(pixels[np.newaxis], out=tensor_in)
    assert np.array_equal(input_converter(wanted)(tensor_in), tensor_in)
    interpreter.set_tensor(wanted["index"], tensor_in)
    interpreter.invoke()
    logits = {
        details["name"]: output_converter(details)(interpreter.get_tensor(details["index"]))
        for details in interpreter.get_output_details()
    }["classificators"].reshape(-1)
    assert logits.argmax() == 141
    assert round(1 / (1 + np.exp(-float(logits[141]))), 5) == 0.92203


def test_the_example_draws_the_face(tmp_path):
    photograph, out = DATA / "astronaut.png", tmp_path / "face.png"
    done = subprocess.run(
        [sys.executable, EXAMPLES / "find_face.py", photograph, out], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "anchor 141, score 0.92203\n" in done.stdout
    # The face as a person sees it: eyes, nose and mouth in the box, the box around the middle of the upper half.
    left, top, right, bottom = map(float, re.search(r"from \((.+), (.+)\) to \((.+), (.+)\)", done.stdout).groups())
    assert 0.3 < left < 0.4 < 0.5 < right < 0.6
    assert 0.1 < top < 0.2 < 0.3 < bottom < 0.4
    points = {
        name: (float(x), float(y)) for name, x, y in re.findall(r"^(.+) at \((.+), (.+)\)$", done.stdout, re.MULTILINE)
    }
    assert points["right eye"][0] < points["nose"][0] < points["left eye"][0]
    assert points["left eye"][1] < points["nose"][1] < points["mouth"][1] < bottom
    with Image.open(photograph) as before, Image.open(out) as after:
        assert after.size == before.size == (512, 512)
        changed = np.argwhere((np.asarray(before) != np.asarray(after)).any(axis=-1))
        lime = np.argwhere((np.asarray(after) == (0, 255, 0)).all(axis=-1))
    corners = np.array([[top, left], [bottom, right]]) * 512
    assert np.abs([lime.min(0), lime.max(0)] - corners).max() <= 2
    # Nothing is drawn away from the box and the points.
    assert np.abs([changed.min(0), changed.max(0)] - corners).max() <= 12
