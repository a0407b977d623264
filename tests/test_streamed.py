"""Results too large for the caches, which are written past them: every value, and nothing beside them."""

import numpy as np
import pytest

from tensorbuf import Converter, clear_cache, convert, saturate_cast

LEAST = 1 << 25  # bytes of a result from which it is streamed; half of them where it can be done from registers
COUNT = LEAST // 4 + 517


@pytest.fixture(scope="module")
def codes() -> np.ndarray:
    return (np.arange(9_400_000, dtype=np.uint32) * 2654435761 >> 13).astype(np.uint8)


@pytest.fixture(autouse=True)
def nothing_kept():
    yield
    clear_cache()


def within(count: int, offset: int) -> tuple[np.ndarray, np.ndarray]:
    """A float32 target that begins `offset` bytes behind a cache line, and all the memory around it."""
    memory = np.full(4 * count + 256, 0xA5, np.uint8)
    start = -memory.ctypes.data % 64 + offset
    return memory[start : start + 4 * count].view(np.float32), memory


def untouched(memory: np.ndarray, out: np.ndarray) -> bool:
    before = out.ctypes.data - memory.ctypes.data
    outside = memory[:before], memory[before + out.nbytes :]
    return all((part == 0xA5).all() for part in outside)


@pytest.mark.levels
@pytest.mark.parametrize("offset", [0, 4, 20, 60])
@pytest.mark.parametrize("count", [LEAST // 8 - 1, LEAST // 8, LEAST // 8 + 517, LEAST // 4, COUNT])
def test_a_row(codes, count, offset):
    out, memory = within(count, offset)
    for source in (codes[:count], codes[7 : count + 7]):
        assert convert(source, "float32", out=out) is out
        assert np.array_equal(out, source)
    assert untouched(memory, out)


def test_a_new_result(codes):
    for _ in range(2):
        assert np.array_equal(convert(codes, "float32"), codes)


@pytest.mark.levels
@pytest.mark.parametrize("offset", [0, 4, 60])
@pytest.mark.parametrize(("of", "to"), [("int64", "int32"), ("float64", "float32")])
def test_values_half_as_wide(of, to, offset):
    """The special values lie at every place within a vector, and in the rest behind the last one."""
    count = LEAST // 8 + 13
    special = {
        "int64": [0, -1, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**32, -(2**32), 2**63 - 1, -(2**63), 7],
        "float64": [0, -0.0, np.nan, -np.inf, 1e300, -1e39, 1e-45, 1e-46, 3.4028235677973366e38, 1 + 2.0**-24, np.pi],
    }[of]
    some = np.array(special, of)
    if of == "float64":
        some.view(np.uint64)[2] |= 0x8000000000000001  # a negative NaN with a payload, which are not kept
    source = np.resize(some, count)
    if of == "int64":
        want = np.clip(source, -(2**31), 2**31 - 1).astype(to)
        wrapped = source.astype(to)
    else:
        with np.errstate(over="ignore"):
            want = wrapped = source.astype(to)
        want.view(np.uint32)[np.isnan(want)] = 0x7FC00000
    out, memory = within(count, offset)
    out = out.view(to)
    convert(source, to, out=out)
    assert out.tobytes() == want.tobytes()
    convert(source, to, out=out, overflow="wrap")
    assert out.tobytes() == wrapped.tobytes()
    assert untouched(memory, out)
    limits = np.iinfo(to) if of == "int64" else np.finfo(to)
    finite = np.clip(want, limits.min, limits.max)
    assert saturate_cast(source, to).tobytes() == finite.tobytes()


@pytest.mark.parametrize("step", [2, -1, -3])
def test_a_source_with_gaps(codes, step):
    spread = np.repeat(codes, abs(step))
    source = spread[::step]
    out, memory = within(len(source), 4)
    convert(source, "float32", out=out)
    assert np.array_equal(out, source)
    assert untouched(memory, out)


@pytest.mark.parametrize("tail", [1, 15, 16])
def test_a_tail_that_ends_before_the_next_cache_line(codes, tail):
    """Tiles begin on cache lines of the source, which are none of the target; the last tile is the tail."""
    count = LEAST // 8 + tail
    spread, _ = within(count // 2 + 1, 0)
    source = spread.view(np.uint8)[: 2 * count : 2]
    source[...] = codes[:count]
    out, memory = within(count, 4)
    convert(source, "float32", out=out)
    assert np.array_equal(out, source)
    assert untouched(memory, out)


def test_a_source_of_the_other_byte_order(codes):
    source = codes.astype(">i2") * 100
    assert np.array_equal(convert(source, "float32"), source)


def test_misaligned_sources_and_targets(codes):
    source = np.concatenate([codes[:1], codes.astype(np.int16).view(np.uint8)])[1:].view(np.int16)
    memory = np.zeros(4 * len(source) + 1, np.uint8)
    out = memory[1:].view(np.float32)
    convert(source, "float32", out=out)
    assert np.array_equal(out.copy(), source)


@pytest.mark.levels
def test_several_steps(codes):
    source = codes.astype(np.float32) * np.float32(0.25)
    assert np.array_equal(convert(source, "int32", rounding="nearest"), np.rint(source))
    assert np.array_equal(convert(source, "float64", out=np.empty(len(source))), source)
    assert np.array_equal(Converter("float32", scale=2, offset=-1)(source), source * 2 - 1)


@pytest.mark.levels
@pytest.mark.parametrize("shape", [(1700, 1650, 3), (1699, 1663, 3), (1500, 1500, 4), (9, 311111, 3), (311111, 9, 3)])
def test_pixels_to_planes_and_back(codes, shape):
    pixels = codes[: int(np.prod(shape))].reshape(shape)
    scale = np.array([2, 0.5, 4, 8], np.float32)[: shape[2]]
    planes = Converter("float32", scale=scale, offset=3, layout="HWC->CHW")(pixels)
    assert np.array_equal(planes, pixels.transpose(2, 0, 1) * scale[:, None, None] + 3)
    back = Converter("float32", scale=1 / scale, layout="CHW->HWC")(planes - 3)
    assert np.array_equal(back, pixels)


def test_planes_with_gaps_between_their_rows(codes):
    pixels = codes[: 1700 * 1650 * 3].reshape(1700, 1650, 3)
    memory = np.full((3, 1700, 1700), -1, np.float32)
    out = memory[:, :, 7:1657]
    Converter("float32", scale=2, layout="HWC->CHW")(pixels, out=out)
    assert np.array_equal(out, pixels.transpose(2, 0, 1) * np.float32(2))
    assert (memory[:, :, :7] == -1).all()
    assert (memory[:, :, 1657:] == -1).all()


def test_columns_to_rows(codes):
    source = codes[: 3000 * 2800].reshape(2800, 3000).T
    assert np.array_equal(convert(source, "float32"), source)


@pytest.mark.parametrize("layout", ["HWC->HWC", "HWC->CHW"])
def test_parameters_for_every_column(codes, layout):
    pixels = codes[: 4 * 1500 * 1500].reshape(1500, 1500, 4)
    offset = np.arange(4, dtype=np.float32)
    got = Converter("float32", offset=offset, layout=layout)(pixels)
    want = pixels + offset
    assert np.array_equal(got, want if layout == "HWC->HWC" else want.transpose(2, 0, 1))


def test_a_result_over_its_source(codes):
    memory = np.zeros(4 * COUNT, np.uint8)
    begin = memory[:COUNT]
    begin[:] = codes[:COUNT]
    convert(begin, "float32", out=memory.view(np.float32))
    assert np.array_equal(memory.view(np.float32), codes[:COUNT])
