"""Who sees which mutation, and what it costs: holders, exports and pointers against a model of independent copies."""

import copy
import gc
import io
import random
import sys
import threading
import tracemalloc

import ml_dtypes
import numpy as np
import pytest

from tensorbuf import ShapedArray, ShapedArraySlice


def address(holder):
    """Where the first scalar lies, told by the memory itself (of an empty array it means nothing)."""
    return holder._array().__array_interface__["data"][0]


def part_of(value, key):
    """The part of a numpy array at a key, always a view."""
    return value[(*key, ...) if isinstance(key, tuple) else (key, ...)]


class Model:
    """A holder beside an independent copy of its value, where its scalars lie, and with whom it shares them."""

    def __init__(self, holder, value, place, group):
        self.holder, self.value, self.place, self.group = holder, value, place, group
        group.append(self)

    def leave(self):
        self.group.remove(self)


class Family:
    """Random operations on holders that descend from one array. Every step checks every holder, its place included."""

    def __init__(self, seed, dtype="int32"):
        self.random = random.Random(seed)
        self.dtype = np.dtype(dtype)
        self.copies = self.in_place = 0
        self.members = []
        self.exports = []
        self.start()

    def start(self):
        value = np.arange(60).astype(self.dtype).reshape(5, 4, 3)
        holder = ShapedArray(value)
        self.members.append(Model(holder, value.copy(), address(holder), []))

    def pick(self):
        return self.random.choice(self.members)

    def key(self, shape):
        n = shape[0]
        kind = self.random.randrange(4)
        if kind == 0 and n:
            return self.random.randrange(-n, n)
        if kind == 1 and len(shape) > 1 and n and shape[1]:
            return self.random.randrange(n), self.random.randrange(-shape[1], shape[1])
        start, stop = (self.random.randint(-n, n) for _ in range(2))
        return slice(start, stop) if kind == 2 else slice(min(start, stop, 0), None)

    def place(self, member, key):
        part = part_of(member.value, key)
        offset = part.__array_interface__["data"][0] - member.value.__array_interface__["data"][0] if part.size else 0
        return member.place + offset

    def add(self, holder, value, place, group):
        if len(self.members) < 12:
            self.members.append(Model(holder, value.copy(), place, group))

    def share(self):
        member = self.pick()
        how = self.random.randrange(6)
        if how < 4 and member.value.ndim:
            key = self.key(member.value.shape)
            self.add(member.holder[key], part_of(member.value, key), self.place(member, key), member.group)
        elif how == 4:
            make = self.random.choice([copy.copy, copy.deepcopy, ShapedArray, ShapedArraySlice])
            self.add(make(member.holder), member.value, member.place, member.group)
        elif member.value.ndim:
            n = self.random.randrange(6)
            taken = member.value[:n]
            self.add(member.holder.prefix(n), taken, member.place, member.group)

    def drop(self):
        if len(self.members) > 1:
            member = self.members.pop(self.random.randrange(len(self.members)))
            member.leave()
        if sum(member.value.size >= 12 for member in self.members) < 3:
            self.start()

    def export(self):
        if len(self.exports) < 4:
            member = self.pick()
            make = self.random.choice([np.asarray, memoryview])
            self.exports.append(Model(make(member.holder), member.value.copy(), member.place, member.group))
        else:
            self.exports.pop(self.random.randrange(4)).leave()

    def mutated(self, member, shared):
        """Holds the place of a member after a mutation: another one if its scalars were shared, else the same."""
        now = address(member.holder)
        if shared:
            assert now != member.place
            self.copies += 1
            member.leave()
            member.place, member.group = now, [member]
        else:
            self.in_place += 1
            assert now == member.place

    def assign(self):
        member = self.pick()
        if not member.value.ndim:
            return
        key = self.key(member.value.shape)
        part = part_of(member.value, key)
        shared = len(member.group) > 1
        if not part.size:
            member.holder[key] = np.empty(part.shape, self.dtype)
            return
        value = np.array([self.random.randrange(100) for _ in range(part.size)], self.dtype).reshape(part.shape)
        given = self.random.choice([np.asarray, ShapedArray, np.ndarray.tolist, lambda x: x.T.copy().T])(value)
        member.holder[key] = given
        member.value[key] = value
        self.mutated(member, shared)

    def assign_from_family(self):
        """`a[i:j] = b[k:l]`: the slice on the right is a holder of b's storage for as long as the assignment runs."""
        member, other = self.pick(), self.pick()
        if (
            member.value.ndim != other.value.ndim
            or member.value.shape[1:] != other.value.shape[1:]
            or not member.value.ndim
        ):
            return
        n = min(member.value.shape[0], other.value.shape[0])
        n = self.random.randint(0, n)
        at = self.random.randint(0, member.value.shape[0] - n)
        start = self.random.randint(0, other.value.shape[0] - n)
        shared = len(member.group) > 1 or other.group is member.group
        member.holder[at : at + n] = other.holder[start : start + n]
        if not member.value[at : at + n].size:
            return
        member.value[at : at + n] = other.value[start : start + n].copy()
        self.mutated(member, shared)

    def assign_itself(self):
        member = self.pick()
        if member.value.ndim and member.value.size:
            shared = len(member.group) > 1
            member.holder[:] = member.holder
            self.mutated(member, shared)

    def set_scalars(self):
        member = self.pick()
        shared = len(member.group) > 1
        value = np.full(member.value.shape, self.random.randrange(100), self.dtype)
        if not member.value.size:
            return
        if member.value.ndim:
            member.holder.scalars = value.reshape(-1)
        else:
            member.holder.scalar = value.item()
        member.value[...] = value
        self.mutated(member, shared)

    def swap(self):
        member = self.pick()
        if member.value.ndim and member.value.shape[0] > 1 and member.value.size:
            shared = len(member.group) > 1
            i, j = self.random.sample(range(member.value.shape[0]), 2)
            member.holder.swap_at(i, j)
            member.value[[i, j]] = member.value[[j, i]]
            self.mutated(member, shared)

    def point(self):
        """A holder that is made while a writable pointer lives has a copy, which later writes do not reach."""
        member = self.pick()
        if not member.value.size:
            return
        shared = len(member.group) > 1
        made = []

        def body(view):
            # A memoryview itself has no way to write a complex number.
            np.asarray(view)[0] = 7
            made.append(copy.copy(member.holder))
            np.asarray(view)[0] = 8

        member.holder.with_unsafe_mutable_buffer_pointer(body)
        member.value.flat[0] = 8
        self.mutated(member, shared)
        assert made[0]._array().flat[0] == self.dtype.type(7)
        assert address(made[0]) != member.place

    def refuse(self):
        member = self.pick()
        if member.value.ndim and member.value.shape[0]:
            with pytest.raises(ValueError, match="shape"):
                member.holder[0] = np.zeros((9, 9), self.dtype)
            with pytest.raises(TypeError):
                member.holder.scalars = np.zeros(member.value.size, "float16")

    def check(self):
        for member in self.members:
            array = member.holder._array()
            assert array.shape == member.value.shape
            assert array.tobytes() == member.value.tobytes()
            if array.size:
                assert array.__array_interface__["data"][0] == member.place
        for export in self.exports:
            assert memoryview(export.holder).tobytes() == export.value.tobytes()

    def run(self, steps):
        operations = [
            *[self.share] * 5,
            *[self.drop] * 2,
            *[self.export] * 2,
            *[self.assign] * 4,
            self.assign_from_family,
            self.assign_itself,
            self.set_scalars,
            self.swap,
            self.point,
            self.refuse,
        ]
        for _ in range(steps):
            self.random.choice(operations)()
            self.check()


