"""Arrays from other libraries: `from_dlpack` and `from_arrow`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensorbuf._kernels.view import wrapped
from tensorbuf.doors import arrow, dlpack
from tensorbuf.errors import shown
from tensorbuf.memory import native_copy, releasing
from tensorbuf.source import array_of

if TYPE_CHECKING:
    from tensorbuf.nd_array import NdArray

__all__ = ["from_arrow", "from_dlpack"]


@releasing
def from_dlpack(x: Any, *, copy: bool | None = None) -> NdArray:
    """An array on the memory of any object that speaks DLPack.

    Parameters
    ----------
    x : object
        With ``__dlpack__``, on the CPU.
    copy : bool, optional
        True copies. None *shares* wherever the exporter can; False refuses where it cannot.

    Returns
    -------
    NdArray
        *Shares* the exporter's memory, which stays alive with it. It is read-only where the exporter says so, and
        where an exporter older than DLPack 1 cannot say.

    Raises
    ------
    TypeError
        If `x` does not speak DLPack, or its elements are of no type of this package.
    BufferError
        If the memory is on another device, or the exporter refuses.

    References
    ----------
    https://dmlc.github.io/dlpack/latest/python_spec.html

    Examples
    --------
    >>> import numpy as np
    >>> from tensorbuf import from_dlpack
    >>> x = np.arange(3)
    >>> array = from_dlpack(x)
    >>> array[0] = 9
    >>> x.tolist()
    [9, 1, 2]
    """
    memory = dlpack.memory_of(x, copy=False if copy is False else None)
    array: NdArray = wrapped(native_copy(memory) if copy else memory)
    return array


@releasing
def from_arrow(x: Any, *, nulls: str = "raise", fill_value: Any = None) -> NdArray:
    """The values of an Arrow array.

    Parameters
    ----------
    x : object
        With ``__arrow_c_array__`` or ``__arrow_c_stream__``: an array, chunked array or series of booleans, integers or
        floats, of fixed-size lists of these, or of fixed-shape tensors.
    nulls : {"raise", "fill"}
        What happens to nulls: a ValueError, or `fill_value` in their place.
    fill_value : number, optional
        Converted to the element type; it must fit.

    Returns
    -------
    NdArray
        Rank 1 of a primitive array; fixed-size lists and the shape of tensors add axes. It *shares* Arrow's memory, and
        is read-only then, unless booleans had to be unpacked, nulls filled or several chunks joined, which *copies*.

    Raises
    ------
    TypeError
        If `x` has none of the two methods, is of a type that is none of this package, or `fill_value` is missing.
    ValueError
        If there are nulls and `nulls` is "raise", or `nulls` is no known word.
    ConversionError
        If `fill_value` does not fit.

    References
    ----------
    https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html

    Examples
    --------
    >>> from tensorbuf import NdArray, from_arrow
    >>> from_arrow(NdArray([1, 2, 3]).to_arrow())
    LongNdArray(shape=(3,), dtype=int64, values=[1, 2, 3])
    """
    if not isinstance(nulls, str) or nulls not in ("raise", "fill"):
        raise ValueError(f'nulls must be "raise" or "fill", got {shown(nulls)}')
    if nulls == "fill" and fill_value is None:
        raise TypeError('nulls="fill" needs a fill_value')
    values, missing = arrow.read(x)
    if nulls == "raise":
        arrow.refuse_nulls(missing)
    elif missing is not None:
        filled = native_copy(values)
        filled[missing] = array_of(fill_value, values.dtype)
        values = filled
    array: NdArray = wrapped(values)
    return array
