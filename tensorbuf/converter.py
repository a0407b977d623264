"""`Converter`: a reusable plan of arithmetic, conversion and layout, carried out in one pass over memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn, Self

import numpy as np

from tensorbuf import source
from tensorbuf.conversion import FINITE, SATURATE, WRAP, check_out, convert, written
from tensorbuf.dtypes import DataType, DTypeLike, numeric_dtype
from tensorbuf.errors import shown
from tensorbuf.gathered import Gathered, gathered
from tensorbuf.layout import Layout, read_layout
from tensorbuf.memory import check_integer, releasing
from tensorbuf.parameters import channels, read_divisor, read_factor, read_parameter, read_zero_point
from tensorbuf.plan import Operation, Plan
from tensorbuf.rule import DEFAULT, UNSET, Rule, read_rule

__all__ = ["Converter", "check_converter"]


class Converter:
    """Arithmetic, conversion and layout as one reusable plan: ``y = x * scale + offset``, converted to `dtype`.

    Calling it carries the plan out in one pass over memory. It is frozen, can be pickled, keeps nothing of what it
    converts and may be called from many threads at once.

    Parameters
    ----------
    dtype : dtype-like
        Of the result: one of the seventeen numeric types, none of the complex ones if there is arithmetic.
    scale, offset : real number or rank-1 sequence, optional
        One value, or one a channel; infinities and NaN too. None skips the operation (so a -0.0 stays); with neither
        the plan is `convert` and the layout.
    layout : str, optional
        The order of the axes before and after, ``"HWC->CHW"`` or any permutation of distinct letters. The channels
        are on the axis ``C``, without a layout on the last one.
    rounding, overflow, nan
        As for `convert`, which turns the results of the arithmetic into `dtype`.

    Raises
    ------
    TypeError
        If `dtype` is unknown, or a parameter is not real.
    ValueError
        If `layout`, `rounding` or `overflow` is none that is known, or a value a channel is given for a layout
        without ``C``.
    ShapeError
        If a parameter has rank 2 or more, or two of them have different lengths above 1.

    Notes
    -----
    Arithmetic is float32, or float64 where the source or the target is float64, int32, uint32, int64 or uint64.
    Parameters are rounded once to that type, and each operation is one IEEE operation, rounded to the nearest. Results
    have the bits of numpy's step by step, on every machine: no contraction of two operations into one is allowed, and
    a quicker way, such as a reciprocal for a division, is taken only where every result that could differ has been
    compared.

    Examples
    --------
    >>> import numpy as np
    >>> from tensorbuf import Converter
    >>> to_input = Converter.normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225], layout="HWC->CHW")
    >>> frame = np.full((2, 2, 3), 255, dtype="uint8")
    >>> to_input(frame).shape
    (3, 2, 2)
    >>> Converter("uint8", scale=255, rounding="nearest")(np.array([0.5, 2.0]))
    array([128, 255], dtype=uint8)
    """

    __slots__ = ("_plan",)

    _plan: Plan

    def __init__(
        self,
        dtype: DTypeLike,
        *,
        scale: Any = None,
        offset: Any = None,
        layout: str | None = None,
        rounding: str = "truncate",
        overflow: str = "saturate",
        nan: Any = UNSET,
    ) -> None:
        given = {"scale": scale, "offset": offset}
        parameters = {name: read_parameter(value, name) for name, value in given.items() if value is not None}
        names = {"scale": "multiply", "offset": "add"}
        operations = tuple((names[name], parameter) for name, parameter in parameters.items())
        rule = read_rule(overflow, rounding, nan)
        mode = WRAP if overflow == "wrap" else SATURATE
        plan = _plan(dtype, operations, channels(**parameters), rule, read_layout(layout), mode=mode)
        object.__setattr__(self, "_plan", plan)

    @classmethod
    def normalize(
        cls, mean: Any, std: Any, *, divide_by: Any = 255, layout: str | None = None, dtype: DTypeLike = "float32"
    ) -> Self:
        """``y = (x / divide_by - mean) / std``: three operations, each rounded once.

        Parameters
        ----------
        mean, std, divide_by : real number or rank-1 sequence
            One value, or one a channel; finite, and no divisor is 0.
        layout : str, optional
            As for the class.
        dtype : dtype-like
            Of the result; into an integer type it truncates and saturates.

        Returns
        -------
        Converter
            Bit for bit what ``x.to(float32).div(255)``, ``- mean`` and ``/ std`` give in torch, which is how
            torchvision's ``ToTensor`` and ``Normalize`` are documented.

        Raises
        ------
        TypeError, ShapeError
            As for the class.
        ValueError
            If `layout` is none that is known, a divisor is 0, or a parameter is not finite.

        Examples
        --------
        >>> import numpy as np
        >>> from tensorbuf import Converter
        >>> Converter.normalize(0.5, 0.5)(np.array([0, 255], dtype="uint8"))
        array([-1.,  1.], dtype=float32)
        """
        parameters = {
            "divide_by": read_divisor(divide_by, "divide_by"),
            "mean": read_factor(mean, "mean"),
            "std": read_divisor(std, "std"),
        }
        operations = tuple(zip(("divide", "subtract", "divide"), parameters.values(), strict=True))
        return cls._of(_plan(dtype, operations, channels(**parameters), DEFAULT, read_layout(layout)))

    @classmethod
    def quantize(
        cls,
        scale: Any,
        zero_point: Any = 0,
        *,
        dtype: DTypeLike = "int8",
        axis: int | None = None,
        rounding: str = "nearest",
    ) -> Self:
        """``y = saturate(round(x / scale) + zero_point)``, as ONNX's QuantizeLinear.

        Parameters
        ----------
        scale, zero_point : real number or rank-1 sequence
            One value, or one a channel; scales are finite and not 0, zero points are values of `dtype`.
        dtype : dtype-like
            An integer type; or a float8 type, into which ``x / scale`` is clamped to the finite limits, with zero
            point 0.
        axis : int, optional
            The axis of the channels, negative from the end. None with several values is axis 1, ONNX's default.
        rounding : {"nearest", "truncate", "nearest_away", "floor", "ceil"}
            Of the quotient, before the zero point is added. TFLite rounds half away from zero.

        Returns
        -------
        Converter
            NaN gives 0, whatever the zero point.

        Raises
        ------
        TypeError
            If `dtype` is neither an integer nor a float8 type, or a parameter is not real.
        ValueError
            If `rounding` is unknown, a scale is 0 or not finite, or a zero point is none of `dtype` (of float8: not 0).
        ShapeError
            As for the class.

        Examples
        --------
        >>> import numpy as np
        >>> from tensorbuf import Converter
        >>> Converter.quantize(0.5, 1)(np.array([0.25, 0.75, 1e30, np.nan]))
        array([  1,   3, 127,   0], dtype=int8)
        """
        kind = DataType.of(numeric_dtype(dtype))
        float8 = kind in (DataType.FLOAT8_E4M3FN, DataType.FLOAT8_E5M2)
        if not kind.is_integer and not float8:
            raise TypeError(f"cannot quantize into {kind.value}; take an integer or a float8 type")
        read_rule("saturate", rounding, UNSET)
        parameters = {
            "scale": read_divisor(scale, "scale"),
            "zero_point": read_zero_point(zero_point, None if float8 else kind.numpy_dtype),
        }
        operations: tuple[Operation, ...] = (("divide", parameters["scale"]),)
        if not float8:
            operations += (("round", rounding), ("add", parameters["zero_point"]))
        elif parameters["zero_point"].double.any():
            raise ValueError(f"the zero point of {kind.value} must be 0, got {shown(zero_point)}")
        mode = FINITE if float8 else SATURATE
        return cls._of(_plan(dtype, operations, channels(**parameters), DEFAULT, axis=_read_axis(axis), mode=mode))

    @classmethod
    def dequantize(
        cls, scale: Any, zero_point: Any = 0, *, dtype: DTypeLike = "float32", axis: int | None = None
    ) -> Self:
        """``y = (q - zero_point) * scale``, as ONNX's DequantizeLinear.

        Parameters
        ----------
        scale, zero_point : real number or rank-1 sequence
            One value, or one a channel; scales are finite, zero points whole.
        dtype : dtype-like
            Of the result.
        axis : int, optional
            As for `quantize`.

        Returns
        -------
        Converter

        Raises
        ------
        TypeError, ShapeError
            As for the class.
        ValueError
            If a scale is not finite, or a zero point not whole.

        Examples
        --------
        >>> import numpy as np
        >>> from tensorbuf import Converter
        >>> Converter.dequantize(0.5, 1)(np.array([1, 3, 127], dtype="int8"))
        array([ 0.,  1., 63.], dtype=float32)
        """
        parameters = {"zero_point": read_zero_point(zero_point), "scale": read_factor(scale, "scale")}
        operations: tuple[Operation, ...] = (("subtract", parameters["zero_point"]), ("multiply", parameters["scale"]))
        return cls._of(_plan(dtype, operations, channels(**parameters), DEFAULT, axis=_read_axis(axis)))

    @classmethod
    def _of(cls, plan: Plan) -> Self:
        converter = cls.__new__(cls)
        object.__setattr__(converter, "_plan", plan)
        return converter

    def _with(self, layout: str | None, overflow: str, rounding: str, nan: Any) -> Self:
        """The same arithmetic with any layout and rule, for the command line, whose options combine freely."""
        rule = read_rule(overflow, rounding, nan)
        mode = WRAP if overflow == "wrap" else self._plan.mode
        return self._of(self._plan._replace(layout=read_layout(layout), rule=rule, mode=mode))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a Converter is frozen, {name!r} cannot be set; make a new one")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a Converter is frozen, {name!r} cannot be deleted; make a new one")

    def __reduce__(self) -> tuple[Any, ...]:
        return self._of, (self._plan,)

    def __repr__(self) -> str:
        parts = [self.dtype.name]
        parts += [f"{name} {parameter}" for name, parameter in self._plan.operations]
        rule = self._plan.rule
        parts += [f"overflow {rule.overflow}", f"rounding {rule.rounding}"]
        parts += [] if rule.nan is UNSET else [f"nan {shown(rule.nan)}"]
        parts += [f"layout {self.layout}"] if self.layout else []
        return f"Converter({', '.join(parts)})"

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of results."""
        return self._plan.dtype

    @property
    def layout(self) -> str | None:
        """The order of the axes before and after, ``"HWC->CHW"``; None where they stay."""
        return None if self._plan.layout is None else str(self._plan.layout)

    @releasing
    def __call__(self, x: Any, out: Any = None) -> Any:
        """Carry the plan out.

        Parameters
        ----------
        x : array-like, or mapping of array-likes
            Of any strides, alignment and byte order.
        out : array-like, optional
            Writable memory of the result's shape and dtype, strided or not; it is returned. It may overlap `x`. For a
            mapping, a mapping with the same keys.

        Returns
        -------
        array
            `out`, or a new C-contiguous array (*copies*) of the kind that `x` is; for a mapping a dict with the same
            keys.

        Raises
        ------
        TypeError
            If a complex array meets arithmetic or a real target, or `out` has another dtype.
        ShapeError
            If the layout has another rank, an axis has not as many channels as the parameters have values, or `out`
            has another shape.
        ReadOnlyError
            If `out` is read-only.
        ConversionError
            With ``overflow="raise"``: names the first element of `x`, in row-major order, whose result does not fit.
            Nothing has been written then.
        """
        plan = self._plan
        again = plan.recent.repeat(x, out)
        if again is not None:
            return again
        if isinstance(x, Mapping):
            return self._convert_mapping(x, out)
        if not plan.operations and plan.layout is None:
            overflow, rounding, nan = plan.rule
            return convert(x, plan.dtype, out=out, overflow=overflow, rounding=rounding, nan=nan)
        ends = gathered(x, out)
        if ends is not None:
            into = plan.carry_out_parts(*ends, out)
            return out if isinstance(into, Gathered) or out is not None else source.like(x, into)
        result = plan.carry_out(plan.values_of(x), out)
        return source.like(x, result) if out is None else written(out, result)

    def _convert_mapping(self, x: Mapping[Any, Any], out: Any) -> Any:
        if out is None:
            return {key: self(value) for key, value in x.items()}
        if not isinstance(out, Mapping) or out.keys() != x.keys():
            raise TypeError("out of a mapping must be a mapping with the same keys")
        # Nothing is written before all of it is known to be right, and no value is read after another was written.
        results = {key: source.memory_of(self(value)) for key, value in x.items()}
        targets = {key: check_out(out[key], result.shape, self.dtype) for key, result in results.items()}
        for key, result in results.items():
            targets[key][...] = result
            written(out[key], targets[key])
        return out


def check_converter(converter: object) -> Converter:
    """TypeError where a plan is needed and something else was given."""
    if not isinstance(converter, Converter):
        raise TypeError(f"a Converter is needed, got a {type(converter).__name__}")
    return converter


def _read_axis(axis: object) -> int:
    # ONNX's default is axis 1; with a single value no axis is looked at.
    return 1 if axis is None else check_integer(axis, "axis")


def _plan(
    dtype: DTypeLike,
    operations: tuple[Operation, ...],
    channel_count: int,
    rule: Rule,
    layout: Layout | None = None,
    axis: int = -1,
    mode: int = SATURATE,
) -> Plan:
    target = numeric_dtype(dtype)
    if operations and target.kind == "c":
        raise TypeError(f"arithmetic gives real numbers, so the target cannot be {target}; leave scale and offset out")
    if layout is not None and channel_count > 1:
        if "C" not in layout.before:
            raise ValueError(
                f"layout {layout} does not name the axis C of the channels, which have {channel_count} values"
            )
        axis = layout.before.index("C")
    return Plan(target, operations, channel_count, rule, layout, axis, mode)
