"""What a Converter does: its operations, and how one pass over memory carries them out."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from tensorbuf import source
from tensorbuf._kernels import pipeline
from tensorbuf.conversion import (
    ROUNDING_NUMBERS,
    SATURATE,
    as_int64,
    check_out,
    check_pair,
    convert_apart,
    convert_array,
    misfit,
    refuse_misfits,
    target_parts,
)
from tensorbuf.dtypes import CODES, DataType
from tensorbuf.errors import ConversionError, ShapeError
from tensorbuf.gathered import Gathered, Slab, convert_parts
from tensorbuf.layout import Layout
from tensorbuf.memory import empty
from tensorbuf.overlap import blocks, passes, same_places, share_memory
from tensorbuf.parameters import Parameter
from tensorbuf.rule import DEFAULT, Rule, filling

__all__ = ["Operation", "Plan"]

Array = np.ndarray[Any, Any]

# The name of an operation, with its parameter; or "round", with a rounding.
Operation = tuple[str, Parameter | str]

# The numbers of _kernels/types.pxd; roundings count on from its PROGRAMS.
_ARITHMETICS = {"multiply": 0, "add": 1, "subtract": 2, "divide": 3}
_ROUNDINGS_FROM = 10

# The types that float32 does not hold exactly: with one of them as source or target the arithmetic is float64.
_WIDE = frozenset(np.dtype(name) for name in ("float64", "int32", "uint32", "int64", "uint64"))

# A source of 8 bits has 256 values a channel: of arrays that hold this many times as many values, all results are
# computed once and looked up.
_TABLE_PAYS = 8

# Channels above which neither tables nor trials are made, which cost time and memory for each: of 8-bit sources, and of
# float32, whose trials are longer. Arrays with more are seldom converted twice.
_MOST_TABLES = 128
_MOST_TIE_TRIALS = 8

# What the kernels have a loop for; of the divisions in `_NORMALIZE` it is one by reciprocals.
_EIGHT_BITS = (np.dtype(np.uint8), np.dtype(np.int8))
_PROGRAMS = (("multiply",), ("multiply", "add"), ("subtract", "multiply"))
_NORMALIZE = ("divide", "subtract", "divide")
_QUANTIZE = ("divide", "round", "add")


class _Given(NamedTuple):
    """What a Converter was given, checked.

    `axis` is that of the channels in the source, negative from the end; `channels` is 1 where no parameter tells them
    apart.
    """

    dtype: np.dtype[Any]
    operations: tuple[Operation, ...]
    channels: int
    rule: Rule
    layout: Layout | None
    axis: int
    mode: int


class Plan(_Given):
    """What was given, and how it is carried out."""

    @functools.cached_property
    def recent(self) -> pipeline.Recent:
        return pipeline.Recent()

    @functools.cached_property
    def _proved(self) -> dict[np.dtype[Any], bool]:
        return {}

    def __reduce__(self) -> tuple[Any, ...]:
        # What was proved belongs to the processor, and must not tell apart two plans that are the same.
        return Plan, tuple(self)

    def values_of(self, x: object) -> Array:
        """The memory of `x`; of a list its exact values, in a type that the plan takes further."""
        if not self.operations:
            values = source.Source(x)
            return source.array_of(x, self.dtype, **self.rule._asdict()) if values.array is None else values.array
        try:
            return source.array_of(x)
        except ConversionError:
            # Ints that no integer type holds together: the arithmetic is float64, as for those that fit.
            return source.array_of(x, np.float64, overflow="saturate")

    def carry_out(self, memory: Array, out: Any) -> Array:
        """The result in new memory, or in that of `out` (the caller's object).

        Raises
        ------
        TypeError, ShapeError, ReadOnlyError, ConversionError
            As `Converter.__call__`; nothing has been written then.
        """
        axis = self.check(memory.dtype, memory.shape)
        moved = memory if self.layout is None else self.layout.move(memory)
        into = empty(moved.shape, self.dtype) if out is None else check_out(out, moved.shape, self.dtype)
        if not self.operations:
            self._move(memory, moved, into)
            return into
        if self.rule.overflow == "raise":
            self._refuse_misfits(memory, axis)
        if self.channels > 1:
            axis = self.axis_after(axis)
        if share_memory(moved, into):
            self._apply_overlapping(moved, into, axis)
            return into
        if memory.size < 256 * self.channels * _TABLE_PAYS or self.channels > _MOST_TABLES:
            run = self._run(moved, into, axis)
        elif memory.itemsize > 1:
            run = self._run(moved, into, axis, by_reciprocals=self._quantizes_by_reciprocals(memory.dtype))
        elif self._has_program(memory.dtype):
            run = self._run(moved, into, axis, by_reciprocals=self._divides)
        else:
            run = self._look_up(moved, into, axis)
        self._keep(run, memory, into)
        return into

    def carry_out_parts(self, values: Array | Gathered, target: Array | Gathered | None, out: Any) -> Array | Gathered:
        """`carry_out` where `gathered` gave what parts are taken of."""
        axis = self.check(values.dtype, values.shape)
        of_channels = functools.lru_cache(maxsize=2)(self.of_channels)  # parts follow one another on few channels

        def plan(slab: Slab) -> Plan:
            start, stop = slab[axis].start, slab[axis].stop
            return self if self.channels in (1, stop - start) else of_channels(start, stop)

        def run(part: Array, into: Array, slab: Slab) -> None:
            plan(slab).carry_out(part, into)

        def refuse(part: Array, slab: Slab, start: int) -> None:
            if self.operations:
                plan(slab)._refuse_misfits(part, axis, start)
            else:
                refuse_misfits(part, self.dtype, self.rule, start)

        def place(slab: Slab) -> Slab:
            return slab if self.layout is None else self.layout.reorder(slab)

        shape = values.shape if self.layout is None else self.layout.reorder(values.shape)
        into = target_parts(target, out, shape, self.dtype)
        convert_parts(values, into, run, refuse if self.rule.overflow == "raise" else None, place)
        return into

    def _keep(self, run: pipeline.Prepared, memory: Array, into: Array) -> None:
        if self.rule.overflow != "raise":
            self.recent.keep(run, memory, into, self.dtype)

    def _move(self, memory: Array, moved: Array, into: Array) -> None:
        """Without arithmetic: `convert`, and the layout."""
        if self.rule.overflow == "raise" or "c" in (memory.dtype.kind, into.dtype.kind) or share_memory(moved, into):
            # In the order of the source, in which a misfit is named.
            convert_array(memory, into if self.layout is None else self.layout.back(into), self.rule)
        else:
            self._keep(convert_apart(moved, into, self.rule), memory, into)

    def check(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> int:
        """Whether the plan takes arrays like that; the axis of their channels, 0 where there are none to tell apart.

        Raises
        ------
        TypeError, ShapeError
            As `Converter.__call__`.
        """
        check_pair(dtype, self.dtype)
        if self.layout is not None:
            self.layout.check_rank(shape)
        if not self.operations:
            return 0
        if dtype.kind == "c":
            raise TypeError(f"arithmetic takes real numbers, got {dtype}; convert its .real and .imag")
        return self._channel_axis(shape)

    def axis_after(self, axis: int) -> int:
        """Where an axis of the source is in the result."""
        return axis if self.layout is None else self.layout.after.index(self.layout.before[axis])

    def of_channels(self, start: int, stop: int) -> Plan:
        """The same plan for arrays that hold only those channels."""
        operations = tuple(
            (name, parameter.part(start, stop) if isinstance(parameter, Parameter) else parameter)
            for name, parameter in self.operations
        )
        return self._replace(operations=operations, channels=stop - start)

    def for_rank(self, rank: int) -> Plan:
        """The plan for arrays of that rank: where it names one axis less, these are batches of what it takes."""
        if self.layout is None or len(self.layout.before) != rank - 1:
            return self
        return self._replace(layout=self.layout.batched(), axis=self.axis + 1)

    @property
    def _divides(self) -> bool:
        return any(name == "divide" for name, _ in self.operations)

    @property
    def _never_nan(self) -> bool:
        """Whether finite values and these parameters, which hold no other, never give NaN."""
        return all(
            bool(np.isfinite(parameter.single).all()) and not (name == "divide" and 0 in parameter.single)
            for name, parameter in self.operations
            if isinstance(parameter, Parameter)
        )

    def _has_program(self, dtype: np.dtype[Any]) -> bool:
        """Whether for an 8-bit source one loop of the kernels does all operations faster than a table is read."""
        if dtype not in _EIGHT_BITS or self.dtype != np.float32 or not self._never_nan:
            return False
        names = tuple(name for name, _ in self.operations)
        if names == _NORMALIZE:
            return pipeline.has_reciprocals() and self._reciprocals_proved(dtype)
        return names in _PROGRAMS

    def _quantizes_by_reciprocals(self, dtype: np.dtype[Any]) -> bool:
        """Whether for float32 into 8 bits a multiplication and its correction can stand for the division."""
        if dtype != np.float32 or self.dtype not in _EIGHT_BITS or self.channels > _MOST_TIE_TRIALS:
            return False
        if self.rule != DEFAULT or self.mode != SATURATE:
            return False
        if tuple(name for name, _ in self.operations) != _QUANTIZE or self.operations[1][1] != "nearest":
            return False
        return pipeline.has_reciprocals() and self._reciprocals_proved(dtype)

    def _reciprocals_proved(self, dtype: np.dtype[Any]) -> bool:
        """Whether reciprocals give the bits that divisions give: whatever could tell them apart is tried, once."""
        if dtype not in self._proved:
            trial = self._every_byte(dtype) if dtype.itemsize == 1 else self._near_ties()
            self._proved[dtype] = trial is not None and (
                self._results(trial).tobytes() == self._results(trial, by_reciprocals=True).tobytes()
            )
        return self._proved[dtype]

    def _every_byte(self, dtype: np.dtype[Any]) -> Array:
        """All 256 values of an 8-bit type, a row for each channel."""
        return np.broadcast_to(np.arange(256, dtype=np.uint8).view(dtype), (self.channels, 256))

    def _near_ties(self) -> Array | None:
        """The float32 values, a row for each channel, whose quotients lie next to the ties of the rounding.

        Corrected, the product with a reciprocal is off by less than one unit in the last place, so everywhere else
        both round to the same integer. None where a scale is so large or small that the correction may underflow.
        """
        scale, zero_point = (
            parameter.single.astype(np.float64)[:, np.newaxis]
            for _, parameter in self.operations
            if isinstance(parameter, Parameter)
        )
        if not ((np.abs(scale) > 2.0**-60) & (np.abs(scale) < 2.0**60)).all():
            return None
        limits = np.iinfo(self.dtype)
        ties = np.arange(limits.min - 1, limits.max + 1) + 0.5
        bits = ((ties - zero_point) * scale).astype(np.float32).view(np.int32)
        near = (bits[..., np.newaxis] + np.arange(-4, 5, dtype=np.int32)).view(np.float32)
        return np.ascontiguousarray(np.broadcast_to(near, (self.channels, *near.shape[1:])).reshape(self.channels, -1))

    def _results(self, values: Array, *, by_reciprocals: bool = False) -> Array:
        """What becomes of values with a row for each channel."""
        results = empty(values.shape, self.dtype)
        self._run(values, results, 0, by_reciprocals=by_reciprocals)
        return results

    def _channel_axis(self, shape: tuple[int, ...]) -> int:
        if self.channels == 1:
            return 0
        if not -len(shape) <= self.axis < len(shape):
            raise ShapeError(f"the channels are on axis {self.axis}, which shape {shape} does not have")
        axis = self.axis % len(shape)
        if shape[axis] != self.channels:
            raise ShapeError(
                f"axis {axis} of shape {shape} has {shape[axis]} channels, the parameters have {self.channels} values"
            )
        return axis

    def _wide(self, dtype: np.dtype[Any]) -> bool:
        return dtype.newbyteorder("=") in _WIDE or self.dtype in _WIDE

    def _steps(self, *, wide: bool) -> list[tuple[int, Array | None]]:
        """The operations as the kernels take them."""
        return [
            (_ARITHMETICS[name], parameter.double if wide else parameter.single)
            if isinstance(parameter, Parameter)
            else (_ROUNDINGS_FROM + ROUNDING_NUMBERS[parameter], None)
            for name, parameter in self.operations
        ]

    def _reciprocals(self) -> list[Array]:
        """Those of the divisors, in float32, rounded once."""
        with np.errstate(divide="ignore", over="ignore", under="ignore"):
            return [
                1 / parameter.single
                for name, parameter in self.operations
                if name == "divide" and isinstance(parameter, Parameter)
            ]

    def _refuse_misfits(self, memory: Array, axis: int, start: int = 0) -> None:
        from tensorbuf.fitting import bounds  # computes with fractions, whose import takes a while

        wide = self._wide(memory.dtype)
        limits = bounds(np.dtype(np.float64 if wide else np.float32), self.dtype, self.rule.rounding)
        if limits is None:
            return
        position = pipeline.first_outside_after(
            memory,
            CODES[memory.dtype.newbyteorder("=")],
            wide,
            self._steps(wide=wide),
            axis,
            limits.least,
            limits.most,
            filling(self.dtype, self.rule)[1],
            limits.infinity,
        )
        if position < memory.size:
            raise misfit(memory, position, self.dtype, start, "which the plan takes to a value that")

    def _apply_overlapping(self, moved: Array, into: Array, axis: int) -> None:
        if self.channels == 1 or same_places(moved, into):
            for part, target in passes(moved, into):
                self._run(part, target, axis, staged=np.may_share_memory(part, target))
            return
        axis -= moved.shape[:axis].count(1)
        for box, part, target in blocks(moved.squeeze(), into.squeeze()):
            whole = part.shape[axis] == self.channels
            plan = self if whole else self.of_channels(box[axis].start, box[axis].stop)
            plan._run(part, target, axis, staged=np.may_share_memory(part, target))

    def _run(
        self, moved: Array, into: Array, axis: int, *, staged: bool = False, by_reciprocals: bool = False
    ) -> pipeline.Prepared:
        wide = self._wide(moved.dtype)
        steps = self._steps(wide=wide)
        if DataType.of(self.dtype).is_integer and self.rule.rounding != "truncate":
            steps.append((_ROUNDINGS_FROM + ROUNDING_NUMBERS[self.rule.rounding], None))
        return pipeline.apply(
            moved,
            CODES[moved.dtype.newbyteorder("=")],
            wide,
            self._never_nan,
            steps,
            self._reciprocals() if by_reciprocals else [],
            axis,
            into,
            CODES[self.dtype],
            self.mode,
            as_int64(filling(self.dtype, self.rule)[0]),
            staged,
        )

    def _look_up(self, moved: Array, into: Array, axis: int) -> pipeline.Prepared:
        tables = self._results(self._every_byte(moved.dtype))
        if not into.dtype.isnative:
            tables = tables.byteswap().view(into.dtype)
        return pipeline.look_up(moved, CODES[moved.dtype], tables, axis, into, CODES[self.dtype])
