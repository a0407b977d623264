"""The kernels that copy views: every size of item, step, length and direction, against numpy."""

import numpy as np
import pytest
from guarded import guarded

from tensorbuf._kernels.get import gather, may_overlap, scatter

pytestmark = pytest.mark.levels

SIZES = [1, 2, 3, 4, 5, 6, 8, 12, 16, 24]
STEPS = [1, 2, 3, 4, 5, -1, -2, -3, -4, -5]


def rows(size, count, step, lead):
    """A view of 3 rows of items whose bytes end where their memory ends, `lead` bytes from an aligned start."""
    length = max((count - 1) * abs(step) + 1, 0)
    memory = np.random.default_rng(size).integers(0, 256, 3 * length * size + lead, np.uint8)
    return memory[lead:].reshape(3, length, size)[:, ::step]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("step", STEPS)
def test_runs(size, step):
    for count in range(131):
        view = rows(size, count, step, count % 3)
        out = np.empty(view.shape, np.uint8)
        gather(view, None, out)
        assert (out == view).all()
        values = np.random.default_rng(1).integers(0, 256, view.shape, np.uint8)
        target, expected = rows(size, count, step, count % 3), rows(size, count, step, count % 3)
        scatter(values, target, None)
        expected[...] = values
        assert (target.base == expected.base).all()


@pytest.mark.parametrize("size", SIZES)
def test_tables(size):
    rng = np.random.default_rng(size)
    view = rng.integers(0, 256, (7, 9, size), np.uint8)
    for first, second in [([6, 0, 6], [8, 0, 3, 3]), ([2], [0]), ([], [1]), ([0, 1, 2, 3], [8, 7])]:
        tables = (np.array(first, np.int64), np.array(second, np.int64), None)
        out = np.empty((len(first), len(second), size), np.uint8)
        gather(view, tables, out)
        assert (out == view[np.ix_(first, second)]).all()
        target = view.copy()
        expected = view.copy()
        values = rng.integers(0, 256, out.shape, np.uint8)
        for i, row in enumerate(first):
            for j, column in enumerate(second):
                expected[row, column] = values[i, j]
        scatter(values, target, tables)
        assert (target == expected).all()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("step", STEPS)
def test_runs_touch_nothing_beyond_their_ends(size, step):
    lengths = [max((count - 1) * abs(step) + 1, 0) * size for count in range(131)]
    source, target = guarded(lengths[-1]), guarded(130 * size)
    source[:] = np.random.default_rng(size).integers(0, 256, source.size)
    for count, length in enumerate(lengths):
        for first, out_first in [(0, 0), (source.size - length, target.size - count * size)]:
            view = source[first : first + length].reshape(-1, size)[::step]
            target[:] = 0
            out = target[out_first : out_first + count * size].reshape(count, size)
            gather(view, None, out)
            assert (out == view).all()
            assert not target[:out_first].any()
            assert not target[out_first + count * size :].any()


@pytest.mark.parametrize("size", SIZES)
def test_short_runs_of_any_two_strides(size):
    """Channels in any order or some of them, windows that overlap, repeated ones; from the first byte to the last."""
    memory = guarded(4096)
    memory[:] = np.random.default_rng(size).integers(0, 256, memory.size)
    item = np.dtype((np.void, size))
    for outer in range(-20, 21):
        for inner in [-8, -4, -3, -2, -1, 0, 1, 2, 3, 4, 6, 8]:
            for rows, count in [(1, 3), (2, 2), (5, 4), (6, 3), (17, 2), (30, 3), (9, 16)]:
                reach = (rows - 1) * outer, (count - 1) * inner
                span = sum(map(abs, reach)) + size
                for low in (0, memory.size - span):
                    first = low - sum(min(r, 0) for r in reach)
                    view = np.ndarray((rows, count), item, memory, first, (outer, inner))
                    out = np.zeros(view.shape, item)
                    gather(view, None, out)
                    assert out.tobytes() == view.tobytes()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("stride", [1, 3, -2])
def test_tables_touch_nothing_beyond_their_ends(size, stride):
    rng = np.random.default_rng(size)
    for length in [1, 2, 7, 8, 9, 100, 1023, 1024, 1025, 2100]:
        memory = guarded(3 * length * abs(stride) * size)
        memory[:] = rng.integers(0, 256, memory.size)
        last = memory[memory.size - 3 * length * abs(stride) * size :].reshape(3, -1, size)
        view = last[:, ::stride] if stride < 0 else last[:, stride - 1 :: stride]
        first, second = np.array([2, 0, 1, 0]), rng.permutation(length)
        for columns in [second, second[: length // 2], np.append(second, second)]:
            out = np.empty((4, len(columns), size), np.uint8)
            gather(view, (first, columns, None), out)
            assert (out == view[np.ix_(first, columns)]).all()


def test_large_copies_let_the_interpreter_go_on():
    view = np.arange(300 * 500, dtype=np.float32).reshape(300, 500).T[::-1, ::2]
    out = np.empty(view.shape, np.float32)
    gather(view, None, out)
    assert (out == view).all()
    target = np.zeros((300, 500), np.float32).T[::-1, ::2]
    scatter(out, target, None)
    assert (target == view).all()


def test_zero_strides_and_scalars():
    repeated = np.broadcast_to(np.array([[1, 2, 3]], np.uint8), (4, 5, 3))
    out = np.empty(repeated.shape, np.uint8)
    gather(repeated, None, out)
    assert (out == repeated).all()
    scalar = np.empty((), np.int16)
    gather(np.array(7, np.int16), None, scalar)
    assert scalar == 7
    alone = np.lib.stride_tricks.as_strided(np.zeros(1, np.int8), (4, 6), (0, 0))
    scatter(np.arange(24, dtype=np.int8).reshape(4, 6), alone, None)
    assert alone[0, 0] == 23


def test_may_overlap():
    memory = np.zeros((4, 6))
    assert may_overlap(memory[::-1], memory[1:2])
    assert may_overlap(memory[:, ::2], memory[:, 1::2])
    assert not may_overlap(memory[:2], memory[2:])
    assert not may_overlap(memory[:0], memory)
    assert not may_overlap(memory[:2][::-1, ::-1], memory[2:][::-1])
