"""Tiny inputs that crash or silently corrupt in common stacks; each with what the stack does, and tensorbuf's way.

Every function runs alone in a process of its own, imports what it needs there, and returns what it found.
"""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from typing import Any

import numpy as np

import tensorbuf

__all__ = ["HAZARDS", "Hazard"]

# Long enough that the memory goes back to the system, and reading it afterwards cannot look right by luck.
_SIZE = 1 << 22


@dataclass(frozen=True)
class Hazard:
    """One thing that can go wrong.

    Attributes
    ----------
    name : str
        What it is.
    peer : str
        The module that it is tried in.
    wanted : object
        What both functions return where all is right.
    there, here : callable
        The hazard in the peer, and in tensorbuf.
    refusal : tuple of exception classes
        Those that are right too, since they refuse what cannot be done safely.
    """

    name: str
    peer: str
    wanted: object
    there: Callable[[], object]
    here: Callable[[], object]
    refusal: tuple[type[Exception], ...] = ()


def _cleared(frombuffer: Callable[[Any], Any]) -> object:
    owner = bytearray(b"\7" * _SIZE)
    tensor = frombuffer(owner)
    owner.clear()
    return int(tensor[_SIZE - 1])


def _closed_mmap(frombuffer: Callable[[Any], Any]) -> object:
    owner = mmap.mmap(-1, _SIZE)
    owner[-1:] = b"\7"
    tensor = frombuffer(owner)
    owner.close()
    return int(tensor[_SIZE - 1])


def _closed_shared_memory(frombuffer: Callable[[Any], Any]) -> object:
    owner = SharedMemory(create=True, size=_SIZE)
    owner.unlink()
    _numpy_bytes(owner.buf)[_SIZE - 1] = 7
    tensor = frombuffer(owner.buf)
    owner.close()
    return int(tensor[_SIZE - 1])


def _torch_bytes(buffer: Any) -> Any:
    import torch

    return torch.frombuffer(buffer, dtype=torch.uint8)


def _numpy_bytes(buffer: Any) -> Any:
    # Unlike numpy.frombuffer, this lets go of the buffer.
    return np.ndarray((_SIZE,), np.uint8, buffer=buffer)


def _our_bytes(buffer: Any) -> Any:
    return tensorbuf.frombuffer(buffer, dtype="uint8")


def _torch_reversed() -> object:
    import torch

    return torch.from_dlpack(np.arange(3.0)[::-1]).tolist()


def _our_reversed() -> object:
    taken = np.from_dlpack(tensorbuf.NdArray(np.arange(3.0)[::-1]))
    return taken.tolist() if taken.strides > (0,) else f"strides {taken.strides}"


def _read_only() -> Any:
    array = np.zeros(3)
    array.flags.writeable = False
    return array


def _torch_read_only() -> object:
    import torch

    array = _read_only()
    torch.from_numpy(array)[0] = 9
    return array.tolist()


def _our_read_only() -> object:
    array = _read_only()
    np.from_dlpack(tensorbuf.NdArray(array))[0] = 9
    return array.tolist()


def _numpy_clip() -> object:
    limits = np.iinfo(np.int32)
    return int(np.clip(np.array([3e9], np.float32), limits.min, limits.max).astype(np.int32)[0])


def _torch_clip() -> object:
    import torch

    return int(torch.tensor([3e9]).clamp(-(2**31), 2**31 - 1).to(torch.int32)[0])


def _our_clip() -> object:
    return int(tensorbuf.convert(np.array([3e9], np.float32), "int32")[0])


def _numpy_other_order() -> object:
    return float(np.frombuffer(np.array([1.5], ">f4"), np.float32)[0])


def _torch_other_order() -> object:
    import torch

    return float(torch.frombuffer(np.array([1.5], ">f4"), dtype=torch.float32)[0])


def _our_other_order() -> object:
    return float(tensorbuf.frombuffer(np.array([1.5], ">f4"), dtype="float32")[0])


