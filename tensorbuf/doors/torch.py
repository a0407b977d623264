"""The door to torch, which is never imported before a tensor is asked for."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from tensorbuf.doors import dlpack
from tensorbuf.doors.partner import partner
from tensorbuf.dtypes import DataType, read_dtype
from tensorbuf.memory import native_copy, obstacle

__all__ = ["from_torch", "to_torch"]

Array = np.ndarray[Any, Any]
# numpy has no such types of its own, so that torch cannot hand them over: their bits go through an integer type.
_BIT_TYPES = {1: "uint8", 2: "int16"}
_BY_BITS = {DataType.BFLOAT16, DataType.FLOAT8_E4M3FN, DataType.FLOAT8_E5M2}


def from_torch(tensor: Any) -> Array:
    """The memory of a dense CPU tensor, which the array *shares*; a lazily conjugated or negated one is copied.

    Raises
    ------
    TypeError
        If the tensor is not a dense one on the CPU, or of no dtype of this package.
    """
    if tensor.device.type != "cpu" or str(tensor.layout) != "torch.strided":
        raise TypeError(f"a dense tensor on the CPU is needed, got a {tensor.layout} one on {tensor.device}")
    dtype = read_dtype(tensor.dtype)
    plain = tensor.detach().resolve_conj().resolve_neg()
    if DataType.of(dtype) not in _BY_BITS:
        array: Array = plain.numpy()
        return array
    bits: Array = plain.view(getattr(sys.modules["torch"], _BIT_TYPES[dtype.itemsize])).numpy()
    return bits.view(dtype)


def to_torch(array: Array, copy: bool | None = None, *, copied: bool = False, requires_grad: bool = False) -> Any:
    """A CPU tensor of the values of `array`.

    Parameters
    ----------
    array : numpy.ndarray
        Of a numeric dtype.
    copy : bool, optional
        True copies. None *shares* the memory where torch can be trusted with it, and copies where it is read-only,
        misaligned, byte-swapped, or has a stride that is negative or no multiple of the item size. False refuses there.
    copied : bool
        Whether `array` was made for this call already.
    requires_grad : bool
        The flag of the tensor.

    Raises
    ------
    BufferError
        If `copy` is False and the memory cannot be shared.
    TypeError
        If the elements are objects.
    ImportError
        If torch is not installed.
    """
    if array.dtype.hasobject:
        raise TypeError("torch has no tensors of objects")
    reason = obstacle(array) if array.flags.writeable else "is read-only, which torch does not respect"
    if copy is False and (reason or copied):
        raise BufferError(
            f"torch cannot share this memory: it {reason or 'is no strided one'}; take copy=None or copy=True"
        )
    own = native_copy(array) if reason or (copy and not copied) else array
    tensor = partner("torch.utils.dlpack", "to_torch", "torch").from_dlpack(dlpack.export(own))
    return tensor.requires_grad_(True) if requires_grad else tensor