@pytest.mark.parametrize("seed", range(4))
def test_ten_thousand_operations_against_independent_copies(seed):
    family = Family(seed)
    family.run(10_000)
    assert min(family.copies, family.in_place) > 300


@pytest.mark.proof
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "float32", "complex128"])
@pytest.mark.parametrize("seed", range(100, 110))
def test_many_more_operations(seed, dtype):
    Family(seed, dtype).run(10_000)


def test_a_slice_whose_base_died_mutates_in_place():
    base = ShapedArray(shape=[4, 3], scalars=range(12))
    part = base[1:3]
    place = address(part)
    del base
    part[0] = [7, 7, 7]
    assert address(part) == place
    assert part.scalars.tolist() == [7, 7, 7, 6, 7, 8]


def test_the_last_of_several_holders_keeps_the_storage():
    first = ShapedArray([1, 2, 3])
    others = [copy.copy(first) for _ in range(3)]
    place = address(first)
    for other in others:
        other[0] = 9
        assert address(other) != place
    first[0] = 8
    assert address(first) == place


def test_temporaries_do_not_count():
    array = ShapedArray(shape=[3, 2], scalars=range(6))
    place = address(array)
    array[1], str(array), repr(array), array == array[:], hash(array), array.encode(), list(array), array.first
    for element in array:
        assert element.rank == 1
    del element
    array[0] = [5, 5]
    assert address(array) == place


