"""The compiled base class that exports memory."""

import io
import sys

import ml_dtypes
import numpy as np
import pytest

from tensorbuf._kernels.exporter import Exporter


def exporter(array):
    made = Exporter()
    made._array = array
    return made


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "float16", "float64", "complex64", ">i4"])
def test_typed_and_strided(dtype):
    array = np.zeros((4, 6), dtype)[::-1, ::2]
    view = memoryview(exporter(array))
    assert (view.shape, view.strides, view.format) == ((4, 3), array.strides, memoryview(array).format)
    assert not view.readonly
    shared = np.asarray(exporter(array))
    shared[1, 1] = 1
    assert array[1, 1] == 1


def test_read_only_is_kept():
    array = np.zeros(3)
    array.flags.writeable = False
    assert memoryview(exporter(array)).readonly
    with pytest.raises((BufferError, TypeError)):
        io.BytesIO(b"12345678").readinto(exporter(array))
    assert not array.any()


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e5m2, "datetime64[s]"])
def test_a_type_without_a_format_is_refused(dtype):
    with pytest.raises(BufferError):
        memoryview(exporter(np.zeros(3, dtype)))


def test_no_array_is_refused():
    with pytest.raises(BufferError):
        memoryview(exporter(None))


def test_the_export_outlives_the_exporter():
    view = memoryview(exporter(np.arange(5)))
    assert view.tolist() == [0, 1, 2, 3, 4]


def test_references_balance():
    made = exporter(np.zeros(3))
    nones, arrays = sys.getrefcount(None), sys.getrefcount(made._array)
    for _ in range(10_000):
        memoryview(made).release()
    leaked = sys.getrefcount(made._array) - arrays, sys.getrefcount(None) - nones
    assert leaked[0] == 0
    assert abs(leaked[1]) < 1000
