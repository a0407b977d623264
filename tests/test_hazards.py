"""What crashes or corrupts elsewhere, each in a child process, which a mistake would kill."""

import subprocess
import sys
import textwrap

import pytest

START = """
import array, ctypes, gc, mmap, pickle, sys, tempfile
import ml_dtypes, numpy as np
import tensorbuf
from tensorbuf import *

def refuses(call):
    try:
        call()
    except BufferError:
        return
    raise SystemExit(f"{call} was not refused")
"""

HAZARDS = {
    "a bytearray resized under every kind of view": """
        views = [
            lambda x: x, lambda x: x[1:], lambda x: x.get(0), lambda x: x.slice(tensorbuf.index.seq(1, 0)), memoryview,
            np.asarray, lambda x: x.to_numpy()[::-1], lambda x: bitcast(x, "uint8"), lambda x: x.__dlpack__(),
            lambda x: x.__dlpack__(max_version=(1, 0)), from_dlpack, np.from_dlpack, lambda x: x.to_arrow(),
            lambda x: frombuffer(memoryview(x)[1:], dtype="int32"), lambda x: x.with_shape((2, 2)),
            lambda x: x.elements(0), lambda x: iter(x.to_numpy()), lambda x: NdArray(x),
            lambda x: from_memory(x, 4, "int32"),
        ]
        changes = [
            lambda b: b.append(1), lambda b: b.clear(), lambda b: b.pop(), lambda b: b.extend(b"12"),
            lambda b: b.__delitem__(0),
            lambda b: b.insert(0, 1), lambda b: b.__setitem__(slice(0, 2), b""), lambda b: b.__imul__(2),
            lambda b: b.__iadd__(b"1"),
        ]
        for view in views:
            owner = bytearray(range(16))
            held = view(frombuffer(owner, dtype="int32"))
            gc.collect()
            for change in changes:
                refuses(lambda: change(owner))
            assert owner == bytes(range(16))
            del held
            gc.collect()
            owner.append(1)
    """,
    "other owners resized or closed": """
        numbers = array.array("i", range(4))
        held = frombuffer(numbers, dtype="int32")
        changes = (lambda: numbers.append(1), numbers.pop, lambda: numbers.extend([1]), lambda: numbers.fromlist([1]))
        for change in changes:
            refuses(change)
        for mapped in (mmap.mmap(-1, 4096), np.memmap(tempfile.TemporaryFile(), "uint8", "w+", shape=4096)):
            kept = frombuffer(mapped, dtype="float32")
            close = mapped.close if isinstance(mapped, mmap.mmap) else mapped._mmap.close
            del mapped
            gc.collect()
            refuses(close)
            kept[1000] = 1.5
            assert kept[1000] == 1.5
            del kept
            gc.collect()
            close()
        raw = bytearray(16)
        for built in (np.ndarray((4,), "int32", raw), np.frombuffer(raw, "int32")):
            kept = frombuffer(built, dtype="int32")
            del built
            refuses(raw.clear)
            del kept
        raw.clear()
        view = memoryview(bytearray(16))
        kept = frombuffer(view, dtype="int32")
        refuses(view.release)
        assert kept.tolist() == [0, 0, 0, 0]
    """,
    "shared memory closed": """
        from multiprocessing import shared_memory
        memory = shared_memory.SharedMemory(create=True, size=4096)
        kept = frombuffer(memory.buf, dtype="float32")
        refuses(memory.close)
        kept[0] = 1.5
        assert kept[0] == 1.5
        del kept
        memory.close()
        memory.unlink()
    """,
    "an owner freed under a view": """
        held = [frombuffer(bytearray(b"1234" * 100000), dtype="uint32")[50000:] for _ in range(20)]
        held += [from_memory(mmap.mmap(-1, 2**16), (16, 16), "float64", row_stride=2**12)[15] for _ in range(20)]
        held += [bitcast(frombuffer(array.array("d", range(1000)), dtype="float64"), "int64") for _ in range(20)]
        held += [np.from_dlpack(frombuffer(bytearray(8000), dtype="complex64")) for _ in range(20)]
        gc.collect()
        trash = [bytearray(b"x" * 400000) for _ in range(20)]
        assert held[0][0] == int.from_bytes(b"1234", sys.byteorder)
        assert held[20].tolist() == [0.0] * 16
        assert held[-1].sum() == 0
    """,
    "a failed call, its exception kept": """
        kept = []
        for how in (
            dict(dtype="int32", count=99), dict(dtype="int32", count=0), dict(dtype="int32", offset=-1),
            dict(dtype="int32", offset=1),
            dict(dtype="int32", requires_grad=True), dict(dtype="nonsense"), dict(dtype="int32", count="1"),
        ):
            owner = bytearray(16)
            for make in (
                lambda: owner, lambda: memoryview(owner), lambda: memoryview(owner).cast("i"),
                lambda: np.frombuffer(owner, "i4"),
            ):
                try:
                    frombuffer(make(), **how)
                except (TypeError, ValueError) as error:
                    kept.append(error)
                owner.append(1)
                owner.pop()
        for call in (
            lambda owner: frombuffer(memoryview(owner)[::2], dtype="uint8"),
            lambda owner: from_memory(memoryview(owner), (9, 9), "int32"),
            lambda owner: from_memory(memoryview(owner), (2, 2), "int32", row_stride=1),
            lambda owner: bitcast(frombuffer(owner, dtype="uint8")[1:], "complex128"),
            lambda owner: bitcast(np.frombuffer(owner, "uint8")[:3], "int32"),
            lambda owner: frombuffer(owner, dtype="int32").__dlpack__(stream=1),
            lambda owner: from_dlpack(memoryview(owner)),
            lambda owner: TensorBuffer.create_fixed_size((3,), "int32").load_buffer(memoryview(owner)),
            lambda owner: NdArray(memoryview(owner), "int32", copy=False),
        ):
            owner = bytearray(16)
            try:
                call(owner)
            except Exception as error:
                kept.append(error)
            else:
                raise SystemExit("nothing failed")
            owner.append(1)
        assert len(kept) == 37
    """,
    "read-only memory written through any door": """
        source = bytes(range(64))
        before = bytes(bytearray(source))
        mapped = mmap.mmap(-1, 64, access=mmap.ACCESS_READ)
        for owner in (source, memoryview(bytearray(source)).toreadonly(), np.frombuffer(source, "uint8"), mapped):
            x = frombuffer(owner, dtype="float32")
            exports = [
                x.to_numpy(), np.asarray(x), np.from_dlpack(x), x[1:].to_numpy(), bitcast(x, "uint8").to_numpy(),
                from_memory(owner, (4, 4), "uint8", row_stride=8).to_numpy(), from_dlpack(x).to_numpy(),
                pickle.loads(pickle.dumps(x, 5)).to_numpy(), np.asarray(memoryview(x)),
                from_arrow(x.to_arrow()).to_numpy(),
            ]
            for exported in exports:
                assert not exported.flags.writeable
                for attempt in (lambda: exported.__setitem__(0, 1), lambda: exported.setflags(write=True)):
                    try:
                        attempt()
                    except ValueError:
                        continue
                    if exported.base is not None and np.shares_memory(exported, np.asarray(x)):
                        raise SystemExit("written")
            for write in (lambda: x.__setitem__(0, 1.0), lambda: x.set_object(1.0, 0), lambda: x.set([0.0] * x.size)):
                try:
                    write()
                except ReadOnlyError:
                    continue
                raise SystemExit("written")
            try:
                convert(x, "float32", out=x)
            except ReadOnlyError:
                pass
            buffer = TensorBuffer.create_fixed_size((x.size,), "float32")
            buffer.load_buffer(owner)
            buffer.load_array([7] * x.size)
        assert source == before
        assert mapped[:] == bytes(64)
    """,
    "sizes that overflow": """
        for count in (2**61, 2**62, 2**63 - 1, 2**63, 2**64, 2**100):
            for dtype in ("uint8", "int32", "complex128"):
                for offset in (0, 1, 16):
                    try:
                        frombuffer(bytearray(16), dtype=dtype, count=count, offset=offset)
                    except ValueError:
                        continue
                    raise SystemExit("taken")
        for shape in ((2**62, 4), (2**32, 2**32), (2**63 - 1,), (2, 2**62)):
            for stride in (None, 2**62, 2**63 - 1, 2**64):
                try:
                    from_memory(bytearray(16), shape, "int32", row_stride=stride)
                except ShapeError:
                    continue
                raise SystemExit("taken")
    """,
    "capsules used twice, dropped, or outliving everything": """
        class Handing:
            def __init__(self, capsule):
                self.capsule = capsule
            def __dlpack__(self, **how):
                return self.capsule
        for how in ({}, {"max_version": (1, 0)}):
            handing = Handing(frombuffer(bytearray(8), dtype="int32").__dlpack__(**how))
            kept = from_dlpack(handing)
            for _ in range(3):
                try:
                    from_dlpack(handing)
                except TypeError:
                    continue
                raise SystemExit("used twice")
            del handing
            gc.collect()
            assert kept.tolist() == [0, 0]
            for _ in range(1000):
                frombuffer(bytearray(8), dtype="int32").__dlpack__(**how)
        pair = frombuffer(bytearray(8), dtype="int32").to_arrow().__arrow_c_array__()
        class Pair:
            def __arrow_c_array__(self, requested_schema=None):
                return pair
        kept = from_arrow(Pair())
        try:
            from_arrow(Pair())
        except ValueError:
            pass
        else:
            raise SystemExit("used twice")
        del pair
        gc.collect()
        assert kept.tolist() == [0, 0]
        tensorbuf.survives = [kept, frombuffer(bytearray(8), dtype="int32").__dlpack__(), np.from_dlpack(kept)]
    """,
    "a list that changes while it is read": """
        class Changing:
            def __init__(self, values):
                self.values = values
            def __array__(self, dtype=None, copy=None):
                self.values.clear()
                gc.collect()
                return np.array(5)
        for length in (3, 10000):
            values = [1.5] * length
            values[1] = Changing(values)
            try:
                convert(values, "uint8")
            except ValueError:
                continue
            raise SystemExit("taken")
        import threading
        values, stop = [1.0] * 100000, []
        def work():
            while not stop:
                del values[50000:]
                values.extend([2.0] * 50000)
        worker = threading.Thread(target=work)
        worker.start()
        for _ in range(50):
            try:
                convert(values, "uint8")
            except ValueError:
                pass
        stop.append(1)
        worker.join()
    """,
}


@pytest.mark.parametrize("name", HAZARDS)
def test_hazard(name):
    code = START + textwrap.dedent(HAZARDS[name])
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
