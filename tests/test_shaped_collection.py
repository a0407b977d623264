"""Indexing and Swift's collection protocol."""

import numpy as np
import pytest

from tensorbuf import RankError, Shape, ShapedArray, ShapedArraySlice, ShapeError

CUBE = ShapedArray(shape=[4, 3, 5], scalars=range(60))
ARRAY = np.arange(60).reshape(4, 3, 5)


def lists(array):
    return np.asarray(array).tolist()


@pytest.mark.parametrize(
    "key",
    [
        *(0, 3, -1, -4, np.int8(2)),
        *(slice(None), slice(1, 3), slice(-3, -1), slice(4, 4), slice(3, 1), slice(4, None), slice(-4, 4, 1)),
        *((1,), (1, 2), (1, -1, 3), (-1, slice(1, 2)), (0, 1, slice(None)), (slice(1, 2),), Shape((1, 2)), ()),
    ],
)
def test_parts_are_those_of_numpy(key):
    part = CUBE[key]
    assert type(part) is ShapedArraySlice
    assert lists(part) == ARRAY[key].tolist()
    assert part.shape == ARRAY[key].shape
    changed = ShapedArray(ARRAY)
    expected = ARRAY.copy()
    changed[key] = ARRAY[key] + 100
    expected[key] += 100
    assert lists(changed) == expected.tolist()


@pytest.mark.parametrize(
    ("key", "error"),
    [
        (4, IndexError),
        (-5, IndexError),
        (2**70, IndexError),
        (slice(0, 5), IndexError),
        (slice(-5, None), IndexError),
        (slice(0, 2**70), IndexError),
        ((1, 3), IndexError),
        ((1, slice(0, 4)), IndexError),
        (slice(0, 2, 2), ValueError),
        (slice(None, None, -1), ValueError),
        (slice(None, None, 0), ValueError),
        (1.0, TypeError),
        ("a", TypeError),
        (None, TypeError),
        (..., TypeError),
        ([0, 1], TypeError),
        (slice(0.0, 1), TypeError),
        (slice(0, 1, 1.0), TypeError),
        ((slice(0, 1), 0), TypeError),
        ((0, None), TypeError),
        (np.array([0, 1]), TypeError),
        ((0, 0, 0, 0), RankError),
    ],
)
def test_keys_that_do_not_fit(key, error):
    with pytest.raises(error) as reading:
        CUBE[key]
    assert type(reading.value) is error
    array = ShapedArray(CUBE)
    with pytest.raises(error):
        array[key] = 0
    assert array == CUBE


@pytest.mark.parametrize("key", [0, -1, slice(None), slice(0, 0), (), (0,), (0, 0)])
def test_a_scalar_takes_no_subscript(key):
    with pytest.raises(IndexError):
        ShapedArray(5)[key]
    with pytest.raises(IndexError):
        ShapedArray(5)[key] = 1


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (CUBE[1], range(15, 30)),
        (CUBE[1][2], range(25, 30)),
        (CUBE[1][2][3], range(28, 29)),
        (CUBE[1:3], range(15, 45)),
        (CUBE[1:3][1], range(30, 45)),
        (CUBE[1:3][0][1:3], range(20, 30)),
        (CUBE[1:3][1][2:][0][1:4], range(41, 44)),
        (CUBE[2:2], range(30, 30)),
        (CUBE[4:], range(60, 60)),
        (CUBE.prefix(2), range(30)),
        (CUBE.suffix(1), range(45, 60)),
        (CUBE[1, 2, 1:4], range(26, 29)),
        (ShapedArraySlice(CUBE), range(60)),
        (ShapedArraySlice(CUBE[1])[2], range(10, 15)),
        (ShapedArray(CUBE[1])[2], range(10, 15)),
    ],
)
def test_scalar_range(part, expected):
    assert part.scalar_range == expected
    changed = part[:] if part.rank else part
    if changed.scalar_count:
        changed.scalars = [7] * changed.scalar_count
    assert changed.scalar_range == expected


