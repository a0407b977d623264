"""`Converter` on Dask arrays (https://docs.dask.org/en/stable/array.html)."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tensorbuf.converter import Converter, check_converter
from tensorbuf.doors.partner import partner
from tensorbuf.errors import ConversionError

__all__ = ["convert"]


def convert(array: Any, converter: Converter) -> Any:
    """Carry a plan out on a Dask array, chunk by chunk and not before it is computed.

    Parameters
    ----------
    array : dask.array.Array
        Of numpy arrays, of any chunks and size. Its axes are those that the plan speaks of.
    converter : Converter
        A chunk that holds only some of the channels gets the parameters of these, so that nothing is rechunked.

    Returns
    -------
    dask.array.Array
        Of the dtype of the plan; its shape and its chunks follow the layout. Computing a chunk *copies*: it gives a new
        C-contiguous array.

    Raises
    ------
    ImportError
        If Dask is not installed.
    TypeError
        If `array` is no Dask array, `converter` no Converter, or the plan does not take such elements.
    ShapeError
        If the layout has another rank, or the axis of the channels another size than the parameters.
    ConversionError
        When it is computed, with ``overflow="raise"``: names the first element of a chunk that does not fit.

    Examples
    --------
    >>> import dask.array
    >>> from tensorbuf import Converter
    >>> frames = dask.array.zeros((900, 1080, 1920, 3), dtype="uint8", chunks=(10, 1080, 1920, 3))
    >>> model_input = convert(frames, Converter("float32", scale=1 / 255, layout="NHWC->NCHW"))
    >>> model_input.shape, model_input.chunksize, model_input.dtype
    ((900, 3, 1080, 1920), (10, 3, 1080, 1920), dtype('float32'))
    """
    dask_array = partner("dask.array", "tensorbuf.dask", "dask")
    if not isinstance(array, dask_array.Array):
        raise TypeError(f"a dask.array.Array is needed, got {type(array).__name__}; dask.array.from_array makes one")
    plan = check_converter(converter)._plan
    axis = plan.check(array.dtype, array.shape)
    if plan.channels == 1 or array.numblocks[axis] == 1:
        return _by_chunk(dask_array, array, converter)
    bounds = itertools.pairwise(itertools.accumulate(array.chunks[axis], initial=0))
    parts = [
        _by_chunk(dask_array, array[(slice(None),) * axis + (slice(*bound),)], converter._of(plan.of_channels(*bound)))
        for bound in bounds
        if bound[0] < bound[1]
    ]
    return dask_array.concatenate(parts, plan.axis_after(axis), allow_unknown_chunksizes=True)


def _by_chunk(dask_array: Any, array: Any, converter: Converter) -> Any:
    # As map_blocks, which cannot reorder the axes.
    before, after = converter._plan.layout or (range(array.ndim), range(array.ndim))
    meta = np.empty((0,) * array.ndim, converter.dtype)
    return dask_array.blockwise(
        _convert_chunk, after, array, before, converter=converter, dtype=converter.dtype, meta=meta
    )


def _convert_chunk(chunk: Any, converter: Converter) -> Any:
    # A chunk of rank 0 may be a scalar of numpy; a masked array stays one, of which the plan refuses masked elements.
    values = np.asanyarray(chunk)
    try:
        return converter(values)
    except ConversionError as error:
        raise ConversionError(f"in a chunk of shape {values.shape}: {error}") from None
