"""Arrays of this package in torch's data loading (https://docs.pytorch.org/docs/stable/data.html)."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from tensorbuf.doors.exports import Exports
from tensorbuf.doors.partner import partner
from tensorbuf.errors import ShapeError

__all__ = ["collate_fn"]


def collate_fn(batch: Sequence[Any]) -> Any:
    """torch's default collate, with the arrays of this package taken as tensors: for ``DataLoader(..., collate_fn=)``.

    Parameters
    ----------
    batch : sequence
        The elements: TensorBuffer, NdArray, ShapedArray, ShapedArraySlice, whatever
        ``torch.utils.data.default_collate`` takes, and dicts, tuples and lists of all these, nested to any depth.

    Returns
    -------
    object
        Of the structure of one element, a ``torch.Tensor`` with a new first axis in the place of each array (*copies*).

    Raises
    ------
    ImportError
        If torch is not installed.
    ShapeError
        If arrays of this package that belong together have different shapes.
    TypeError
        If an array holds objects, or torch cannot collate an element.

    References
    ----------
    ``torch.utils.data.default_collate``.

    Examples
    --------
    >>> from tensorbuf import NdArray
    >>> collate_fn([{"x": NdArray([1, 2]), "y": 0}, {"x": NdArray([3, 4]), "y": 1}])
    {'x': tensor([[1, 2],
            [3, 4]]), 'y': tensor([0, 1])}
    """
    collating = partner("torch.utils.data._utils.collate", "tensorbuf.torch", "torch")
    tensor = partner("torch", "tensorbuf.torch", "torch").Tensor
    default = collating.default_collate_fn_map
    # The first element decides which function takes the batch, so a tensor's has to expect arrays behind it.
    tensors = functools.partial(_collate_tensors, default=default[tensor])
    return collating.collate(batch, collate_fn_map={Exports: _collate_arrays, **default, tensor: tensors})


def _collate_tensors(batch: Sequence[Any], *, collate_fn_map: dict[Any, Any], default: Any) -> Any:
    collate = _collate_arrays if any(isinstance(x, Exports) for x in batch) else default
    return collate(batch, collate_fn_map=collate_fn_map)


def _collate_arrays(batch: Sequence[Any], *, collate_fn_map: dict[Any, Any]) -> Any:
    torch = partner("torch", "tensorbuf.torch", "torch")
    tensors = [x.to_torch() if isinstance(x, Exports) else torch.as_tensor(x) for x in batch]
    first = tensors[0].shape
    for i, tensor in enumerate(tensors):
        if tensor.shape != first:
            raise ShapeError(
                f"element {i} of the batch has shape {tuple(tensor.shape)}, element 0 has {tuple(first)}; "
                "a batch needs one shape"
            )
    return collate_fn_map[torch.Tensor](tensors, collate_fn_map=collate_fn_map)
