"""The one pipeline of all conversion: from arrays to a plan, and through it.

Load and store know the geometry and the item size; the steps (kernels of one instruction-set level) know the types.
Memory that is already what a step wants, contiguous, aligned and in native order, is not moved: then the step works
on it directly, and a single step runs over whole rows.

What makes the unchecked loops safe: the arrays have equal shapes and item sizes as their codes say (checked by
`_operand` and `_write_to`).
"""

cimport numpy as cnp
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int64_t
from libc.string cimport memset

from tensorbuf._kernels.geometry cimport MOST_STEPS, STREAMED, Operand, Plan, Step, Tile, arrange, choose_tile
from tensorbuf._kernels.memory cimport aligned
from tensorbuf._kernels.tiles cimport environment, environment_enter, environment_leave, run
from tensorbuf._kernels.types cimport (
    ADD, AFFINE, BOOL, DEQUANTIZE, DIVIDE, FINITE, FLOAT32, FLOAT64, FROM_INT8, FROM_UINT8, INT8, INT16, INT32, INT64,
    MOST_PARAMETERS, MULTIPLY, NEAREST, NORMALIZE, NORMALIZE_BY_RECIPROCALS, OF_DOUBLE, OF_FLOAT, PROGRAMS, QUANTIZE,
    QUANTIZE_BY_RECIPROCALS,
    SATURATE, SUBTRACT, TO_INT8, TO_UINT8, TRUNCATE, UINT8, UINT16, UINT32, UINT64, Arithmetics, Bounds, Convert,
    Kernels, Scan, Span, point,
)

cnp.import_array()

cdef extern from "processor.h":
    bint processor_has_v3() noexcept nogil

cdef enum:
    WITHOUT_GIL = 4096      # items from which the GIL is released

# Cython defines the struct behind Span only in a module that has a memoryview.
cdef const char[::1] _nothing = None

cdef Kernels *kernels = NULL
cdef Arithmetics *arithmetics = NULL

cdef Py_ssize_t[17] ITEM_SIZES = [1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8, 1, 1, 8, 16]


def processor_levels():
    """The names of the instruction-set levels that this processor can run, the best one last."""
    return ("baseline", "v3") if processor_has_v3() else ("baseline",)


def use(convert_table, arithmetic_table):
    """Take the kernels of one level: the capsules that its modules call `table`."""
    global kernels, arithmetics
    kernels = <Kernels *> PyCapsule_GetPointer(convert_table, "tensorbuf._kernels.Kernels")
    arithmetics = <Arithmetics *> PyCapsule_GetPointer(arithmetic_table, "tensorbuf._kernels.Arithmetics")


def has_reciprocals():
    """Whether the level in use can divide by reciprocals."""
    return arithmetics.programs[NORMALIZE_BY_RECIPROCALS][FROM_UINT8] != NULL


cdef int _operand(Operand *operand, cnp.ndarray array, int code) except -1:
    cdef int axis
    if cnp.PyArray_ITEMSIZE(array) != ITEM_SIZES[code]:
        raise SystemError(f"element type {code} does not have items of {cnp.PyArray_ITEMSIZE(array)} bytes")
    operand.data = <char *> cnp.PyArray_DATA(array)
    operand.item = ITEM_SIZES[code]
    operand.swapped = operand.item > 1 and cnp.PyArray_ISBYTESWAPPED(array)
    operand.plain = not operand.swapped and cnp.PyArray_ISALIGNED(array)
    for axis in range(cnp.PyArray_NDIM(array)):
        operand.strides[axis] = cnp.PyArray_STRIDES(array)[axis]
    return 0


cdef int _open(Plan *plan, cnp.ndarray source, int source_code) except -1:
    """A plan that reads `source` and has no steps yet."""
    cdef int axis
    plan.rank = cnp.PyArray_NDIM(source)
    for axis in range(plan.rank):
        plan.shape[axis] = cnp.PyArray_DIMS(source)[axis]
    _operand(&plan.source, source, source_code)
    plan.parameter_count = plan.step_count = 0
    plan.parameters[0].item = 0     # read even where there are no parameters
    plan.mapped = plan.staged = False
    plan.scan = NULL
    return 0


cdef int _write_to(Plan *plan, cnp.ndarray target, int target_code) except -1:
    cdef int axis
    if cnp.PyArray_NDIM(target) != plan.rank:
        raise SystemError("source and target differ in rank")
    for axis in range(plan.rank):
        if cnp.PyArray_DIMS(target)[axis] != plan.shape[axis]:
            raise SystemError("source and target differ in shape")
    return _operand(&plan.target, target, target_code)


