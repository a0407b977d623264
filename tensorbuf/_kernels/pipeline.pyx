"""The one pipeline of all conversion: from arrays to a plan, and through it.

Load and store know the geometry and the item size; the steps (kernels of one instruction-set level) know the types.
Memory that is already what a step wants, contiguous, aligned and in native order, is not moved: then the step works
on it directly, and a single step runs over whole rows.
"""

import functools

cimport cython
cimport numpy as cnp
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int64_t

from tensorbuf._kernels.blocks cimport tb_use
from tensorbuf._kernels.geometry cimport NORMALIZED, SCALED, Plan, Step, Tile, arrange
from tensorbuf._kernels.memory cimport aligned
from tensorbuf._kernels.outlines cimport (
    MOST_OUTLINED, Outline, apart, has_outline, is_plain, is_room_for, take_outline,
)
from tensorbuf._kernels.plans cimport (
    add_convert, add_operations, add_parameter, add_program, bounds_of, open_plan, read_as_it_lies, scan_with,
    turning, write_to,
)
from tensorbuf._kernels.steps cimport run_aligned
from tensorbuf._kernels.tiles cimport environment, environment_enter, environment_leave, run
from tensorbuf._kernels.tiling cimport STREAMED, choose_tile
from tensorbuf._kernels.types cimport (
    AFFINE, BOOL, FINITE, FLOAT32, FLOAT64, FROM_UINT8, INT8, NORMALIZE_BY_RECIPROCALS, PROGRAMS, QUANTIZE,
    QUANTIZE_BY_RECIPROCALS, SATURATE, TO_INT8, TO_UINT8, TRUNCATE, UINT8, Arithmetics, Bounds, Kernels,
)

cnp.import_array()

cdef extern from "processor.h":
    bint processor_has_v3() noexcept nogil
    bint processor_has_v4() noexcept nogil

cdef enum:
    WITHOUT_GIL = 4096      # items from which the GIL is released

# Cython defines the struct behind Span only in a module that has a memoryview.
cdef const char[::1] _nothing = None

cdef Kernels *kernels = NULL
cdef Arithmetics *arithmetics = NULL


def levels():
    """The names of the instruction-set levels that were built and that this processor can run, the best one last."""
    return ("baseline", "v3", "v4")[:1 + processor_has_v3() + processor_has_v4()]


def use(int level, convert_table, arithmetic_table):
    """Take the kernels of a level, the capsules that its modules call `table`, and its ways to move bytes."""
    global kernels, arithmetics
    kernels = <Kernels *> PyCapsule_GetPointer(convert_table, "tensorbuf._kernels.Kernels")
    arithmetics = <Arithmetics *> PyCapsule_GetPointer(arithmetic_table, "tensorbuf._kernels.Arithmetics")
    arithmetics.has_512 = level >= 4
    tb_use(level)


def has_reciprocals():
    """Whether the level in use can divide by reciprocals."""
    return arithmetics.programs[NORMALIZE_BY_RECIPROCALS][FROM_UINT8] != NULL


cdef Py_ssize_t _run(const Plan *plan, const Tile *tile) noexcept nogil:
    # The one place that the tiles are compiled into.
    return run(plan, tile)


cdef Py_ssize_t _execute(const Plan *plan, const Tile *tile, Py_ssize_t size):
    cdef Py_ssize_t passed
    if size < WITHOUT_GIL:
        return _run(plan, tile)
    with nogil:
        passed = _run(plan, tile)
    return passed


cdef class Prepared:
    """A plan that has been carried out, and can be again on other memory of the same types, shapes and strides."""

    cdef Plan plan
    cdef Tile tile
    cdef Py_ssize_t size
    cdef object kept        # what the plan points into, besides source and target

    cdef _carry_out(self, cnp.ndarray source):
        self.size = cnp.PyArray_SIZE(source)
        if self.size > 0:
            arrange(&self.plan)
            choose_tile(&self.plan, &self.tile)
            _execute(&self.plan, &self.tile, self.size)


