"""Element types, and everything that names one."""

import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
from oracle import ELEMENTS

from tensorbuf import DataType
from tensorbuf.dtypes import CODES, native_dtype, numeric_dtype, read_dtype

NUMERIC = [kind for kind in DataType if kind is not DataType.STRING]


def foreign(module, class_name, /, **members):
    """An object whose class says that it comes from another package."""
    return type(class_name, (), {"__module__": module, **members})()


def test_the_eighteen_types():
    assert [kind.value for kind in NUMERIC] == [
        "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "bfloat16",
        "float32", "float64", "complex64", "complex128", "float8_e4m3fn", "float8_e5m2",
    ]  # fmt: skip
    assert len(DataType) == 18
    for kind in NUMERIC:
        element = ELEMENTS[kind.value]
        assert kind.byte_size * 8 == element.bits
        assert (kind.is_integer, kind.is_floating, kind.is_complex) == tuple(
            element.kind == word for word in ("integer", "float", "complex")
        )


@pytest.mark.parametrize(
    ("kind", "least", "most"),
    [
        ("bool", False, True), ("int8", -128, 127), ("uint64", 0, 2**64 - 1), ("int64", -(2**63), 2**63 - 1),
        ("float16", -65504.0, 65504.0), ("bfloat16", -(2.0**128) + 2.0**120, 2.0**128 - 2.0**120),
        ("float32", -(2.0**128) + 2.0**104, 2.0**128 - 2.0**104), ("float8_e4m3fn", -448.0, 448.0),
        ("float8_e5m2", -57344.0, 57344.0), ("complex64", -(2.0**128) + 2.0**104, 2.0**128 - 2.0**104),
    ],
)  # fmt: skip
def test_limits(kind, least, most):
    assert (DataType(kind).min, DataType(kind).max) == (least, most)


def test_string():
    string = DataType.STRING
    assert string.numpy_dtype.hasobject
    assert [string.is_integer, string.is_floating, string.is_complex] == [False] * 3
    with pytest.raises(TypeError):
        _ = DataType.STRING.max
    with pytest.raises(TypeError):
        numeric_dtype("string")


@pytest.mark.parametrize("kind", NUMERIC)
def test_every_way_to_name_a_type(kind):
    dtype = kind.numpy_dtype
    tensorflow = foreign("tensorflow.python.framework.dtypes", "DType", name=kind.value)
    torch = foreign("torch", "dtype", __repr__=lambda self: f"torch.{kind.value}")
    jax = foreign("jax._src.numpy.scalar_types", "_ScalarMeta", dtype=dtype)
    jax_type = type(kind.value, (), {"__module__": "jax.numpy", "dtype": dtype})
    for named in (kind, dtype, dtype.type, kind.value, tensorflow, torch, jax, jax_type):
        assert DataType.of(named) is kind
        assert read_dtype(named) == dtype


@pytest.mark.parametrize(
    ("named", "kind"),
    [
        (bool, "bool"), (int, "int64"), (float, "float64"), (complex, "complex128"), (object, "string"),
        ("int", "int64"),
        ("f4", "float32"), ("<i2", "int16"), ("double", "float64"), (np.float32, "float32"), (np.longlong, "int64"),
        (np.intc, "int32"), (ml_dtypes.bfloat16, "bfloat16"), (ml_dtypes.float8_e5m2, "float8_e5m2"), ("?", "bool"),
        (np.dtype("f4", metadata={"a": 1}), "float32"),
    ],
)  # fmt: skip
def test_other_names(named, kind):
    assert DataType.of(named) is DataType(kind)


@pytest.mark.parametrize(
    "named",
    [
        None, 3, 1.5, "text", "", "M8[s]", "S4", "U1", "longdouble", "i4,i4", np.dtype("M8[s]"), np.str_,
        np.bytes_,
        np.longdouble, ml_dtypes.int4, ml_dtypes.float8_e4m3, [], {}, str, bytes, list, np.zeros(2), np.generic,
        object(),
        foreign("torch", "dtype", __repr__=lambda self: "torch.quint8"),
        foreign("tensorflow.python.framework.dtypes", "DType", name="qint8"),
        foreign("elsewhere", "dtype", name="float32"),
    ],
)  # fmt: skip
def test_what_names_none(named):
    for read in (DataType.of, read_dtype, native_dtype, numeric_dtype):
        with pytest.raises(TypeError):
            read(named)
        with pytest.raises(TypeError):
            read(named)


def test_byte_order():
    for named in (">f4", "<f4", np.dtype(">f4")):
        assert read_dtype(named).str == np.dtype(named).str
        assert native_dtype(named).isnative
        assert DataType.of(named) is DataType.FLOAT32
    assert CODES[native_dtype(">u2")] == CODES[np.dtype("uint16")]


def test_nothing_foreign_is_imported():
    code = (
        "import sys, numpy as np, tensorbuf\n"
        "tensorbuf.NdArray([1, 2]); tensorbuf.DataType.of('bfloat16'); tensorbuf.convert([1.5], 'uint8')\n"
        "print(sorted({'torch', 'tensorflow', 'jax', 'pyarrow', 'safetensors', 'scipy', 'PIL'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
