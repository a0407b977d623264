"""Conversion between element types: `convert`, `cast`, `saturate_cast`."""

from __future__ import annotations

import contextlib
import functools
from typing import Any

import numpy as np

from tensorbuf import source
from tensorbuf._kernels import pipeline
from tensorbuf.dtypes import CODES, DataType, DTypeLike, numeric_dtype
from tensorbuf.errors import ConversionError, ReadOnlyError, ShapeError
from tensorbuf.gathered import Gathered, convert_parts, gathered
from tensorbuf.memory import empty, let_go, releasing
from tensorbuf.overlap import passes, share_memory
from tensorbuf.rule import DEFAULT, ROUNDINGS, UNSET, Rule, filling, read_rule
from tensorbuf.view import View

__all__ = ["cast", "convert", "convert_array", "saturate_cast"]

Array = np.ndarray[Any, Any]

# The numbers of _kernels/types.pxd.
SATURATE, WRAP, FINITE = range(3)
_MOST_AXES = 60  # of what the kernels are given; beyond, most axes have length 1
ROUNDING_NUMBERS = {name: number for number, name in enumerate(ROUNDINGS)}
_COMPLEX_PARTS: dict[np.dtype[Any], np.dtype[Any]] = {
    np.dtype(np.complex64): np.dtype(np.float32),
    np.dtype(np.complex128): np.dtype(np.float64),
}

# The dtype-likes that may be kept: they are few, and equal ones mean the same.
_REMEMBERED = (type, str, np.dtype, DataType)

for _dtype, _code in CODES.items():
    if _dtype not in _COMPLEX_PARTS:
        pipeline.know(_dtype.num, _code)


def convert_array(src: Array, dst: Array, rule: Rule) -> None:
    """Convert the values of `src` into `dst`, an array of the same shape; all else about the two may differ.

    Raises
    ------
    TypeError
        If `src` is complex and `dst` is of an integer or a real floating type.
    ConversionError
        If ``rule.overflow`` is "raise" and a value does not fit; `dst` is as it was.
    """
    _checked(src, dst, rule, WRAP if rule.overflow == "wrap" else SATURATE)


def convert_apart(src: Array, dst: Array, rule: Rule) -> pipeline.Prepared:
    """`convert_array` where no memory is shared, and neither types nor rule refuse anything."""
    return _kernel(src, dst, rule, WRAP if rule.overflow == "wrap" else SATURATE, staged=False)


def check_pair(src: np.dtype[Any], dst: np.dtype[Any]) -> None:
    """TypeError where values of `src` cannot be converted to `dst` at all."""
    if src.newbyteorder("=") not in CODES:
        raise TypeError(f"cannot convert values of {src}; take one of the seventeen numeric types")
    if src.newbyteorder("=") in _COMPLEX_PARTS and not (
        dst.newbyteorder("=") in _COMPLEX_PARTS or dst == np.dtype(bool)
    ):
        raise TypeError(f"{src} has no order to convert it to {dst} by; take its .real (or .imag) first, or use cast")


def _checked(src: Array, dst: Array, rule: Rule, mode: int) -> pipeline.Prepared | None:
    """What can be done again on other memory, where that is all there was to do."""
    check_pair(src.dtype, dst.dtype)
    if src.size == 0:
        return None
    if rule.overflow == "raise":
        refuse_misfits(src, dst.dtype, rule)
    prepared = _run(src, dst, rule, mode)
    return None if rule.overflow == "raise" else prepared


def _run(src: Array, dst: Array, rule: Rule, mode: int) -> pipeline.Prepared | None:
    if src.ndim > _MOST_AXES:
        src, dst = src.squeeze(), dst.squeeze()
    if not share_memory(src, dst):
        return _convert(src, dst, rule, mode, staged=False)
    for part, into in passes(src, dst):
        _convert(part, into, rule, mode, staged=np.may_share_memory(part, into))
    return None


def _convert(src: Array, dst: Array, rule: Rule, mode: int, *, staged: bool) -> pipeline.Prepared | None:
    into = dst.dtype.newbyteorder("=")
    if into in _COMPLEX_PARTS:
        if src.dtype.newbyteorder("=") in _COMPLEX_PARTS:
            _kernel(_parts(src), _parts(dst), rule, mode, staged=staged)
        else:
            _convert(src, dst.real, rule, mode, staged=staged)
            dst.imag = 0
        return None
    return _kernel(src, dst, rule, mode, staged=staged)


