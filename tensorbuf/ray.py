"""`Converter` on Ray datasets (https://docs.ray.io/en/latest/data/data.html)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tensorbuf.converter import Converter, check_converter
from tensorbuf.doors import arrow
from tensorbuf.doors.partner import partner
from tensorbuf.dtypes import CODES
from tensorbuf.errors import ShapeError

__all__ = ["convert"]

Array = np.ndarray[Any, Any]


def convert(dataset: Any, converter: Converter, columns: str | Iterable[str] | None = None) -> Any:
    """Carry a plan out on columns of a Ray dataset, block by block and not before it is executed.

    Parameters
    ----------
    dataset : ray.data.Dataset
        Of any columns and blocks.
    converter : Converter
        As in ``map_batches``, a column of a block is one array with the rows on axis 0, so that arrays of shape
        (h, w, c) in the rows are (n, h, w, c). A layout that names one axis less (``"HWC->CHW"``) is that of the rows.
    columns : str or iterable of str, optional
        Their names. Left out: every column of numbers or of arrays of numbers; name the columns to keep labels as they
        are.

    Returns
    -------
    ray.data.Dataset
        The same columns in the same order; those that were not named or hold no numbers as they were. Arrays whose
        shapes differ from row to row are converted row by row.

    Raises
    ------
    ImportError
        If Ray is not installed.
    TypeError
        If `dataset` is no Ray dataset, `converter` no Converter, or the columns of Ray, which are Arrow's, have no such
        type as the results (bfloat16, float8, complex).
    KeyError
        If there is no column of a name in `columns`. Where the columns are known only then, when the dataset is
        executed.

    Notes
    -----
    What the plan refuses, and a null in a column of integers, booleans or arrays, is an error when the dataset is
    executed: a ``RayTaskError``, whose text has the error and its sentence, which names the column.

    Examples
    --------
    >>> import numpy as np
    >>> import ray.data
    >>> from tensorbuf import Converter
    >>> frames = ray.data.from_numpy(np.zeros((4, 480, 640, 3), "uint8"))
    >>> convert(frames, Converter("float32", scale=1 / 255, layout="HWC->CHW")).take(1)[0]["data"].shape
    (3, 480, 640)
    """
    ray_data = partner("ray.data", "tensorbuf.ray", "ray")
    if not isinstance(dataset, ray_data.Dataset):
        raise TypeError(f"a ray.data.Dataset is needed, got a {type(dataset).__name__}; ray.data.from_numpy makes one")
    arrow.check_type(check_converter(converter).dtype)
    names = None if columns is None else [columns] if isinstance(columns, str) else list(dict.fromkeys(columns))
    schema = dataset.schema(fetch_if_missing=False)
    if names is not None and schema is not None:
        _check_names(names, schema.names)
    # Blocks as they are, so that Ray neither cuts nor joins them.
    return dataset.map_batches(
        _convert_block,
        batch_size=None,
        batch_format="pyarrow",
        zero_copy_batch=True,
        fn_kwargs={"converter": converter, "names": names},
    )


def _convert_block(table: Any, converter: Converter, names: list[str] | None) -> Any:
    if not table.num_rows:
        return table
    if names is not None:
        _check_names(names, table.column_names)
    block = partner("ray.data.block", "tensorbuf.ray", "ray").BlockAccessor
    for position, name in enumerate(table.column_names):
        if names is not None and name not in names:
            continue
        column, values = table.column(position), block.for_block(table).to_numpy(name)
        if not _holds_numbers(column, values):
            if names is None:
                continue
            raise TypeError(f"column {name!r} of type {column.type} holds neither numbers nor arrays of numbers")
        try:
            _refuse_nulls(column)
            converted = _convert_column(values, converter)
        except (TypeError, ValueError) as error:
            raise type(error)(f"column {name!r}: {error}") from None
        result = block.batch_to_arrow_block({name: converted})
        table = table.set_column(position, result.schema.field(name), result.column(name))
    return table


def _check_names(names: list[str], known: list[str]) -> None:
    for name in names:
        if name not in known:
            raise KeyError(f"there is no column {name!r}, only {', '.join(map(repr, known))}")


def _holds_numbers(column: Any, values: Array) -> bool:
    """Whether it is to be converted. Nulls do not count, so that the blocks of a column are all of one kind."""
    types = _types()
    if types.is_boolean(column.type):
        # Of objects, where there are nulls.
        return True
    if values.dtype == object:
        rows = [row for row in values if row is not None]
        return bool(rows) and all(isinstance(row, np.ndarray) and row.dtype in CODES for row in rows)
    return values.dtype in CODES and not types.is_null(column.type)


def _refuse_nulls(column: Any) -> None:
    # Ray makes NaNs of them, and with them floats of integers.
    if column.null_count and not _types().is_floating(column.type):
        raise ValueError(f"{column.null_count} of {len(column)} values are null; fill them or drop their rows first")


def _types() -> Any:
    return partner("pyarrow", "tensorbuf.ray", "ray").types


def _convert_column(values: Array, converter: Converter) -> Array:
    if values.dtype != object:
        return _convert_rows(values, converter)
    # Arrays of different shapes, each as a column of its own.
    results = np.empty(len(values), object)
    for i, row in enumerate(values):
        results[i] = _convert_rows(row[np.newaxis], converter)[0]
    return results


def _convert_rows(rows: Array, converter: Converter) -> Array:
    plan = converter._plan.for_rank(rows.ndim)
    if plan.check(rows.dtype, rows.shape) == 0 and plan.channels > 1:
        raise ShapeError(f"the channels are on axis 0 of shape {rows.shape}, which is that of the rows")
    result: Array = converter._of(plan)(rows)
    return result
