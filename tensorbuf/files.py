"""Arrays in files: `save` and `load`."""

from __future__ import annotations

import mmap as _mmap
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorbuf._kernels.view import wrapped
from tensorbuf.doors import npy, safetensors
from tensorbuf.dtypes import numeric_dtype
from tensorbuf.errors import shown
from tensorbuf.memory import empty, pinned
from tensorbuf.source import array_of

if TYPE_CHECKING:
    from tensorbuf.nd_array import NdArray

__all__ = ["load", "save"]

Array = np.ndarray[Any, Any]

_SUFFIXES = (".npy", ".npz", ".safetensors")
# What numpy calls an array that was saved into an archive without a name.
_UNNAMED = "arr_0"


def save(path: str | os.PathLike[str], x: Any) -> None:
    """Write an array, or several, into a file.

    Parameters
    ----------
    path : str or path-like
        Ends in ``.npy``, ``.npz`` or ``.safetensors`` (which needs the package of that name). An older file is
        replaced, and stays as it is if this fails.
    x : array-like, or dict of str to array-like
        Of numeric types; in any memory layout, since the logical order is kept. A dict is for ``.npz`` and
        ``.safetensors`` only; what is no dict is called ``arr_0`` there.

    Raises
    ------
    ValueError
        If `path` has another suffix.
    TypeError
        If `x` is no array, holds objects or a type that the format has not (``.safetensors``: complex128), or is a dict
        for ``.npy``.
    ImportError
        If safetensors is needed and not installed.
    OSError
        If the file cannot be written.

    Notes
    -----
    bfloat16 and the float8 types stand in ``.npy`` and ``.npz`` files by their names, which ``numpy.load`` understands
    wherever ml_dtypes is imported.

    Examples
    --------
    >>> import os, tempfile
    >>> from tensorbuf import load, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "weights.npz")
    ...     save(path, {"scale": [0.5, 2.0]})
    ...     load(path)
    {'scale': DoubleNdArray(shape=(2,), dtype=float64, values=[0.5, 2.0])}
    """
    suffix = _suffix(path)
    if isinstance(x, Mapping):
        if suffix == ".npy":
            raise TypeError("a .npy file holds one array; save a dict as .npz or .safetensors")
        arrays = {_checked_name(name): _numeric(value) for name, value in x.items()}
    else:
        arrays = {_UNNAMED: _numeric(x)}
    # What files need of the standard library takes longer to import than all the rest of the package.
    from tensorbuf.doors import npz
    from tensorbuf.doors.whole_file import whole_file

    with whole_file(path, replace=True) as file:
        if suffix == ".npy":
            npy.write(file, arrays[_UNNAMED])
        elif suffix == ".npz":
            npz.write(file, arrays)
        else:
            safetensors.write(file.name, arrays)


def load(path: str | os.PathLike[str], *, mmap: bool = False) -> NdArray | dict[str, NdArray]:
    """Read the array, or the arrays, of a file.

    Parameters
    ----------
    path : str or path-like
        Ends in ``.npy``, ``.npz`` or ``.safetensors``.
    mmap : bool, default False
        Map the file into memory instead of reading it: nothing is read before it is used, and the arrays are
        read-only. Members of a ``.npz`` file must not be compressed then.

    Returns
    -------
    NdArray, or dict of str to NdArray for ``.npz`` and ``.safetensors``
        In new memory, writable, of the byte order of the file; with `mmap` on the file itself.

    Raises
    ------
    ValueError
        If `path` has another suffix, or the file is damaged or of another format.
    TypeError
        If elements are of no type of this package. Nothing is ever unpickled.
    ImportError
        If safetensors is needed and not installed.
    OSError
        If the file cannot be read.
    """
    from tensorbuf.doors import npz

    suffix = _suffix(path)
    try:
        if suffix == ".npy":
            array: NdArray = wrapped(npy.map_array(path) if mmap else _read_npy(path))
            return array
        if suffix == ".safetensors":
            arrays = _tensors(path, mmap)
        else:
            arrays = npz.map_arrays(path) if mmap else npz.read_arrays(path)
    except (ValueError, TypeError) as error:
        raise type(error)(f"cannot load {os.fspath(path)!r}: {error}") from None
    return {name: wrapped(array) for name, array in arrays.items()}


def _suffix(path: str | os.PathLike[str]) -> str:
    suffix = os.path.splitext(os.fspath(path))[1].lower()
    if suffix not in _SUFFIXES:
        raise ValueError(f"{os.fspath(path)!r} must end in one of {', '.join(_SUFFIXES)}")
    return suffix


def _checked_name(name: object) -> str:
    if not isinstance(name, str):
        raise TypeError(f"the name of an array is a str, got {shown(name)}")
    return name


def _numeric(x: object) -> Array:
    array = array_of(x)
    numeric_dtype(array.dtype)
    return array


def _read_npy(path: str | os.PathLike[str]) -> Array:
    with open(path, "rb") as file:
        return npy.read_array(file)


def _tensors(path: str | os.PathLike[str], mmap: bool) -> dict[str, Array]:
    entries = safetensors.entries(path)
    with open(path, "rb") as file:
        if mmap:
            whole = pinned(_mmap.mmap(file.fileno(), 0, access=_mmap.ACCESS_READ))
            return {name: np.ndarray(shape, dtype, whole, start) for name, (dtype, shape, start) in entries.items()}
        arrays = {}
        for name, (dtype, shape, start) in entries.items():
            file.seek(start)
            arrays[name] = empty(shape, dtype)
            npy.read_into(file, arrays[name])
        return arrays