def test_only_slices_have_a_scalar_range():
    assert not hasattr(CUBE, "scalar_range")
    with pytest.raises(AttributeError):
        CUBE[0].scalar_range = range(3)


def test_properties():
    assert (CUBE.rank, CUBE.shape, CUBE.scalar_count, CUBE.is_scalar, CUBE.count, len(CUBE)) == (
        3,
        (4, 3, 5),
        60,
        False,
        4,
        4,
    )
    assert (CUBE.indices, CUBE.start_index, CUBE.end_index) == (range(4), 0, 4)
    scalar = CUBE[0, 0, 0]
    assert (scalar.rank, scalar.shape, scalar.scalar_count, scalar.is_scalar, scalar.count) == (0, (), 1, True, 0)
    assert (scalar.indices, scalar.first, scalar.last, list(scalar)) == (range(0), None, None, [])


def test_iteration():
    assert [lists(element) for element in CUBE] == ARRAY.tolist()
    assert [lists(element) for element in reversed(CUBE)] == ARRAY[::-1].tolist()
    assert [element.scalar_range.start for element in CUBE[1:]] == [15, 30, 45]
    assert CUBE[2] in CUBE
    assert ShapedArray(repeating=0, shape=[3, 5]) not in CUBE
    assert lists(CUBE.first) == ARRAY[0].tolist()
    assert lists(CUBE.last) == ARRAY[-1].tolist()
    assert CUBE[2:2].first is None


@pytest.mark.parametrize("n", range(6))
def test_prefixes_and_suffixes(n):
    values = list(range(4))
    array = ShapedArray(values)
    expected = [values[:n], values[max(0, 4 - n) :], values[n:], values[: max(0, 4 - n)]]
    assert [
        lists(part) for part in (array.prefix(n), array.suffix(n), array.drop_first(n), array.drop_last(n))
    ] == expected
    assert lists(array[1:3].prefix(n)) == values[1:3][:n]
    assert lists(array[1:3].drop_first(n)) == values[1:3][n:]


def test_dropping_one_by_default():
    assert (lists(ShapedArray([1, 2, 3]).drop_first()), lists(ShapedArray([1, 2, 3]).drop_last())) == ([2, 3], [1, 2])


@pytest.mark.parametrize("method", ["prefix", "suffix", "drop_first", "drop_last"])
def test_numbers_of_elements_that_do_not_fit(method):
    with pytest.raises(ValueError, match="-1"):
        getattr(CUBE, method)(-1)
    for n in (1.0, None, "1"):
        with pytest.raises(TypeError):
            getattr(CUBE, method)(n)


def test_up_to_through_and_from():
    array = ShapedArray([0, 1, 2, 3])
    assert [lists(array.prefix_up_to(i)) for i in (0, 2, 4, -1)] == [[], [0, 1], [0, 1, 2, 3], [0, 1, 2]]
    assert [lists(array.prefix_through(i)) for i in (0, 2, 3, -1, -4)] == [
        [0],
        [0, 1, 2],
        [0, 1, 2, 3],
        [0, 1, 2, 3],
        [0],
    ]
    assert [lists(array.suffix_from(i)) for i in (0, 2, 4, -1)] == [[0, 1, 2, 3], [2, 3], [], [3]]
    for call, i in (("prefix_up_to", 5), ("prefix_up_to", -5), ("prefix_through", 4), ("prefix_through", -5)):
        with pytest.raises(IndexError):
            getattr(array, call)(i)
    with pytest.raises(IndexError):
        array.suffix_from(5)
    with pytest.raises(TypeError):
        array.prefix_up_to(None)


