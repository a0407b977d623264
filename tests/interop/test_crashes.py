"""What crashes or corrupts with a partner, each in a child process, which a mistake would kill."""

import subprocess
import sys
import textwrap

import pytest

START = """
import gc, mmap
import numpy as np, pyarrow as pa, torch
import tensorbuf
from tensorbuf import *

def refuses(call):
    try:
        call()
    except BufferError:
        return
    raise SystemExit(f"{call} was not refused")
"""

CRASHES = {
    "a reversed array into torch": """
        x = NdArray(np.arange(6, dtype="float32")).slice(tensorbuf.index.flip())
        for tensor in (x.to_torch(), torch.from_dlpack(x), torch.utils.dlpack.from_dlpack(x.__dlpack__())):
            assert tensor.tolist() == [5, 4, 3, 2, 1, 0]
            tensor.zero_()
        assert x.tolist() == [5, 4, 3, 2, 1, 0]
        refuses(lambda: x.to_torch(copy=False))
        refuses(lambda: x.__dlpack__(copy=False))
    """,
    "a bytearray cleared under a tensor": """
        makes = (
            lambda x: x.to_torch(), torch.from_dlpack, lambda x: pa.array(x.to_arrow()),
            lambda x: NdArray(x.to_torch()),
        )
        for make in makes:
            owner = bytearray(4000)
            held = make(frombuffer(owner, dtype="float32"))
            gc.collect()
            for change in (owner.clear, owner.pop, lambda: owner.append(1), lambda: owner.extend(b"1" * 10**6)):
                refuses(change)
            del held
            gc.collect()
            owner.clear()
    """,
    "a mapping closed under a tensor": """
        mapped = mmap.mmap(-1, 2**16)
        tensor = frombuffer(mapped, dtype="int64").to_torch()[100:]
        refuses(mapped.close)
        tensor.fill_(7)
        assert tensor.sum().item() == 7 * (2**13 - 100)
        del tensor
        gc.collect()
        mapped.close()
    """,
    "read-only memory written by torch": """
        source = bytes(range(64))
        for x in (frombuffer(source, dtype="float32"), ShapedArray(np.frombuffer(source, "int32"))):
            before = np.array(x)
            tensor = x.to_torch()
            tensor.zero_()
            assert (np.asarray(x) == before).all()
            refuses(lambda: x.to_torch(copy=False))
        assert source == bytes(bytearray(range(64)))
    """,
    "misaligned memory into torch": """
        owner = bytearray(range(65))
        x = frombuffer(owner, dtype="float64", offset=1)
        assert x.to_torch().numpy().tobytes() == bytes(owner[1:])
        assert torch.from_dlpack(x).numpy().tobytes() == bytes(owner[1:])
        refuses(lambda: x.to_torch(copy=False))
    """,
    "memory that outlives its owner": """
        tensors = [frombuffer(bytearray(b"1234" * 10**5), dtype="uint8").to_torch()[1:] for _ in range(10)]
        arrays = [from_arrow(pa.array(range(10**5)))[1:] for _ in range(10)]
        views = [NdArray(torch.full((10**5,), 7.0))[1:] for _ in range(10)]
        gc.collect()
        trash = [bytearray(b"x" * 10**6) for _ in range(10)]
        assert all(tensor[0] == ord("2") for tensor in tensors)
        assert all(array[0] == 1 for array in arrays)
        assert all(view[-1] == 7.0 for view in views)
    """,
}


@pytest.mark.parametrize("name", CRASHES)
def test_crash(name):
    code = START + textwrap.dedent(CRASHES[name])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