cdef void _scan_with(Plan *plan, Scan scan, const Bounds *bounds):
    """End in a scan instead of a target; walking as a contiguous target would be written makes positions row-major."""
    cdef int axis
    cdef Py_ssize_t stride = 1
    plan.scan = scan
    plan.bounds = bounds[0]
    plan.target.data = plan.source.data     # never written
    plan.target.item = 1
    plan.target.plain = True
    for axis in range(plan.rank - 1, -1, -1):
        plan.target.strides[axis] = stride
        stride *= plan.shape[axis]


cdef Step *_add_step(Plan *plan, int code) noexcept:
    """A step, still without its kernel, that yields values of type `code`. No plan has as many as MOST_STEPS."""
    cdef Step *step = &plan.steps[plan.step_count]
    memset(step, 0, sizeof(Step))
    step.item = ITEM_SIZES[code]
    plan.step_count += 1
    return step


cdef void _add_convert(Plan *plan, Convert kernel, int64_t nan, int code) noexcept:
    cdef Step *step = _add_step(plan, code)
    step.convert = kernel
    step.nan = nan


cdef int _program(int *numbers, int count) noexcept:
    """The program that does all these operations, or PROGRAMS."""
    if count == 1:
        return numbers[0]
    if count == 2 and numbers[0] == MULTIPLY and numbers[1] == ADD:
        return AFFINE
    if count == 2 and numbers[0] == SUBTRACT and numbers[1] == MULTIPLY:
        return DEQUANTIZE
    if count == 3 and numbers[0] == DIVIDE and numbers[1] == SUBTRACT and numbers[2] == DIVIDE:
        return NORMALIZE
    if count == 3 and numbers[0] == DIVIDE and numbers[1] == PROGRAMS + NEAREST and numbers[2] == ADD:
        return QUANTIZE
    return PROGRAMS


cdef int _column(int source_code, bint wide, bint never_nan) noexcept:
    """Of the programs: those from 8-bit types leave a NaN as it comes, so they are for parameters that give none."""
    if wide:
        return OF_DOUBLE
    if never_nan and source_code == UINT8:
        return FROM_UINT8
    return FROM_INT8 if never_nan and source_code == INT8 else OF_FLOAT


cdef int _add_operations(
    Plan *plan, int source_code, bint wide, bint never_nan, operations, reciprocals, int axis
) except -1:
    """Steps to the arithmetic type, float32 or (`wide`) float64, and through `operations`.

    Those are pairs: the number of an arithmetic operation and its parameter, or PROGRAMS plus the number of a rounding
    and None. `reciprocals` are those of the divisors where the program by reciprocals has been tried, else empty. Gives
    the program that does all of them, or PROGRAMS.
    """
    cdef int numbers[MOST_STEPS]
    cdef int k, program, count = 0, parameter = 0, middle = FLOAT64 if wide else FLOAT32
    cdef int column = _column(source_code, wide, never_nan)
    if len(operations) > MOST_STEPS - 3 or len(reciprocals) + len(operations) > MOST_PARAMETERS:
        raise SystemError("more operations than a plan has room for")
    for number, operand in operations:
        numbers[count] = number
        count += 1
        if operand is not None:
            _add_parameter(plan, operand, middle, axis)
    for operand in reciprocals:
        _add_parameter(plan, operand, middle, axis)
    program = _program(numbers, count)
    if reciprocals:
        program = NORMALIZE_BY_RECIPROCALS if program == NORMALIZE else QUANTIZE_BY_RECIPROCALS
    if column <= OF_DOUBLE and source_code != middle:
        _add_convert(plan, kernels.convert[SATURATE][source_code][middle], 0, middle)
    if program != PROGRAMS:
        _add_program(plan, program, column, 0, middle)
        return program
    for k in range(count):
        if numbers[k] >= PROGRAMS:
            _add_convert(plan, arithmetics.round[numbers[k] - PROGRAMS][wide], 0, middle)
            continue
        _add_program(plan, numbers[k], column if k == 0 else <int> wide, parameter, middle)
        parameter += 1
    return PROGRAMS


cdef void _add_program(Plan *plan, int program, int column, int parameter, int code) noexcept:
    cdef Step *step = _add_step(plan, code)
    step.program = arithmetics.programs[program][column]
    step.parameter = parameter


cdef int _add_parameter(Plan *plan, cnp.ndarray values, int code, int axis) except -1:
    """A rank-1 array of one value, or of one for each place on `axis`; of more than one axis the first counts."""
    cdef int k
    cdef Operand *operand = &plan.parameters[plan.parameter_count]
    _operand(operand, values, code)
    cdef Py_ssize_t stride = operand.strides[0]
    cdef Py_ssize_t count = cnp.PyArray_DIMS(values)[0]
    if count > 1 and (axis >= plan.rank or count != plan.shape[axis]):
        raise SystemError("a parameter does not have one value for each place on its axis")
    for k in range(plan.rank):
        operand.strides[k] = stride if k == axis and count > 1 else 0
    plan.parameter_count += 1
    return 0