def test_while():
    array = ShapedArray([1, 2, 5, 1])
    assert lists(array.prefix_while(lambda element: element.scalar < 3)) == [1, 2]
    assert lists(array.drop_while(lambda element: element.scalar < 3)) == [5, 1]
    assert lists(array.prefix_while(lambda element: True)) == [1, 2, 5, 1]
    assert lists(array.drop_while(lambda element: True)) == []


def test_a_predicate_that_mutates_does_not_reach_the_run():
    array = ShapedArray([1, 2, 3])

    def below(element):
        array[2] = 0
        return element.scalar < 3

    assert lists(array.drop_while(below)) == [3]
    assert lists(array) == [1, 2, 0]


SPLIT = ShapedArray([1, 0, 2, 3, 0, 0, 4, 0])


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, [[1], [2, 3], [4]]),
        ({"omitting_empty_subsequences": False}, [[1], [2, 3], [], [4], []]),
        ({"max_splits": 1}, [[1], [2, 3, 0, 0, 4, 0]]),
        ({"max_splits": 0}, [[1, 0, 2, 3, 0, 0, 4, 0]]),
        ({"max_splits": 2}, [[1], [2, 3], [0, 4, 0]]),
        ({"max_splits": 3, "omitting_empty_subsequences": False}, [[1], [2, 3], [], [4, 0]]),
        ({"max_splits": 9}, [[1], [2, 3], [4]]),
    ],
)
def test_split(arguments, expected):
    for separator in (0, np.int64(0), ShapedArray(0), SPLIT[1]):
        assert [lists(run) for run in SPLIT.split(separator, **arguments)] == expected
    runs = SPLIT.split(where=lambda element: element.scalar == 0, **arguments)
    assert [lists(run) for run in runs] == expected


def test_split_by_rows_and_of_nothing():
    rows = ShapedArray([[1, 1], [0, 0], [2, 2]])
    assert [lists(run) for run in rows.split([0, 0])] == [[[1, 1]], [[2, 2]]]
    assert [lists(run) for run in rows.split(separator=rows[1])] == [[[1, 1]], [[2, 2]]]
    nothing = ShapedArray(shape=[0], scalars=[], dtype="int64")
    assert nothing.split(0) == []
    assert [lists(run) for run in nothing.split(0, omitting_empty_subsequences=False)] == [[]]
    assert [lists(run) for run in ShapedArray([0, 0]).split(0, max_splits=0)] == [[0, 0]]


def test_split_refuses():
    for arguments in ({}, {"separator": 0, "where": bool}, {"separator": None}, {"separator": 0.5}):
        with pytest.raises(TypeError):
            SPLIT.split(**arguments)
    with pytest.raises(ValueError, match="-1"):
        SPLIT.split(0, max_splits=-1)
    with pytest.raises(ShapeError):
        SPLIT.split([0])


def test_swap_at():
    array = ShapedArray(shape=[3, 2], scalars=range(6))
    array.swap_at(0, -1)
    assert lists(array) == [[4, 5], [2, 3], [0, 1]]
    array.swap_at(1, 1)
    assert lists(array) == [[4, 5], [2, 3], [0, 1]]
    wide = ShapedArray(np.arange(6000).reshape(2, 3000))
    wide.swap_at(0, 1)
    assert (np.asarray(wide) == np.arange(6000).reshape(2, 3000)[::-1]).all()
    for i, j, error in ((0, 3, IndexError), (-4, 0, IndexError), (0, 1.0, TypeError), (slice(1), 0, TypeError)):
        with pytest.raises(error):
            array.swap_at(i, j)
    with pytest.raises(IndexError):
        ShapedArray(5).swap_at(0, 0)


def test_what_swift_writes_back_changes_a_temporary():
    array = ShapedArray([[0, 1], [2, 3]])
    array[0][1] = 9
    array.scalars[0] = 9
    for row in array:
        row[0] = 9
    assert lists(array) == [[0, 1], [2, 3]]
    array[0, 1] = 9
    array[1, 0:1] = [8]
    assert lists(array) == [[0, 9], [8, 3]]