def convert(
    cnp.ndarray source not None, int source_code, cnp.ndarray target not None, int target_code, int mode, int rounding,
    int64_t nan, bint staged,
):
    """Convert every value of `source` into `target`: same shape, any strides, alignment and byte order.

    `staged` loads each block before a byte of it is written, for memory that both share.
    """
    cdef Prepared prepared = Prepared.__new__(Prepared)
    cdef Plan *plan = &prepared.plan
    cdef bint wide = source_code == FLOAT64
    cdef int middle = FLOAT64 if wide else FLOAT32
    open_plan(plan, source, source_code)
    write_to(plan, target, target_code)
    plan.staged = staged
    if source_code == target_code and source_code != BOOL and mode != FINITE:
        pass    # no steps: the bits are moved
    elif rounding == TRUNCATE and kernels.convert[mode][source_code][target_code] != NULL:
        add_convert(plan, kernels.convert[mode][source_code][target_code], nan, target_code)
        if kernels.convert[mode][source_code][target_code] == kernels.convert[SATURATE][source_code][target_code]:
            plan.steps[0].streamed = kernels.streamed[source_code][target_code]
            plan.turned = turning(source_code, target_code, nan)
            read_as_it_lies(plan, kernels, source_code, target_code)
    else:
        if source_code != middle:
            add_convert(plan, kernels.convert[SATURATE][source_code][middle], 0, middle)
        if rounding != TRUNCATE:
            add_convert(plan, arithmetics.round[rounding][wide], 0, middle)
        add_convert(plan, kernels.convert[mode][middle][target_code], nan, target_code)
    prepared._carry_out(source)
    return prepared


def first_outside(cnp.ndarray source not None, int source_code, least, most, bint nan_fits, bint infinity_fits):
    """The row-major position of the first value that is not within `least` and `most` (inclusive), or the size."""
    cdef Plan plan
    cdef Bounds bounds = bounds_of(source_code, least, most, nan_fits, infinity_fits)
    open_plan(&plan, source, source_code)
    scan_with(&plan, kernels.scan[source_code], &bounds)
    return _scan(&plan, cnp.PyArray_SIZE(source))


cdef Py_ssize_t _scan(Plan *plan, Py_ssize_t size):
    cdef Tile tile
    if size == 0:
        return 0
    arrange(plan)
    choose_tile(plan, &tile)
    return _execute(plan, &tile, size)


def apply(
    cnp.ndarray source not None, int source_code, bint wide, bint never_nan, list operations, list reciprocals,
    int axis, cnp.ndarray target not None, int target_code, int mode, int64_t nan, bint staged,
):
    """Convert `source` to the arithmetic type, do the operations, convert into `target`; one pass.

    Parameters and reciprocals are rank-1 arrays of the arithmetic type: of one value, or one for each place on `axis`.
    `never_nan` says that with these parameters no finite value gives NaN.
    """
    cdef Prepared prepared = Prepared.__new__(Prepared)
    cdef Plan *plan = &prepared.plan
    cdef int program, middle = FLOAT64 if wide else FLOAT32
    prepared.kept = operations, reciprocals
    open_plan(plan, source, source_code)
    write_to(plan, target, target_code)
    plan.staged = staged
    program = add_operations(plan, kernels, arithmetics, source_code, wide, never_nan, operations, reciprocals, axis)
    if (
        (program == QUANTIZE or program == QUANTIZE_BY_RECIPROCALS) and source_code == FLOAT32 and not wide
        and mode == SATURATE and nan == 0 and (target_code == UINT8 or target_code == INT8)
    ):
        plan.step_count = 0
        add_program(plan, arithmetics, program, TO_UINT8 if target_code == UINT8 else TO_INT8, 0, target_code)
    elif target_code != middle:
        add_convert(plan, kernels.convert[mode][middle][target_code], nan, target_code)
    elif program == PROGRAMS:
        # A rounding may be the last operation, and keeps a NaN as it is.
        add_convert(plan, arithmetics.canonical[wide], 0, middle)
    elif source_code == UINT8 and never_nan and not wide and arithmetics.has_512:
        plan.planes = SCALED if program == AFFINE else NORMALIZED if program == NORMALIZE_BY_RECIPROCALS else 0
    prepared._carry_out(source)
    return prepared


