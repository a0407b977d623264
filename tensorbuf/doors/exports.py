"""The doors out of an array class, but for those of its own: DLPack, torch, Arrow."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbuf import doors
from tensorbuf.memory import releasing

__all__ = ["Exports"]


class Exports:
    """Exports to DLPack, torch and Arrow what `_exported` gives."""

    __slots__ = ()

    def _exported(self) -> tuple[np.ndarray[Any, Any], bool]:
        """The memory of the elements, read-only where they are, and whether it was copied for this call."""
        raise NotImplementedError

    @property
    def requires_grad(self) -> bool:
        """Whether `to_torch` asks for a gradient: False for all but results of `frombuffer` and their views."""
        return False

    @releasing
    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """The DLPack capsule of the elements, which it *shares* where DLPack can describe their memory.

        Raises
        ------
        BufferError
            If they would have to be copied and `copy` is False, or are read-only and `max_version` is below 1.
        """
        memory, copied = self._exported()
        return doors.dlpack.export(
            memory, stream=stream, max_version=max_version, dl_device=dl_device, copy=copy, copied=copied
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        return doors.dlpack.CPU

    @releasing
    def to_torch(self, copy: bool | None = None) -> Any:
        """A torch tensor of the elements.

        Parameters
        ----------
        copy : bool, optional
            True copies. None *shares* the memory where torch can be trusted with it, and *copies* where it is
            read-only, misaligned, byte-swapped, or has negative strides. False refuses there.

        Returns
        -------
        torch.Tensor
            On the CPU; it requires a gradient if this array does.

        Raises
        ------
        BufferError
            If `copy` is False and the memory cannot be shared.
        TypeError
            If the elements are objects.
        ImportError
            If torch is not installed.
        """
        memory, copied = self._exported()
        return doors.torch.to_torch(memory, copy, copied=copied, requires_grad=self.requires_grad)

    @releasing
    def to_arrow(self) -> Any:
        """An Arrow array of the elements.

        Returns
        -------
        object
            Rank 1: a primitive array, which *shares* the memory where that is contiguous, aligned and in native order
            (bools are packed into bits, a copy); a ``pyarrow.Array`` where pyarrow is installed, else an object that
            every library with Arrow's PyCapsule interface takes. Rank 0 counts as length 1. Rank 2 and more: a
            ``pyarrow.FixedShapeTensorArray``, as long as axis 0.

        Raises
        ------
        TypeError
            If Arrow has no such type: bfloat16, float8, complex, objects.
        ImportError
            If the rank is 2 or more and pyarrow is not installed.
        """
        return doors.arrow.to_arrow(self._exported()[0])
