"""The errors that are more precise than Python's own."""

__all__ = ["ConversionError", "RankError", "ReadOnlyError", "ShapeError"]


class RankError(ValueError):
    """A wrong number of coordinates, selectors or axes."""


class ShapeError(ValueError):
    """A shape, a size or a count that does not fit."""


class ReadOnlyError(ValueError):
    """A write to memory that is read-only."""


class ConversionError(OverflowError, ValueError):
    """A checked conversion (``overflow="raise"``) met a value that the target type does not hold."""