def first_outside_after(
    cnp.ndarray source not None, int source_code, bint wide, list operations, int axis, least, most, bint nan_fits, bint
    infinity_fits
):
    """`first_outside` of what `apply` would convert into its target."""
    cdef Plan plan
    cdef int middle = FLOAT64 if wide else FLOAT32
    cdef Bounds bounds = bounds_of(middle, least, most, nan_fits, infinity_fits)
    open_plan(&plan, source, source_code)
    add_operations(&plan, kernels, arithmetics, source_code, wide, False, operations, [], axis)
    scan_with(&plan, kernels.scan[middle], &bounds)
    return _scan(&plan, cnp.PyArray_SIZE(source))


def look_up(
    cnp.ndarray source not None, int source_code, cnp.ndarray tables not None, int axis, cnp.ndarray target not None,
    int target_code,
):
    """Give every byte of `source` the item that its table has for it.

    `tables` has the target's dtype and byte order, and shape (1, 256), or (d, 256) for the d places on `axis`.
    """
    cdef Prepared prepared = Prepared.__new__(Prepared)
    cdef Plan *plan = &prepared.plan
    if cnp.PyArray_NDIM(tables) != 2 or cnp.PyArray_DIMS(tables)[1] != 256 or not cnp.PyArray_IS_C_CONTIGUOUS(tables):
        raise SystemError("tables must be rows of 256 items, one after the other")
    prepared.kept = tables
    open_plan(plan, source, source_code)
    write_to(plan, target, target_code)
    add_parameter(plan, tables, target_code, axis)
    plan.mapped = True
    prepared._carry_out(source)
    return prepared


# ---------------------------------------------------------------- once more

cdef enum:
    MOST_MADE = 4


cdef class _Made:
    cdef Prepared prepared
    cdef Outline source, target
    cdef cnp.dtype dtype
    cdef bint contiguous    # whether new memory has the target's outline


cdef class Recent:
    """The last few runs of one Converter. Repeating one skips all checks that the outlines of its arrays answer."""

    cdef list _made

    def __cinit__(self):
        self._made = []

    def keep(
        self, Prepared prepared not None, cnp.ndarray source not None, cnp.ndarray target not None,
        cnp.dtype dtype not None,
    ):
        """Remember a run: what the arrays were that it was made for, and the dtype that new memory has.

        The target's own dtype may carry metadata, or be C's other name for the type.
        """
        cdef _Made made
        if prepared.size == 0 or max(cnp.PyArray_NDIM(source), cnp.PyArray_NDIM(target)) > MOST_OUTLINED:
            return
        made = _Made.__new__(_Made)
        made.prepared = prepared
        made.dtype = dtype
        made.contiguous = cnp.PyArray_IS_C_CONTIGUOUS(target) and cnp.PyArray_ISNOTSWAPPED(target)
        take_outline(source, &made.source)
        take_outline(target, &made.target)
        self._made = [made, *self._made[:MOST_MADE - 1]]

    def repeat(self, x, out):
        """The result, in `out` or, where that is None, in new memory; None where no run was like this one."""
        cdef _Made made
        cdef cnp.ndarray source, target
        cdef Plan *plan
        cdef Plan own
        if not cnp.PyArray_CheckExact(x) or not (out is None or cnp.PyArray_CheckExact(out)):
            return None
        source = x
        for made in self._made:
            if not has_outline(source, &made.source):
                continue
            if out is None and made.contiguous:
                target = aligned(made.target.rank, <cnp.npy_intp *> made.target.shape, made.dtype, False)
            elif (
                out is not None and has_outline(out, &made.target) and cnp.PyArray_ISWRITEABLE(out)
                and apart(source, out)
            ):
                target = out
            else:
                continue
            plan = &made.prepared.plan
            if made.prepared.size >= WITHOUT_GIL:
                # Another thread may carry it out meanwhile.
                own = made.prepared.plan
                plan = &own
            plan.source.data = <char *> cnp.PyArray_DATA(source)
            plan.target.data = <char *> cnp.PyArray_DATA(target)
            _execute(plan, &made.prepared.tile, made.prepared.size)
            return target
        return None


