"""LiteRT: the Converters that the tensors of an interpreter ask for, read from its own details.

The interpreter need not be there: its details are plain dicts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from tensorbuf.converter import Converter
from tensorbuf.dtypes import DataType, numeric_dtype
from tensorbuf.errors import shown
from tensorbuf.tensor_details import TensorDetails, read_detail

__all__ = ["input_converter", "output_converter"]


class _Quantisation(NamedTuple):
    """One value each, or one for each coordinate of `axis`."""

    scale: Any
    zero_point: Any
    axis: int


def input_converter(details: TensorDetails) -> Converter:
    """What turns numbers into the elements of a LiteRT input tensor.

    Parameters
    ----------
    details : mapping
        An entry of ``Interpreter.get_input_details()``, or a dict like it. Read are ``"dtype"``, and
        ``"quantization_parameters"`` (``"scales"``, ``"zero_points"``, ``"quantized_dimension"``) or, where that has no
        scales, the older pair ``"quantization"``.

    Returns
    -------
    Converter
        Of a quantised integer tensor ``saturate(round(x / scale) + zero_point)``, rounded half away from zero, with
        one scale or one for each coordinate of the quantised dimension; `x` are real numbers. Scales that are all 0, or
        none, mean that the tensor is not quantised: then, and for every other type, it is ``Converter(dtype)``.

    Raises
    ------
    TypeError
        If `details` is no such entry, or of a type with no numbers (strings, resources).
    ValueError
        If some but not all scales are 0, one is not finite, or a zero point is none of the tensor's type.
    ShapeError
        If there are several scales, and zero points that are neither one nor as many.

    Notes
    -----
    float32 numbers give the bits of LiteRT's reference kernel QUANTIZE, as far as that is defined: it has no rule for
    NaN, which gives 0 here, nor for quotients beyond int32, which saturate. Its optimised kernels multiply by the
    reciprocal of the scale, and differ from it by one where a quotient is near a tie. float64 numbers are divided in
    float64.

    Examples
    --------
    >>> import numpy as np
    >>> from tensorbuf import litert
    >>> details = {"dtype": np.int8, "quantization": (0.5, -1)}
    >>> litert.input_converter(details)(np.float32([0.25, -0.25, 1e9]))
    array([  0,  -2, 127], dtype=int8)
    """
    dtype = numeric_dtype(read_detail(details, "dtype"))
    quantisation = _quantisation(details, dtype)
    if quantisation is None:
        return Converter(dtype)
    scale, zero_point, axis = quantisation
    return Converter.quantize(scale, zero_point, dtype=dtype, axis=axis, rounding="nearest_away")


def output_converter(details: TensorDetails) -> Converter:
    """What turns the elements of a LiteRT output tensor into the numbers that they stand for.

    Parameters
    ----------
    details : mapping
        An entry of ``Interpreter.get_output_details()``; as for `input_converter`.

    Returns
    -------
    Converter
        Of a quantised integer tensor ``(q - zero_point) * scale`` as float32, which is exactly what LiteRT's kernel
        DEQUANTIZE gives. Of any other ``Converter(dtype)``: the elements stay as they are.

    Raises
    ------
    TypeError, ValueError, ShapeError
        As `input_converter`; a scale of 0 beside others, or a zero point beyond the type, is allowed.

    Examples
    --------
    >>> import numpy as np
    >>> from tensorbuf import litert
    >>> parameters = {"scales": np.float32([0.5, 2]), "zero_points": np.int32([0, 1]), "quantized_dimension": 0}
    >>> details = {"dtype": np.int8, "quantization_parameters": parameters}
    >>> litert.output_converter(details)(np.array([[1, 2], [3, 4]], dtype="int8"))
    array([[0.5, 1. ],
           [4. , 6. ]], dtype=float32)
    """
    dtype = numeric_dtype(read_detail(details, "dtype"))
    quantisation = _quantisation(details, dtype)
    if quantisation is None:
        return Converter(dtype)
    scale, zero_point, axis = quantisation
    return Converter.dequantize(scale, zero_point, axis=axis)


def _quantisation(details: TensorDetails, dtype: np.dtype[Any]) -> _Quantisation | None:
    """How the tensor is quantised; None where it is not."""
    parameters = details.get("quantization_parameters")
    parameters = {} if parameters is None else parameters
    if not isinstance(parameters, Mapping):
        raise TypeError(f"quantization_parameters must be a dict, got {shown(parameters)}")
    scale, zero_point = parameters.get("scales"), parameters.get("zero_points")
    if not _given(scale):
        # Entries of old interpreters have nothing but this pair.
        scale, zero_point = _pair(details.get("quantization"))
    if not DataType.of(dtype).is_integer or not _given(scale) or not np.any(scale):
        return None
    axis = parameters.get("quantized_dimension")
    return _Quantisation(scale, zero_point if _given(zero_point) else 0, 0 if axis is None else axis)


def _pair(quantization: Any) -> tuple[Any, Any]:
    if not _given(quantization):
        return None, None
    try:
        scale, zero_point = quantization
    except (TypeError, ValueError):
        raise TypeError(f"quantization must be a pair (scale, zero_point), got {shown(quantization)}") from None
    return scale, zero_point


def _given(values: Any) -> bool:
    return values is not None and np.size(values) > 0
