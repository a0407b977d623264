import copy
import pickle

import numpy as np
import pytest

from tensorbuf import Shape, ShapeError
from tensorbuf.shape import reshaped_strides


def test_is_a_tuple_of_python_ints():
    shape = Shape(np.array([2, 3], np.int32))
    assert shape == (2, 3)
    assert hash(shape) == hash((2, 3))
    assert [type(dim) for dim in shape] == [int, int]
    first, second = shape
    assert (first, second) == (2, 3)
    assert Shape(5) == (5,)
    assert Shape() == ()
    assert Shape(dim for dim in (1, 2)) == (1, 2)


@pytest.mark.parametrize("dims", [(1.0,), ("2",), (None,), (True,), None, 2.5, "23"])
def test_dimensions_are_integers(dims):
    with pytest.raises(TypeError):
        Shape(dims)


@pytest.mark.parametrize("dim", [-2, -(2**70)])
def test_dimensions_below_unknown_are_refused(dim):
    with pytest.raises(ShapeError, match=str(dim)):
        Shape.of(3, dim)


def test_size_is_exact_and_unknown_next_to_zero():
    assert Shape.of(2**40, 2**40).size == 2**80
    assert Shape.of(0, -1).size == -1
    assert Shape.of(0, 3).size == 0
    assert Shape.scalar().size == 1
    assert Shape.UNKNOWN_SIZE == -1


def test_questions():
    assert Shape.scalar().is_scalar
    assert Shape.of(3).is_vector
    assert Shape.of(3, 4).is_matrix
    assert not Shape.of(3).is_scalar
    assert not Shape.of(3, 4).is_vector
    assert not Shape.of(3).is_matrix
    assert Shape.of(3, -1).has_unknown_dimension
    assert not Shape.of(3, -1).is_unknown
    assert Shape.of(3, 4).num_dimensions == 2


def test_get():
    shape = Shape.of(2, 3, 4)
    assert [shape.get(i) for i in (0, 2, -1, -3)] == [2, 4, 4, 2]
    for i in (3, -4):
        with pytest.raises(IndexError):
            shape.get(i)
    with pytest.raises(TypeError):
        shape.get(1.0)


def test_parts():
    shape = Shape.of(2, 3, 4)
    assert shape.head() == (2,)
    assert shape.tail() == (3, 4)
    assert Shape.of(5).tail() == ()
    assert Shape.scalar().tail() == ()
    assert shape.take(0) == ()
    assert shape.take(2) == (2, 3)
    assert shape.take_last(2) == (3, 4)
    assert shape.sub_shape(1, 2) == (3,)
    assert shape.sub_shape(3, 3) == ()
    for part in (shape.head(), shape.tail(), shape.take(1), shape.take_last(1), shape.sub_shape(0, 1)):
        assert type(part) is Shape


@pytest.mark.parametrize(
    "call",
    [
        lambda s: s.take(-1),
        lambda s: s.take(4),
        lambda s: s.take_last(-1),
        lambda s: s.take_last(4),
        lambda s: s.sub_shape(1, 0),
        lambda s: s.sub_shape(-1, 2),
        lambda s: s.sub_shape(0, 4),
        lambda _: Shape.scalar().head(),
    ],
)
def test_parts_outside_the_shape_are_index_errors(call):
    with pytest.raises(IndexError):
        call(Shape.of(2, 3, 4))


def test_growing():
    assert Shape.of(9, 7).prepend(Shape.of(4, 2)) == (4, 2, 9, 7)
    assert Shape.of(9, 7).append(3) == (9, 7, 3)
    assert Shape.of(9).append((1, 2)) == (9, 1, 2)
    assert type(Shape.of(9).prepend(1)) is Shape


def test_compatible():
    assert Shape.of(-1, 4).is_compatible_with(Shape.of(3, -1))
    assert not Shape.of(1, 4).is_compatible_with(Shape.of(3, 4))
    assert not Shape.of(4).is_compatible_with(Shape.of(1, 4))
    assert Shape.unknown().is_compatible_with(Shape.of(1))
    assert Shape.of(1).is_compatible_with(Shape.unknown())
    assert Shape.is_compatible(-1, 7)
    assert Shape.is_compatible(7, 7)
    assert not Shape.is_compatible(7, 8)


def test_equality_is_the_tuples():
    assert Shape.of(-1, 4) == Shape.of(-1, 4)
    assert Shape.of(2) != (3,)


def test_unknown():
    unknown = Shape.unknown()
    assert unknown.is_unknown
    assert unknown.has_unknown_dimension
    assert unknown.num_dimensions == -1
    assert unknown.size == -1
    assert unknown.get(0) == unknown.get(77) == -1
    assert not (unknown.is_scalar)
    assert not (unknown.is_vector)
    assert not (unknown.is_matrix)
    assert unknown == Shape.unknown()
    assert not unknown != Shape.unknown()  # noqa: SIM202 (both operators are written out)
    assert unknown != ()
    assert () != unknown  # noqa: SIM300 (the tuple on the left)
    assert unknown != Shape.scalar()
    assert Shape.scalar() != unknown
    assert pickle.loads(pickle.dumps(unknown)).is_unknown
    assert copy.deepcopy(unknown).is_unknown
    assert repr(unknown) == "Shape.unknown()"
    assert unknown.as_array() is None
    assert unknown.to_list_or_none() is None
    assert {unknown: 1}[Shape.unknown()] == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda u: u.head(),
        lambda u: u.tail(),
        lambda u: u.take(0),
        lambda u: u.take_last(0),
        lambda u: u.sub_shape(0, 0),
        lambda u: u.prepend(1),
        lambda u: u.append(1),
        lambda u: Shape.of(1).prepend(u),
        lambda u: Shape.of(1).append(u),
        lambda u: tuple(u),
    ],
)
def test_unknown_cannot_be_rebuilt(call):
    with pytest.raises(ShapeError):
        call(Shape.unknown())


def test_copies_of_the_dimensions():
    array = Shape.of(2, 3).as_array()
    assert array.dtype == np.int64
    assert array.tolist() == [2, 3]
    assert Shape.of(2, 3).to_list_or_none() == [2, 3] == list(Shape.of(2, 3))
    assert pickle.loads(pickle.dumps(Shape.of(2, 3))) == Shape.of(2, 3)
    assert type(pickle.loads(pickle.dumps(Shape.of(2, 3)))) is Shape


@pytest.mark.parametrize("trial", range(200))
def test_reshaped_strides_agree_with_numpy(trial):
    rng = np.random.default_rng(trial)
    base = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)
    view = base[tuple(slice(None, None, int(rng.choice([1, 1, 2, -1]))) for _ in range(4))]
    view = view.transpose(rng.permutation(4)) if trial % 3 == 0 else view[:, None]
    primes = [f for f in (2, 3, 5, 7) for _ in range(10) if view.size % f == 0]
    wanted = [1] * int(rng.integers(1, 5))
    rest = view.size
    for factor in primes:
        if rest % factor == 0:
            wanted[int(rng.integers(len(wanted)))] *= factor
            rest //= factor
    strides = reshaped_strides(view.shape, view.strides, tuple(wanted))
    reshaped = view.reshape(wanted)
    assert (strides is not None) == np.shares_memory(reshaped, base)
    if strides is not None:
        strided = np.lib.stride_tricks.as_strided(view, wanted, strides)
        assert strided.tolist() == reshaped.tolist()