# ---------------------------------------------------------------- the short way

# Numbers of numpy's types, of its own and those that ml_dtypes registers, to ours; NO_CODE for all others.
cdef enum:
    MOST_NUMBERS = 512
    NO_CODE = -1

cdef int[MOST_NUMBERS] _codes
cdef dict _targets = {}

for _number in range(MOST_NUMBERS):
    _codes[_number] = NO_CODE


def know(int number, int code):
    """Learn that numpy's type `number` is ours with `code`; complex types are better left to the long way."""
    if 0 <= number < MOST_NUMBERS:
        _codes[number] = code


def remember(dtype_like, cnp.dtype dtype not None):
    """Learn that `dtype_like` means `dtype`, in native byte order; of a type that `know` was told of."""
    if 0 <= dtype.type_num < MOST_NUMBERS:
        _targets[dtype_like] = dtype


cdef inline int _code(cnp.ndarray array) noexcept:
    cdef int number = cnp.PyArray_TYPE(array)
    return _codes[number] if 0 <= number < MOST_NUMBERS else NO_CODE


cdef inline void _run_row(const Step *step, cnp.ndarray source, cnp.ndarray target, Py_ssize_t n) noexcept nogil:
    cdef environment saved = environment_enter()
    run_aligned(
        step, <char *> cnp.PyArray_DATA(source), cnp.PyArray_ITEMSIZE(source), <char *> cnp.PyArray_DATA(target), NULL,
        n, 1,
    )
    environment_leave(saved)


cdef object _quick(x, dtype, out):
    """`convert` with the default rule, for contiguous arrays and what it has seen before; None where that is not so."""
    cdef cnp.ndarray source, target
    cdef cnp.dtype wanted
    cdef int code
    cdef Step step
    cdef Py_ssize_t size
    if not cnp.PyArray_CheckExact(x):
        return None
    source = x
    code = _code(source)
    try:
        found = _targets.get(dtype)
    except TypeError:   # unhashable, so no dtype-like
        return None
    if found is None or code == NO_CODE or not is_plain(source):
        return None
    wanted = found
    step.convert = kernels.convert[SATURATE][code][_codes[wanted.type_num]]
    step.nan = 0
    size = cnp.PyArray_SIZE(source)
    if step.convert == NULL or size >= STREAMED // <Py_ssize_t> wanted.itemsize:
        return None     # the pipeline has another way for them
    if out is None:
        target = aligned(cnp.PyArray_NDIM(source), cnp.PyArray_DIMS(source), wanted, False)
        if target is None:
            return None
    elif cnp.PyArray_CheckExact(out) and _code(out) == _codes[wanted.type_num] and is_room_for(source, out):
        target = out
    else:
        return None
    step.item = wanted.itemsize
    if size >= WITHOUT_GIL:
        with nogil:
            _run_row(&step, source, target, size)
    elif size > 0:
        _run_row(&step, source, target, size)
    return target


def at_once(long_way):
    """`long_way`, the Python function `convert`, behind the short way: a call that takes this needs no Python frame."""
    usual = long_way.__kwdefaults__
    usual_overflow, usual_rounding, unset = usual["overflow"], usual["rounding"], usual["nan"]

    @cython.binding(True)
    def convert(x, dtype, *, out=None, overflow=usual_overflow, rounding=usual_rounding, nan=unset):
        # Names that are equal only take the longer way, and an array would be compared element by element.
        if overflow is usual_overflow and rounding is usual_rounding and nan is unset:
            done = _quick(x, dtype, out)
            if done is not None:
                return done
        return long_way(x, dtype, out=out, overflow=overflow, rounding=rounding, nan=nan)

    functools.update_wrapper(convert, long_way)
    convert.__annotations__ = long_way.__annotations__  # which Python 3.14 leaves out
    return convert