def _kernel(src: Array, dst: Array, rule: Rule, mode: int, *, staged: bool) -> pipeline.Prepared:
    from_code, to_code, rounding, fill = _codes(src.dtype, dst.dtype, rule)
    return pipeline.convert(src, from_code, dst, to_code, mode, rounding, fill, staged)


@functools.lru_cache(maxsize=512)
def _codes(src: np.dtype[Any], dst: np.dtype[Any], rule: Rule) -> tuple[int, int, int, int]:
    """The numbers of both types and of the rounding, and what NaN becomes, for the kernels."""
    into = dst.newbyteorder("=")
    rounds = DataType.of(dst).is_integer and DataType.of(src).is_floating
    rounding = ROUNDING_NUMBERS[rule.rounding] if rounds else ROUNDING_NUMBERS["truncate"]
    return CODES[src.newbyteorder("=")], CODES[into], rounding, as_int64(filling(into, rule)[0])


def as_int64(value: int) -> int:
    """A value of a 64-bit type, of either sign, as the int64 of the same bits."""
    return value - 2**64 if value >= 2**63 else value


def _parts(array: Array) -> Array:
    """A complex array as its parts, on a last axis of length 2."""
    part = _COMPLEX_PARTS[array.dtype.newbyteorder("=")].newbyteorder(array.dtype.byteorder)
    return array[..., np.newaxis].view(part)