cdef Bounds _bounds(int code, least, most, bint nan_fits, bint infinity_fits):
    cdef Bounds bounds
    memset(&bounds, 0, sizeof(bounds))
    bounds.nan_fits = nan_fits
    bounds.infinity_fits = infinity_fits
    if code in (INT8, INT16, INT32, INT64):
        bounds.least_signed, bounds.most_signed = least, most
    elif code in (UINT8, UINT16, UINT32, UINT64):
        bounds.least_unsigned, bounds.most_unsigned = least, most
    else:
        bounds.least_floating, bounds.most_floating = least, most
    return bounds


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
    _open(plan, source, source_code)
    _write_to(plan, target, target_code)
    plan.staged = staged
    if source_code == target_code and source_code != BOOL and mode != FINITE:
        pass    # no steps: the bits are moved
    elif rounding == TRUNCATE:
        _add_convert(plan, kernels.convert[mode][source_code][target_code], nan, target_code)
    else:
        if source_code != middle:
            _add_convert(plan, kernels.convert[SATURATE][source_code][middle], 0, middle)
        _add_convert(plan, arithmetics.round[rounding][wide], 0, middle)
        _add_convert(plan, kernels.convert[mode][middle][target_code], nan, target_code)
    prepared._carry_out(source)
    return prepared


def first_outside(cnp.ndarray source not None, int source_code, least, most, bint nan_fits, bint infinity_fits):
    """The row-major position of the first value that is not within `least` and `most` (inclusive), or the size."""
    cdef Plan plan
    cdef Bounds bounds = _bounds(source_code, least, most, nan_fits, infinity_fits)
    _open(&plan, source, source_code)
    _scan_with(&plan, kernels.scan[source_code], &bounds)
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
    _open(plan, source, source_code)
    _write_to(plan, target, target_code)
    plan.staged = staged
    program = _add_operations(plan, source_code, wide, never_nan, operations, reciprocals, axis)
    if (
        (program == QUANTIZE or program == QUANTIZE_BY_RECIPROCALS) and source_code == FLOAT32 and not wide
        and mode == SATURATE and nan == 0 and (target_code == UINT8 or target_code == INT8)
    ):
        plan.step_count = 0
        _add_program(plan, program, TO_UINT8 if target_code == UINT8 else TO_INT8, 0, target_code)
    elif target_code != middle:
        _add_convert(plan, kernels.convert[mode][middle][target_code], nan, target_code)
    elif program == PROGRAMS:
        # A rounding may be the last operation, and keeps a NaN as it is.
        _add_convert(plan, arithmetics.canonical[wide], 0, middle)
    prepared._carry_out(source)
    return prepared


def first_outside_after(
    cnp.ndarray source not None, int source_code, bint wide, list operations, int axis, least, most, bint nan_fits, bint
    infinity_fits
):
    """`first_outside` of what `apply` would convert into its target."""
    cdef Plan plan
    cdef int middle = FLOAT64 if wide else FLOAT32
    cdef Bounds bounds = _bounds(middle, least, most, nan_fits, infinity_fits)
    _open(&plan, source, source_code)
    _add_operations(&plan, source_code, wide, False, operations, [], axis)
    _scan_with(&plan, kernels.scan[middle], &bounds)
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
    _open(plan, source, source_code)
    _write_to(plan, target, target_code)
    _add_parameter(plan, tables, target_code, axis)
    plan.mapped = True
    prepared._carry_out(source)
    return prepared


# ---------------------------------------------------------------- once more

cdef enum:
    MOST_OUTLINED = 8       # axes
    MOST_MADE = 4

# What must be the same of two arrays for a plan to serve both.
cdef struct Outline:
    int number              # numpy's, of the type
    bint swapped, aligned
    int rank
    Py_ssize_t shape[MOST_OUTLINED]
    Py_ssize_t strides[MOST_OUTLINED]


cdef void _outline(cnp.ndarray array, Outline *outline) noexcept:
    cdef int axis
    outline.number = cnp.PyArray_TYPE(array)
    outline.swapped = cnp.PyArray_ISBYTESWAPPED(array)
    outline.aligned = cnp.PyArray_ISALIGNED(array)
    outline.rank = cnp.PyArray_NDIM(array)
    for axis in range(outline.rank):
        outline.shape[axis] = cnp.PyArray_DIMS(array)[axis]
        outline.strides[axis] = cnp.PyArray_STRIDES(array)[axis]


cdef bint _has_outline(cnp.ndarray array, const Outline *outline) noexcept:
    cdef int axis
    if (
        cnp.PyArray_TYPE(array) != outline.number or cnp.PyArray_NDIM(array) != outline.rank
        or <bint> cnp.PyArray_ISBYTESWAPPED(array) != outline.swapped
        or <bint> cnp.PyArray_ISALIGNED(array) != outline.aligned
    ):
        return False
    for axis in range(outline.rank):
        if (
            cnp.PyArray_DIMS(array)[axis] != outline.shape[axis]
            or cnp.PyArray_STRIDES(array)[axis] != outline.strides[axis]
        ):
            return False
    return True