def _through_npy(save: Callable[[str, Any], object], load: Callable[[str], Any]) -> object:
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "a.npy")
        save(path, np.array([1.5, -2], "bfloat16"))
        return str(load(path).dtype)


def _numpy_npy() -> object:
    return _through_npy(np.save, np.load)


def _our_npy() -> object:
    return _through_npy(tensorbuf.save, tensorbuf.load)


def _torch_empty() -> object:
    return tuple(_torch_bytes(b"").shape)


def _our_empty() -> object:
    return tuple(_our_bytes(b"").shape)


_OUT_OF_RANGE = [300.7, -1.0, float("nan")]


def _numpy_uint8() -> object:
    return np.array(_OUT_OF_RANGE, np.float32).astype(np.uint8).tolist()


def _torch_uint8() -> object:
    import torch

    return [int(value) for value in torch.tensor(_OUT_OF_RANGE).to(torch.uint8)]


def _our_uint8() -> object:
    return tensorbuf.convert(np.array(_OUT_OF_RANGE, np.float32), "uint8").tolist()


# Just above the middle between two neighbours in bfloat16; float32, the stop on the way, does not hold the difference.
_ABOVE_TIE = 1 + 2**-8 + 2**-40


def _ml_dtypes_tie() -> object:
    import ml_dtypes

    return float(np.array([_ABOVE_TIE]).astype(ml_dtypes.bfloat16)[0])


def _torch_tie() -> object:
    import torch

    return float(torch.tensor([_ABOVE_TIE], dtype=torch.float64).to(torch.bfloat16)[0])


def _our_tie() -> object:
    return float(tensorbuf.convert(np.array([_ABOVE_TIE]), "bfloat16")[0])


HAZARDS = (
    Hazard(
        "a bytearray cleared under a live tensor",
        "torch",
        7,
        lambda: _cleared(_torch_bytes),
        lambda: _cleared(_our_bytes),
        (BufferError,),
    ),
    Hazard(
        "an mmap closed under a live tensor",
        "torch",
        7,
        lambda: _closed_mmap(_torch_bytes),
        lambda: _closed_mmap(_our_bytes),
        (BufferError,),
    ),
    Hazard(
        "a SharedMemory closed under a live array",
        "numpy",
        7,
        lambda: _closed_shared_memory(_numpy_bytes),
        lambda: _closed_shared_memory(_our_bytes),
        (BufferError,),
    ),
    Hazard("a reversed array handed over by DLPack", "torch", [2.0, 1.0, 0.0], _torch_reversed, _our_reversed),
    Hazard(
        "a read-only array handed over and written to",
        "torch",
        [0.0, 0.0, 0.0],
        _torch_read_only,
        _our_read_only,
        (BufferError, TypeError, ValueError),
    ),
    Hazard("3e9, clipped and cast to int32", "numpy", 2**31 - 1, _numpy_clip, _our_clip),
    Hazard("3e9, clamped and cast to int32", "torch", 2**31 - 1, _torch_clip, _our_clip),
    Hazard("300.7, -1 and NaN cast to uint8", "numpy", [255, 0, 0], _numpy_uint8, _our_uint8),
    Hazard("300.7, -1 and NaN cast to uint8", "torch", [255, 0, 0], _torch_uint8, _our_uint8),
    Hazard("bytes of >f4 read as native", "numpy", 1.5, _numpy_other_order, _our_other_order, (TypeError, ValueError)),
    Hazard("bytes of >f4 read as native", "torch", 1.5, _torch_other_order, _our_other_order, (TypeError, ValueError)),
    Hazard("bfloat16 through a .npy file", "numpy", "bfloat16", _numpy_npy, _our_npy),
    Hazard("an empty buffer", "torch", (0,), _torch_empty, _our_empty),
    Hazard("a float64 beside a tie cast to bfloat16", "ml_dtypes", 1 + 2**-7, _ml_dtypes_tie, _our_tie),
    Hazard("a float64 beside a tie cast to bfloat16", "torch", 1 + 2**-7, _torch_tie, _our_tie),
)