def test_every_row_of_an_unshared_array_is_set_in_place():
    array = ShapedArray(repeating=0, shape=[500, 40])
    place = address(array)
    row = np.arange(40)
    for i in range(500):
        array[i] = row
        assert address(array) == place
    assert (array._array() == row).all()


def test_a_loop_runs_over_the_value_that_the_array_had():
    array = ShapedArray([1, 2, 3])
    seen = []
    for element in array:
        array[2] = 30
        array[0] = 10
        seen.append(element.scalar)
    assert seen == [1, 2, 3]
    backward = []
    for element in reversed(array):
        array.scalars = [0, 0, 0]
        backward.append(element.scalar)
    assert backward == [30, 2, 10]


def test_the_loop_variable_is_a_value_of_its_own():
    array = ShapedArray(shape=[2, 2], scalars=range(4))
    for element in array:
        element[0] = 99
    assert array.scalars.tolist() == [0, 1, 2, 3]


def test_slices_and_copies_of_a_large_array_allocate_nothing():
    array = ShapedArray(repeating=1, shape=[4, 2**21])
    gc.collect()
    tracemalloc.start()
    try:
        made = [array[1], array[1:3], copy.copy(array), copy.deepcopy(array), array.prefix(2), ShapedArray(array)]
        assert tracemalloc.get_traced_memory()[1] < 10_000
    finally:
        tracemalloc.stop()
    assert [address(holder) - address(array) for holder in made] == [2**24, 2**24, 0, 0, 0, 0]


def test_only_the_part_that_is_mutated_is_copied():
    array = ShapedArray(repeating=1, shape=[4, 2**18])
    part = array[3, :10]
    tracemalloc.start()
    try:
        part[0] = 5
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
    assert part.scalars.tolist() == [5] + [1] * 9
    assert (array._array() == 1).all()


@pytest.mark.parametrize("take", [np.asarray, memoryview, ShapedArray.__array__, lambda x: np.asarray(x)[1:]])
def test_a_live_export_counts_as_a_holder(take):
    array = ShapedArray([1, 2, 3])
    place = address(array)
    export = take(array)
    values = export.tolist()
    array[1] = 20
    assert address(array) != place
    assert export.tolist() == values
    place = address(array)
    del export
    array[2] = 30
    assert address(array) == place


def test_an_export_outlives_its_holder():
    export = np.asarray(ShapedArray([1, 2, 3]))
    gc.collect()
    assert export.tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="read-only"):
        export[0] = 5


def test_exports_have_the_type_and_the_shape():
    view = memoryview(ShapedArray(shape=[2, 3], scalars=range(6), dtype="float32"))
    assert (view.format, view.shape, view.strides, view.itemsize, view.readonly) == ("f", (2, 3), (12, 4), 4, True)
    assert view.tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(TypeError):
        view[0, 0] = 1
    assert memoryview(ShapedArray(5.0)).tolist() == 5.0
    assert memoryview(ShapedArray(shape=[0, 3], scalars=[])).shape == (0, 3)