cdef void _extent(cnp.ndarray array, const char **start, const char **stop) noexcept:
    """The bytes between which an array's items lie."""
    cdef int axis
    cdef Py_ssize_t reach
    start[0] = <const char *> cnp.PyArray_DATA(array)
    stop[0] = start[0] + cnp.PyArray_ITEMSIZE(array)
    for axis in range(cnp.PyArray_NDIM(array)):
        reach = (cnp.PyArray_DIMS(array)[axis] - 1) * cnp.PyArray_STRIDES(array)[axis]
        if reach < 0:
            start[0] += reach
        else:
            stop[0] += reach


cdef bint _apart(cnp.ndarray a, cnp.ndarray b) noexcept:
    """Whether two arrays surely share no byte."""
    cdef const char *start
    cdef const char *stop
    cdef const char *other_start
    cdef const char *other_stop
    _extent(a, &start, &stop)
    _extent(b, &other_start, &other_stop)
    return stop <= other_start or other_stop <= start


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
        _outline(source, &made.source)
        _outline(target, &made.target)
        self._made = [made, *self._made[:MOST_MADE - 1]]

    def repeat(self, x, out):
        """The result, in `out` or, where that is None, in new memory; None where no run was like this one."""
        cdef _Made made
        cdef cnp.ndarray source, target
        cdef Plan plan
        if not cnp.PyArray_CheckExact(x) or not (out is None or cnp.PyArray_CheckExact(out)):
            return None
        source = x
        for made in self._made:
            if not _has_outline(source, &made.source):
                continue
            if out is None and made.contiguous:
                target = aligned(made.target.rank, <cnp.npy_intp *> made.target.shape, made.dtype, False)
            elif (
                out is not None and _has_outline(out, &made.target) and cnp.PyArray_ISWRITEABLE(out)
                and _apart(source, out)
            ):
                target = out
            else:
                continue
            plan = made.prepared.plan
            plan.source.data = <char *> cnp.PyArray_DATA(source)
            plan.target.data = <char *> cnp.PyArray_DATA(target)
            _execute(&plan, &made.prepared.tile, made.prepared.size)
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


cdef inline bint _ready(cnp.ndarray array) noexcept:
    return cnp.PyArray_IS_C_CONTIGUOUS(array) and cnp.PyArray_ISALIGNED(array) and cnp.PyArray_ISNOTSWAPPED(array)


cdef bint _fits(cnp.ndarray out, cnp.ndarray like, int code) noexcept:
    cdef int axis
    if _code(out) != code or cnp.PyArray_NDIM(out) != cnp.PyArray_NDIM(like) or not _ready(out):
        return False
    for axis in range(cnp.PyArray_NDIM(out)):
        if cnp.PyArray_DIMS(out)[axis] != cnp.PyArray_DIMS(like)[axis]:
            return False
    return cnp.PyArray_ISWRITEABLE(out) and _apart(out, like)


def quick(x, dtype, out):
    """`convert` with the default rule, for contiguous arrays and what it has seen before; None where that is not so."""
    cdef cnp.ndarray source, target
    cdef cnp.dtype wanted
    cdef int code
    cdef Span values, result
    cdef Py_ssize_t size
    cdef environment saved
    cdef Convert kernel
    if not cnp.PyArray_CheckExact(x):
        return None
    source = x
    code = _code(source)
    try:
        found = _targets.get(dtype)
    except TypeError:   # unhashable, so no dtype-like
        return None
    if found is None or code == NO_CODE or not _ready(source):
        return None
    wanted = found
    kernel = kernels.convert[SATURATE][code][_codes[wanted.type_num]]
    if cnp.PyArray_SIZE(source) >= STREAMED // <Py_ssize_t> wanted.itemsize:
        return None     # the pipeline has another way for them
    if out is None:
        target = aligned(cnp.PyArray_NDIM(source), cnp.PyArray_DIMS(source), wanted, False)
    elif cnp.PyArray_CheckExact(out) and _fits(out, source, _codes[wanted.type_num]):
        target = out
    else:
        return None
    size = cnp.PyArray_SIZE(source)
    point(&values, <char *> cnp.PyArray_DATA(source), size)
    point(&result, <char *> cnp.PyArray_DATA(target), size)
    if size >= WITHOUT_GIL:
        with nogil:
            saved = environment_enter()
            kernel(values, result, size, 0)
            environment_leave(saved)
    elif size > 0:
        saved = environment_enter()
        kernel(values, result, size, 0)
        environment_leave(saved)
    return target
