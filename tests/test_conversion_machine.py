"""What the process, its threads and its memory do to a conversion: nothing; and what it does to them: little."""

import copy
import ctypes
import platform
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import twin
from patterns import FLOATS, NAMES, REAL_NAMES, sample
from test_conversion_values import targets

from tensorbuf import Converter, cast, convert, saturate_cast

# The word of C's fenv_t that holds the flush bits, and the bits: (system, machine) -> (byte, size, bits).
FLUSH = {
    ("Linux", "x86_64"): (28, 4, 0x8040),
    ("Darwin", "x86_64"): (4, 4, 0x8040),
    ("Linux", "aarch64"): (0, 4, 1 << 24),
    ("Darwin", "arm64"): (8, 8, 1 << 24),
}
UPWARD = {"x86_64": 0x800, "AMD64": 0x100, "aarch64": 0x400000, "arm64": 0x400000, "ARM64": 0x100}


def c_library() -> ctypes.CDLL:
    return ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)


@contextmanager
def environment(change):
    """Run with a changed floating-point environment."""
    library = c_library()
    saved = ctypes.create_string_buffer(512)
    assert library.fegetenv(saved) == 0
    change(library, saved)
    try:
        yield
    finally:
        library.fesetenv(saved)


def flush_to_zero(library, saved):
    if sys.platform == "win32":
        library._controlfp(0x01000000, 0x03000000)
        return
    byte, size, bits = FLUSH[platform.system(), platform.machine()]
    changed = ctypes.create_string_buffer(saved.raw, 512)
    word = int.from_bytes(changed.raw[byte : byte + size], "little") | bits
    changed[byte : byte + size] = word.to_bytes(size, "little")
    assert library.fesetenv(changed) == 0


def round_upward(library, saved):
    assert library.fesetround(UPWARD[platform.machine()]) == 0


def tiny_vanishes() -> bool:
    return bool((np.full(8, 1e-40, np.float32) * np.full(8, 0.5, np.float32) == 0).all())


def rounds_up() -> bool:
    return bool((np.full(8, 1, np.float32) + np.full(8, 1e-20, np.float32) > 1).all())


in_each_environment = pytest.mark.parametrize(
    ("change", "works"), [(flush_to_zero, tiny_vanishes), (round_upward, rounds_up)], ids=["flush", "round"]
)


@pytest.mark.levels
@in_each_environment
def test_the_floating_point_environment_does_not_matter(change, works):
    assert not works()
    for of in NAMES:
        source = sample(of)
        for to in targets(of):
            expected = [convert(source, to), convert(source, to, overflow="wrap", rounding="nearest")]
            expected.append(saturate_cast(source, to))
            spread = np.repeat(source, 2)[::2]
            with environment(change):
                assert works()
                got = [convert(source, to), convert(source, to, overflow="wrap", rounding="nearest")]
                got.append(saturate_cast(source, to))
                strided = convert(spread, to)
                still = works()
            assert still, f"{of} to {to} changed the environment"
            assert [x.tobytes() for x in got] == [x.tobytes() for x in expected], f"{of} to {to}"
            assert strided.tobytes() == expected[0].tobytes(), f"{of} to {to}"
    assert not works()


@pytest.mark.levels
@in_each_environment
def test_nor_does_it_matter_to_a_converter(change, works):
    plans = [
        Converter("float32", scale=1e-3, offset=1e-42),
        Converter("float64", scale=1e-300, offset=1e-310),
        Converter("int16", scale=0.37, offset=[0.1], rounding="nearest_away"),
        Converter.normalize(1e-39, 0.3, divide_by=3),
        Converter.quantize(1e-39, 3),
        Converter.dequantize(1e-41, 1, dtype="float16"),
    ]
    for name in REAL_NAMES:
        source = sample(name)[:4000]
        for plan in plans:
            expected = plan(source).tobytes()
            with environment(change):
                # Made anew, since parameters are rounded too.
                got = copy.deepcopy(plan)(source)
                assert works()
            assert got.tobytes() == expected, (name, plan)


@pytest.mark.levels
@in_each_environment
def test_nor_do_lists_and_parameters_depend_on_it(change, works):
    numbers = [1e-310, 5e-324, -1e-40, 1e-45, 0.1, 2**53 + 1, 2**62 + 2**38 + 1, 1 / 3, 1e39, float("nan")]

    def results():
        yield from (convert(numbers, to).to_numpy().tobytes() for to in (*FLOATS, "complex64", "uint8", "bool"))
        for scale in (0.1, 1e-40, 1e-310, 2**24 + 1, [1e-45, 3e-39]):
            for to in ("float32", "float64"):
                yield Converter(to, scale=scale)(np.ones((3, 2), to)).tobytes()

    expected = list(results())
    with environment(change):
        assert works()
        assert list(results()) == expected


@pytest.mark.parametrize("of", FLOATS)
def test_a_nan_is_the_same_wherever_it_stands(of):
    """Each NaN in every place of a long array, contiguous, strided and alone."""
    nans = sample(of)
    nans = nans[twin.is_nan(twin.patterns_of(nans), of)][:40]
    for to in targets(of):
        for nan in nans[:: max(1, nans.size // 6)]:
            array = np.full(300, nan)
            for got in (convert(array, to), convert(np.repeat(array, 3)[::3], to), cast(array, to)):
                patterns = {x.tobytes() for x in got}
                assert patterns == {convert(array[:1], to).tobytes()}, (of, to)


def test_every_allocation_is_on_a_64_byte_boundary():
    for size in (0, 1, 3, 64, 1000, 100_003):
        x = np.zeros(size + 1, np.float32)[1:]
        for function in (convert, cast, saturate_cast):
            for dtype in ("uint8", "float32", "float64", "complex128"):
                assert function(x, dtype).ctypes.data % 64 == 0


def test_threads_give_the_same_results():
    pairs = [("float32", "uint8"), ("float64", "bfloat16"), ("int64", "float32"), ("float16", "float64")]
    sources = {of: np.resize(sample(of), 200_000) for of, _ in pairs}
    want = {pair: convert(sources[pair[0]], pair[1]).tobytes() for pair in pairs}

    def work(number: int) -> bool:
        of, to = pairs[number % len(pairs)]
        return convert(sources[of], to).tobytes() == want[of, to]

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(64)))


def test_other_threads_run_during_a_conversion():
    source = np.zeros(10_000_000, np.float32)
    out = np.empty(source.shape, np.float64)
    begun, ended = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        convert(source, "float64", out=out)
        ended.set()

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    turns = 0
    while not ended.is_set():
        turns += 1
    thread.join()
    assert turns > 100


@pytest.mark.release
def test_extra_memory_stays_under_a_megabyte():
    script = Path(__file__).with_name("peak_memory.py")
    done = subprocess.run([sys.executable, script, "conversions"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