def refuse_misfits(src: Array, target: np.dtype[Any], rule: Rule, start: int = 0) -> None:
    """ConversionError for the first value that does not fit; `start` is the position of the first value of all."""
    from tensorbuf.fitting import bounds  # computes with fractions, whose import takes a while

    native: np.dtype[Any] = src.dtype.newbyteorder("=")
    values: Array = src
    into: np.dtype[Any] = target.newbyteorder("=")
    if into in _COMPLEX_PARTS:
        into = _COMPLEX_PARTS[into]
        if native in _COMPLEX_PARTS:
            values, native = _parts(src.squeeze() if src.ndim > _MOST_AXES else src), _COMPLEX_PARTS[native]
    if native == into or (limits := bounds(native, into, rule.rounding)) is None:
        return
    position = pipeline.first_outside(
        values, CODES[native], limits.least, limits.most, filling(into, rule)[1], limits.infinity
    )
    if position < values.size:
        raise misfit(src, position * src.size // values.size, target, start)


def misfit(src: Array, position: int, target: np.dtype[Any], start: int = 0, link: str = "which") -> ConversionError:
    """The error that names the element of `src` at a row-major position, which counts from `start`."""
    value = src[np.unravel_index(position, src.shape)].item()
    return ConversionError.at(start + position, value, target, link)


@pipeline.at_once
def convert(
    x: Any,
    dtype: DTypeLike,
    *,
    out: Any = None,
    overflow: str = "saturate",
    rounding: str = "truncate",
    nan: Any = UNSET,
) -> Any:
    """The values of `x` in another element type; the shape stays.

    Parameters
    ----------
    x : array-like of shape (d0, ..., dk)
        Any array object, list, scalar or bytes-like object, of a numeric type. Lists convert from their exact Python
        values, ints of any size.
    dtype : dtype-like
        One of the seventeen numeric types.
    out : array-like of shape (d0, ..., dk), optional
        Writable memory of that dtype (in either byte order), strided or not, to write into; it is returned. It may
        overlap `x`.
    overflow : {"saturate", "wrap", "raise"}
        What happens to a value out of an integer type's range: the nearer limit, the value modulo 2**bits (infinities
        give 0), or a ConversionError. A finite value too large for a floating type becomes the infinity (NaN in
        float8_e4m3fn, which has none), or with "raise" an error.
    rounding : {"truncate", "nearest", "nearest_away", "floor", "ceil"}
        How a fraction becomes an integer: toward zero, to the nearest with ties to even or away from zero, down, up.
        Into floating types values always round once to the nearest, ties to even.
    nan : real number, default 0
        What NaN becomes in an integer type; it is rounded and judged as any number. Unless it is given, "raise"
        refuses NaN.

    Returns
    -------
    array of shape (d0, ..., dk)
        `out`, or a new array (*copies*) in native byte order, C-contiguous and on a 64-byte boundary, of the kind
        that `x` is: an ``np.ndarray`` for an ``np.ndarray``, a facade for a facade, a tensor for a ``torch.Tensor``,
        an NdArray for everything else.

    Raises
    ------
    TypeError
        If a complex array meets a real target, `out` has another dtype, or an argument is of the wrong kind.
    ShapeError
        If `out` has another shape.
    ReadOnlyError
        If `out` is read-only.
    ConversionError
        With ``overflow="raise"``: names the row-major index and the value of the first element that does not fit.
        Nothing has been written then.
    ValueError
        If `overflow` or `rounding` is no known name, or `nan` is NaN.

    Notes
    -----
    Results are the same bits on every machine. The defaults are the rule of TensorFlow Lite Support's ``TensorBuffer``;
    "wrap" is what ``numpy.ndarray.astype`` does with integers.

    Examples
    --------
    >>> import numpy as np
    >>> from tensorbuf import convert
    >>> x = np.array([1.9, -1.9, 300, -5, np.nan], dtype="float32")
    >>> convert(x, "uint8")
    array([  1,   0, 255,   0,   0], dtype=uint8)
    >>> convert(x, "uint8", overflow="wrap")
    array([  1, 255,  44, 251,   0], dtype=uint8)
    """
    # Decimal(2) is equal to 2, but no real number.
    choice = dtype, overflow, rounding, nan, type(nan)
    try:
        try:
            recent = _recents[choice]
        except (KeyError, TypeError, ValueError):  # unhashable, or an array that is equal to nothing
            recent = pipeline.Recent()
        done = recent.repeat(x, out)
        if done is not None:
            return done
        rule = read_rule(overflow, rounding, nan)
        wanted = numeric_dtype(dtype)
        if isinstance(dtype, _REMEMBERED) and wanted not in _COMPLEX_PARTS:
            pipeline.remember(dtype, wanted)
        _admit(choice, recent)
        return _convert_kind(x, wanted, out, rule, WRAP if overflow == "wrap" else SATURATE, recent=recent)
    except BaseException as error:
        # What `releasing` does, but at no cost to a small array's conversion.
        del x, dtype, out, overflow, rounding, nan, choice
        let_go(error)
        raise


@releasing
def cast(x: Any, dtype: DTypeLike) -> Any:
    """`convert` with truncation and exact wrapping, as ``tf.cast``; complex to real keeps the real part.

    Parameters
    ----------
    x : array-like of shape (d0, ..., dk)
        As for `convert`.
    dtype : dtype-like
        One of the seventeen numeric types.

    Returns
    -------
    array of shape (d0, ..., dk)
        A new array (*copies*) of the kind that `x` is. Where TensorFlow's result depends on the machine (a float out
        of the integer type's range), it is the exact value modulo 2**bits, and 0 for NaN and infinities.

    Raises
    ------
    TypeError
        If an argument is of the wrong kind.

    Examples
    --------
    >>> import numpy as np
    >>> from tensorbuf import cast
    >>> cast(np.array([2.7 - 3j, 300]), "uint8")
    array([ 2, 44], dtype=uint8)
    """
    return _convert_kind(x, numeric_dtype(dtype), None, Rule("wrap", "truncate", UNSET), WRAP, real_part=True)


@releasing
def saturate_cast(x: Any, dtype: DTypeLike) -> Any:
    """`convert` that clamps to the target's finite limits, as ``tf.saturate_cast`` is documented to.

    Parameters
    ----------
    x : array-like of shape (d0, ..., dk)
        As for `convert`.
    dtype : dtype-like
        One of the seventeen numeric types.

    Returns
    -------
    array of shape (d0, ..., dk)
        A new array (*copies*) of the kind that `x` is. Into an integer type values truncate and NaN becomes 0; into a
        floating type whatever overflows or is infinite becomes the largest finite value of its sign, also where the
        type stays the same. Complex to real keeps the real part.

    Raises
    ------
    TypeError
        If an argument is of the wrong kind.

    Notes
    -----
    TensorFlow clamps in the source's type, which is wrong for 64-bit integers; here the limits are the target's own.

    Examples
    --------
    >>> import numpy as np
    >>> from tensorbuf import saturate_cast
    >>> saturate_cast(np.array([np.inf, 7e4, -7e4, 65519.0]), "float16").tolist()
    [65504.0, 65504.0, -65504.0, 65504.0]
    >>> saturate_cast(np.array([5, -1]), "uint64")
    array([5, 0], dtype=uint64)
    """
    return _convert_kind(x, numeric_dtype(dtype), None, DEFAULT, FINITE, real_part=True)


# The last runs with a choice of arguments; small, for a program makes few.
_recents: dict[tuple[Any, ...], pipeline.Recent] = {}
_MOST_RECENTS = 16


def _admit(choice: tuple[Any, ...], recent: pipeline.Recent) -> None:
    """Find `recent` by these arguments from now on: checked ones, for what they are is kept alive."""
    if len(_recents) >= _MOST_RECENTS:
        _recents.clear()
    with contextlib.suppress(TypeError):
        _recents[choice] = recent


def _convert_kind(
    x: Any,
    dtype: np.dtype[Any],
    out: Any,
    rule: Rule,
    mode: int,
    *,
    real_part: bool = False,
    recent: pipeline.Recent | None = None,
) -> Any:
    """Memory of `x` in, the kind of `x` (or `out`) back."""
    ends = gathered(x, out)
    if ends is not None:
        return _convert_parts(x, *ends, dtype, out, rule, mode, real_part=real_part)
    values = source.Source(x)
    memory = values.array
    if real_part and dtype not in _COMPLEX_PARTS and values.dtype.newbyteorder("=") in _COMPLEX_PARTS:
        memory = source.array_of(x).real
    if memory is not None or out is not None:
        # A list into a new array is not read for its dtype first: the kernels meet a complex number soon enough.
        check_pair(values.dtype if memory is None else memory.dtype, dtype)
    into = empty(values.shape, dtype) if out is None else check_out(out, values.shape, dtype)
    if memory is None:
        values.load(into, functools.partial(_checked, rule=rule, mode=mode), overflow=rule.overflow, fresh=out is None)
    else:
        prepared = _checked(memory, into, rule, mode)
        if prepared is not None and recent is not None and type(x) is np.ndarray:
            recent.keep(prepared, memory, into, dtype)
    return source.like(x, into) if out is None else written(out, into)


def _convert_parts(
    x: Any,
    values: Array | Gathered,
    target: Array | Gathered | None,
    dtype: np.dtype[Any],
    out: Any,
    rule: Rule,
    mode: int,
    *,
    real_part: bool,
) -> Any:
    """`_convert_kind` of slices by index tables that are large."""
    takes_real = real_part and dtype not in _COMPLEX_PARTS and values.dtype.newbyteorder("=") in _COMPLEX_PARTS
    if not takes_real:
        check_pair(values.dtype, dtype)

    def run(part: Array, into: Array, _: Any) -> None:
        _run(part.real if takes_real else part, into, rule, mode)

    def refuse(part: Array, _: Any, start: int) -> None:
        refuse_misfits(part, dtype, rule, start)

    into = target_parts(target, out, values.shape, dtype)
    convert_parts(values, into, run, refuse if rule.overflow == "raise" else None)
    return out if isinstance(into, Gathered) or out is not None else source.like(x, into)


def target_parts(
    target: Array | Gathered | None, out: Any, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> Array | Gathered:
    """What the parts of a result are written to: new memory, or that of `out`, checked as by `check_out`."""
    if target is None:
        return empty(shape, dtype)
    if not isinstance(target, Gathered):
        return check_out(out, shape, dtype)
    _check_target(target, shape, dtype, read_only=target.read_only)
    return target


def check_out(out: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """The memory of an `out` argument, of exactly this shape and dtype, and writable."""
    memory = source.memory_of(out)
    read_only = not memory.flags.writeable or (isinstance(out, View) and out.read_only)
    _check_target(memory, shape, dtype, read_only=read_only)
    return memory


def _check_target(target: Array | Gathered, shape: tuple[int, ...], dtype: np.dtype[Any], *, read_only: bool) -> None:
    if target.dtype.newbyteorder("=") != dtype:
        raise TypeError(f"out has dtype {target.dtype}, the result {dtype}")
    if target.shape != shape:
        raise ShapeError(f"out has shape {target.shape}, the result {shape}")
    if read_only:
        raise ReadOnlyError("out is read-only; pass writable memory or leave it out")


def written(out: Any, memory: Array) -> Any:
    """An `out` argument whose memory, as `check_out` gave it, has been written."""
    if isinstance(out, View) and out._tables is not None:
        # No strides describe its elements, so that memory is a copy of them.
        out._write(memory)
    return out
