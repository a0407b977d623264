"""JAX: arrays and dtypes both ways. It may be missing: `make test-interop` leaves this file out then."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tensorbuf import DataType, NdArray, TensorBuffer, convert, from_dlpack, frombuffer
from tensorbuf.memory import empty

jax.config.update("jax_enable_x64", True)

NUMERIC = [kind for kind in DataType if kind is not DataType.STRING]


@pytest.mark.parametrize("kind", NUMERIC)
def test_every_type_both_ways(kind):
    there = jnp.array([0, 1, 0, 1]).astype(kind.value)
    for here in (NdArray(there), from_dlpack(there)):
        assert here.dtype == kind.numpy_dtype
        assert here.to_numpy().tobytes() == np.asarray(there).tobytes()
    memory = empty((4,), kind.numpy_dtype)
    memory[...] = np.asarray(there)
    assert jnp.array_equal(jax.dlpack.from_dlpack(NdArray(memory)), there)


@pytest.mark.parametrize("kind", NUMERIC)
def test_dtypes(kind):
    scalar_type = getattr(jnp, "bool_" if kind is DataType.BOOL else kind.value)
    assert DataType.of(scalar_type) is kind
    assert DataType.of(jnp.zeros(2, scalar_type).dtype) is kind
    assert frombuffer(bytearray(16), dtype=scalar_type).dtype == kind.numpy_dtype


def test_read_only_arrays_are_never_written():
    there = jnp.arange(3)
    here = NdArray(there)
    assert here.read_only
    with pytest.raises(ValueError, match="read-only"):
        here[0] = 9
    assert there.tolist() == [0, 1, 2]


def test_arrays_load_everywhere():
    there = jnp.array([[1.5, 300.0]], dtype="bfloat16")
    assert convert(there, "uint8").tolist() == [[1, 255]]
    buffer = TensorBuffer.create_fixed_size((1, 2), "float32")
    buffer.load_array(there)
    assert list(buffer) == [1.5, 300.0]
