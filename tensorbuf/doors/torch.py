"""The door to torch, which is never imported before a tensor is asked for."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from tensorbuf.dtypes import DataType, read_dtype
from tensorbuf.memory import empty

__all__ = ["from_torch", "is_tensor", "to_torch"]

Array = np.ndarray[Any, Any]
# numpy has no such types of its own, so that torch cannot hand them over: their bits go through an integer type.
_BIT_TYPES = {1: "uint8", 2: "int16"}
_BY_BITS = {DataType.BFLOAT16, DataType.FLOAT8_E4M3FN, DataType.FLOAT8_E5M2}


def is_tensor(x: object) -> bool:
    """True for a torch.Tensor, of a subclass too."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


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


def to_torch(array: Array, copy: bool | None = None, *, requires_grad: bool = False) -> Any:
    """A CPU tensor of the values of `array`.

    Parameters
    ----------
    array : numpy.ndarray
        Of a numeric dtype.
    copy : bool, optional
        True copies. None *shares* the memory where torch can be trusted with it, and copies where it is read-only,
        misaligned, byte-swapped, or has a stride that is negative or no multiple of the item size. False refuses there.
    requires_grad : bool
        The flag of the tensor.

    Raises
    ------
    BufferError
        If `copy` is False and the memory cannot be shared.
    TypeError
        If the elements are objects.
    """
    import torch

    dtype = DataType.of(array.dtype)
    if dtype is DataType.STRING:
        raise TypeError("torch has no tensors of objects")
    obstacle = _obstacle(array)
    if copy is False and obstacle:
        raise BufferError(f"torch cannot share this memory: it {obstacle}; take copy=None or copy=True")
    if copy or obstacle:
        fresh = empty(array.shape, array.dtype.newbyteorder("="))
        fresh[...] = array
        array = fresh
    if dtype in _BY_BITS:
        tensor = torch.from_numpy(array.view(_BIT_TYPES[array.itemsize])).view(getattr(torch, dtype.value))
    else:
        tensor = torch.from_numpy(array)
    return tensor.requires_grad_(True) if requires_grad else tensor


def _obstacle(array: Array) -> str | None:
    if not array.flags.writeable:
        return "is read-only, which torch does not respect"
    if not array.flags.aligned:
        return f"is not aligned for {array.dtype}"
    if not array.dtype.isnative:
        return f"is byte-swapped ({array.dtype.str})"
    if any(stride < 0 or stride % array.itemsize for stride in array.strides):
        return f"has strides {array.strides} that are negative or no multiples of {array.itemsize}"
    return None
