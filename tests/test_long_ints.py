"""Ints of thousands of digits, which Python refuses to write out: as coordinates, counts, bounds, shapes and values
they raise what any other out of range raises, with a message that gives their length."""

import numpy as np
import pytest

from tensorbuf import (
    ConversionError,
    Converter,
    NdArray,
    RankError,
    Shape,
    ShapedArray,
    ShapeError,
    TensorBuffer,
    convert,
    databuffers,
    from_memory,
    frombuffer,
    ndarrays,
)
from tensorbuf import index as ix

LONG = 10**5000
BITS = f"an int of {LONG.bit_length()} bits"
RAW = bytes(4)


class Index:
    """An int in disguise."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


matrix = NdArray(np.zeros((2, 3)))
vector = NdArray([1, 2, 3])
sparse = ndarrays.sparse_of([[0, 1]], [2.0], (2, 3))
buffer = databuffers.of([1, 2, 3])
shaped = ShapedArray([[1, 2], [3, 4]])
fixed = TensorBuffer.create_fixed_size((3,), "int8")
dynamic = TensorBuffer.create_dynamic("int8")

OUTSIDE = {
    "get": lambda n: matrix.get(n),
    "get_double": lambda n: matrix.get_double(0, n),
    "set_double": lambda n: matrix.set_double(1.0, 0, n),
    "set": lambda n: matrix.set([1.0, 2.0, 3.0], n),
    "[]": lambda n: matrix[0, n],
    "[] =": lambda n: vector.__setitem__(n, 1),
    "sparse get_object": lambda n: sparse.get_object(0, n),
    "sparse []": lambda n: sparse[n],
    "at": lambda n: vector.slice(ix.at(n)),
    "at, kept": lambda n: vector.slice(ix.at(n, keep_dim=True)),
    "slice": lambda n: vector.slice(ix.slice(0, n)),
    "slice_from": lambda n: vector.slice(ix.slice_from(n)),
    "hyperslab": lambda n: vector.slice(ix.hyperslab(n, 1, 1, 1)),
    "Shape.get": lambda n: Shape.of(1).get(n),
    "Shape.take": lambda n: Shape.of(1).take(n),
    "TensorBuffer []": lambda n: fixed[n],
    "TensorBuffer [] =": lambda n: fixed.__setitem__(n, 1),
    "get_float_value": lambda n: fixed.get_float_value(n),
    "DataBuffer get_long": lambda n: buffer.get_long(n),
    "DataBuffer set_object": lambda n: buffer.set_object(1, n),
    "DataBuffer offset": lambda n: buffer.offset(n),
    "DataBuffer read": lambda n: buffer.read(np.zeros(3, np.int64), n),
    "slide": lambda n: buffer.window(1).slide(n),
    "slide_to": lambda n: buffer.window(1).slide_to(n),
    "ShapedArray []": lambda n: shaped[n],
    "ShapedArray [,]": lambda n: shaped[0, n],
    "ShapedArray [:]": lambda n: shaped[:n],
    "swap_at": lambda n: shaped.swap_at(0, n),
}

SHAPES = {
    "create_fixed_size": lambda n: TensorBuffer.create_fixed_size((2, n), "int8"),
    "load_array": lambda n: dynamic.load_array([1], (n,)),
    "load_buffer": lambda n: dynamic.load_buffer(RAW, n),
    "of_floats": lambda n: ndarrays.of_floats((n,)),
    "of_objects": lambda n: ndarrays.of_objects(str, n),
    "with_shape": lambda n: vector.with_shape((n,)),
    "from_memory": lambda n: from_memory(RAW, (n,), "int8"),
    "row_stride": lambda n: from_memory(RAW, (2, 2), "int8", row_stride=n),
    "of_ints": lambda n: databuffers.of_ints(n),
    "of_bits": lambda n: databuffers.of_bits(n),
    "narrow": lambda n: buffer.narrow(n),
    "DataBuffer slice": lambda n: buffer.slice(0, n),
    "window": lambda n: buffer.window(n),
    "length": lambda n: buffer.read(np.zeros(3, np.int64), 0, n),
    "ShapedArray": lambda n: ShapedArray(repeating=0, shape=[n]),
    "axis": lambda n: Converter.quantize([1.0, 2.0], axis=n)(np.zeros((2, 2))),
}

VALUES = {
    "count": lambda n: frombuffer(RAW, dtype="int8", count=abs(n)),
    "offset": lambda n: frombuffer(RAW, dtype="int8", offset=n),
    "elements": lambda n: matrix.elements(n),
    "hyperslab": lambda n: ix.hyperslab(0, -abs(n), 1, 1),
    "prefix": lambda n: shaped.prefix(-abs(n)),
    "overflow": lambda n: convert([1], "int8", overflow=n),
    "rounding": lambda n: convert([1], "int8", rounding=n),
    "zero_point": lambda n: Converter.quantize(1.0, n),
    "stream": lambda n: vector.__dlpack__(stream=n),
}


def refused(call, number, error):
    with pytest.raises(error) as caught:
        call(number)
    assert type(caught.value) is error
    assert BITS in str(caught.value)


@pytest.mark.parametrize("number", [LONG, -LONG], ids=["positive", "negative"])
@pytest.mark.parametrize("error", [IndexError, ShapeError, ValueError], ids=lambda error: error.__name__)
def test_out_of_range(error, number):
    for call in {IndexError: OUTSIDE, ShapeError: SHAPES, ValueError: VALUES}[error].values():
        refused(call, number, error)


@pytest.mark.parametrize("name", ["at", "Shape.get", "TensorBuffer []", "DataBuffer get_long", "swap_at"])
def test_what_has_an_index(name):
    refused(OUTSIDE[name], Index(LONG), IndexError)
    refused(SHAPES["of_floats"], Index(LONG), ShapeError)


def test_index_lists():
    for key in ([LONG], (slice(None), [0, -LONG])):
        with pytest.raises(IndexError, match="index list"):
            matrix[key]
    with pytest.raises(IndexError):
        vector.slice(ix.seq(0, LONG))


def test_other_errors():
    refused(lambda n: Shape.of(-n), LONG, ShapeError)
    refused(lambda n: convert([0], n), LONG, TypeError)
    refused(lambda n: Converter("int8", layout=n), LONG, TypeError)
    refused(lambda n: convert([n], "int8", overflow="raise"), LONG, ConversionError)
    refused(lambda n: ndarrays.of_objects(str, 1).set_object(n, 0), LONG, TypeError)
    refused(lambda n: vector.__dlpack__(dl_device=(1, n)), LONG, BufferError)
    with pytest.raises(RankError):
        vector.get(LONG, LONG)
    with pytest.raises(ValueError, match="step 1"):
        shaped[0:1:LONG]
    with pytest.raises(IndexError, match="no subscript"):
        ShapedArray(5)[LONG]
    for key in ([LONG], (slice(0, LONG), 0)):
        with pytest.raises(TypeError):
            shaped[key]
    # Where an array belongs, a number is of the wrong kind.
    for call in (buffer.write, buffer.read, lambda n: convert([0], "int8", out=n)):
        refused(call, LONG, TypeError)
    for call in (lambda n: NdArray(n, "int8"), lambda n: ndarrays.scalar_of(n), lambda n: vector.set([1, n, 2])):
        refused(call, LONG, ConversionError)


def test_what_takes_them():
    # Selectors and shapes know no array; strides and clipped bounds are right at any size.
    assert repr(ix.at(LONG)) == f"at({BITS})"
    assert repr(NdArray([LONG], dtype=object)) == f"NdArray(shape=(1,), dtype=object, values=[{BITS}])"
    assert repr(Shape.of(LONG, 2)) == f"({BITS}, 2)"
    assert Shape.of(LONG).get(0) == LONG
    assert vector.slice(ix.step(LONG)).tolist() == [1]
    assert vector[:LONG].tolist() == [1, 2, 3]
    assert shaped.prefix(LONG) == shaped
    assert repr(Converter("int8", nan=LONG)) == f"Converter(int8, overflow saturate, rounding truncate, nan {BITS})"
    assert convert([1.0, float("nan")], "int8", nan=LONG).tolist() == [1, 127]
