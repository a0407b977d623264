"""The entries of LiteRT's ``get_input_details()`` and ``get_output_details()``, which are dicts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tensorbuf.errors import shown

__all__ = ["TensorDetails", "read_detail"]

TensorDetails = Mapping[str, Any]


def read_detail(details: TensorDetails, key: str) -> Any:
    """What an entry says under `key`.

    Raises
    ------
    TypeError
        If `details` is no such entry (the whole list of them, for one), or says nothing there.
    """
    if not isinstance(details, Mapping):
        raise TypeError(
            "details must be one entry of get_input_details() or get_output_details(), such as "
            f"get_input_details()[0], got {type(details).__name__}"
        )
    if key not in details:
        raise TypeError(
            f"details must have {key!r}, as an entry of get_input_details() has, got {shown(list(details))}"
        )
    return details[key]