def test_no_consumer_gets_a_writable_or_fortran_view():
    array = ShapedArray(shape=[2, 3], scalars=range(6))
    with pytest.raises((TypeError, BufferError)):
        # readinto asks for writable memory.
        io.BytesIO(b"123").readinto(array)
    assert array.scalars.tolist() == list(range(6))


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_types_without_a_format_go_through_the_array_door(dtype):
    array = ShapedArray([1, 2, 3], dtype=dtype)
    with pytest.raises(BufferError, match=dtype):
        memoryview(array)
    shown = np.asarray(array)
    assert shown.dtype == np.dtype(getattr(ml_dtypes, dtype))
    assert not shown.flags.writeable
    assert shown.__array_interface__["data"][0] == address(array)
    array[0] = 3
    assert shown[0] == 1


def test_numpy_copies_on_request_only():
    array = ShapedArray([1, 2, 3])
    assert np.asarray(array).__array_interface__["data"][0] == address(array)
    copied = np.array(array)
    copied[0] = 9
    assert array.scalars.tolist() == [1, 2, 3]
    assert array.__array__(copy=False).base is not None
    assert array.__array__("float32").dtype == np.float32
    with pytest.raises(ValueError, match="copy"):
        array.__array__("float32", copy=False)


# Pointers


def test_pointers_have_the_types_of_numpy_or_unsigned_integers():
    formats = {}
    for dtype in ("bool", "int8", "uint16", "int64", "float16", "float32", "complex64", "bfloat16", "float8_e5m2"):
        array = ShapedArray(shape=[2, 2], scalars=[1, 0, 1, 1], dtype=dtype)
        array.with_unsafe_buffer_pointer(lambda view, dtype=dtype: formats.update({dtype: (view.format, view.shape)}))
    assert formats == {
        "bool": ("?", (4,)),
        "int8": ("b", (4,)),
        "uint16": ("H", (4,)),
        "int64": (np.dtype(np.int64).char, (4,)),
        "float16": ("e", (4,)),
        "float32": ("f", (4,)),
        "complex64": ("Zf", (4,)),
        "bfloat16": ("H", (4,)),
        "float8_e5m2": ("B", (4,)),
    }


def test_a_pointer_covers_the_part_only():
    part = ShapedArray(shape=[4, 3], scalars=range(12))[1:3]
    assert part.with_unsafe_buffer_pointer(list) == list(range(3, 9))
    assert ShapedArray(shape=[0, 3], scalars=[]).with_unsafe_buffer_pointer(len) == 0
    assert ShapedArray(shape=[0], scalars=[]).with_unsafe_mutable_buffer_pointer(len) == 0
    assert ShapedArray(5).with_unsafe_buffer_pointer(list) == [5]


def test_a_read_only_pointer_refuses_writes_and_counts_as_a_holder():
    array = ShapedArray([1, 2, 3])

    def body(view):
        with pytest.raises(TypeError):
            view[0] = 5
        array[0] = 9
        return view[0]

    assert array.with_unsafe_buffer_pointer(body) == 1
    assert array.scalars.tolist() == [9, 2, 3]


def test_a_mutable_pointer_writes_to_its_holder_alone():
    array = ShapedArray([1, 2, 3])
    other = array[:]

    def body(view):
        view[0] = 5
        array[1] = 6
        assert view[1] == 6
        view[2] += array[1].scalar

    array.with_unsafe_mutable_buffer_pointer(body)
    assert array.scalars.tolist() == [5, 6, 9]
    assert other.scalars.tolist() == [1, 2, 3]


def test_what_is_taken_while_a_mutable_pointer_lives_keeps_its_value():
    array = ShapedArray([1, 2, 3])
    taken = []

    def body(view):
        taken.extend([copy.copy(array), array[0:2], np.asarray(array), memoryview(array), ShapedArraySlice(array)])
        view[0] = 5

    array.with_unsafe_mutable_buffer_pointer(body)
    assert [list(map(int, np.asarray(each))) for each in taken] == [[1, 2, 3], [1, 2], [1, 2, 3], [1, 2, 3], [1, 2, 3]]


@pytest.mark.parametrize("method", ["with_unsafe_buffer_pointer", "with_unsafe_mutable_buffer_pointer"])
def test_pointers_are_released(method):
    array = ShapedArray([1, 2, 3])
    kept = []
    getattr(array, method)(kept.append)
    with pytest.raises(ValueError, match="released"):
        kept[0][0]

    def fail(view):
        kept.append(view)
        if not view.readonly:
            # A memoryview itself has no way to write a complex number.
            np.asarray(view)[0] = 7
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        getattr(array, method)(fail)
    with pytest.raises(ValueError, match="released"):
        kept[1][0]
    assert array[0].scalar == (7 if "mutable" in method else 1)
    place = address(array)
    array[1] = 5
    assert address(array) == place


@pytest.mark.parametrize("escape", [np.asarray, memoryview, lambda view: view[1:]])
@pytest.mark.parametrize("method", ["with_unsafe_buffer_pointer", "with_unsafe_mutable_buffer_pointer"])
def test_a_view_that_escapes_is_an_error_and_harms_nobody(method, escape):
    array = ShapedArray([1, 2, 3])
    kept = []
    with pytest.raises(BufferError, match="escape"):
        getattr(array, method)(lambda view: kept.append(escape(view)))
    before = copy.copy(array)
    if "mutable" in method:
        kept[0][-1] = 30
    else:
        array[2] = 30
        assert kept[0][-1] == 3
    assert before.scalars.tolist() == [1, 2, 3]
    assert array.scalars.tolist() == [1, 2, 30]


def test_an_exception_of_body_passes_even_with_a_view_in_its_frame():
    def body(view):
        array = np.asarray(view)
        raise LookupError(array.size)

    with pytest.raises(LookupError):
        ShapedArray([1, 2]).with_unsafe_mutable_buffer_pointer(body)


# Threads


def run_threads(*targets):
    failures = []

    def guarded(target):
        try:
            target()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(target,)) for target in targets]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    if failures:
        raise failures[0]


@pytest.mark.parametrize("size", [10, 40_000])
def test_threads_that_share_see_whole_values_that_stay(size):
    """One thread mutates the array all the time; what the others take of it is of one moment, and never changes."""
    array = ShapedArray(repeating=0, shape=[size])
    rounds = 2000 if size == 10 else 150
    done = threading.Event()

    def write():
        try:
            for number in range(rounds):
                array.scalars = np.full(size, number)
        finally:
            done.set()

    def read():
        kept = []
        while not done.is_set():
            taken = [copy.copy(array), array[:], np.asarray(array), array.scalars]
            for each in taken:
                values = np.asarray(each)
                assert values[0] == values[-1]
                assert (values == values[0]).all()
            kept = [*kept, (taken[0], int(np.asarray(taken[0])[0]))][-5:]
            for holder, number in kept:
                assert (np.asarray(holder) == number).all()

    run_threads(write, read, read)
    place = address(array)
    array[0] = 1
    assert address(array) == place


def test_threads_that_mutate_their_own_copies_do_not_meet():
    base = ShapedArray(repeating=0, shape=[64, 512])

    def work(number):
        mine = [copy.copy(base), base[number : number + 4], ShapedArraySlice(base)]
        for step in range(60):
            for holder in mine:
                holder[step % holder.count] = np.full(512, number * 1000 + step)
                shown = copy.copy(holder)
                holder.swap_at(0, holder.count - 1)
                holder.swap_at(0, holder.count - 1)
                assert shown == holder
                assert (np.asarray(holder[step % holder.count]) == number * 1000 + step).all()
            assert not np.asarray(base).any()

    run_threads(*[lambda number=number: work(number) for number in range(1, 5)])
    assert not base._array().any()
    place = address(base)
    base[0] = np.ones(512, int)
    assert address(base) == place
