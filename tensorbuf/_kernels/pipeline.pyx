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

from tensorbuf._kernels.geometry cimport MOST_PARAMETERS, MOST_STEPS, Operand, Plan, Step
from tensorbuf._kernels.memory cimport aligned
from tensorbuf._kernels.tiles cimport environment, environment_enter, environment_leave, run
from tensorbuf._kernels.types cimport (
    ARITHMETICS, FLOAT32, FLOAT64, INT8, INT16, INT32, INT64, SATURATE, TRUNCATE, UINT8, UINT16, UINT32, UINT64, Bounds,
    Convert, Kernels, Scan, Span,
)

cnp.import_array()

cdef extern from "processor.h":
    bint processor_has_v3() noexcept nogil

cdef enum:
    WITHOUT_GIL = 4096      # items from which the GIL is released

# Cython defines the struct behind Span only in a module that has a memoryview.
cdef const char[::1] _nothing = None

cdef Kernels *kernels = NULL

cdef Py_ssize_t[17] ITEM_SIZES = [1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8, 1, 1, 8, 16]


def processor_levels():
    """The names of the instruction-set levels that this processor can run, the best one last."""
    return ("baseline", "v3") if processor_has_v3() else ("baseline",)


def use(table):
    """Take the kernels of one level: the capsule that its module calls `table`."""
    global kernels
    kernels = <Kernels *> PyCapsule_GetPointer(table, "tensorbuf._kernels.Kernels")


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


cdef void _add_convert(Plan *plan, Convert kernel, int64_t nan) noexcept:
    plan.steps[plan.step_count].convert = kernel
    plan.steps[plan.step_count].nan = nan
    plan.step_count += 1


cdef int _add_operations(Plan *plan, int source_code, bint wide, operations) except -1:
    """Steps to the arithmetic type, float32 or (`wide`) float64, and through `operations`.

    Those are pairs: the number of an arithmetic operation and its operand, or ARITHMETICS plus the number of a rounding
    and None.
    """
    cdef int number
    cdef Step *step
    # Always a step, if only a copy: arithmetic changes its block in place.
    _add_convert(plan, kernels.convert[SATURATE][source_code][FLOAT64 if wide else FLOAT32], 0)
    for number, operand in operations:
        if plan.step_count == MOST_STEPS - 1:
            raise SystemError("more operations than a plan has room for")
        if number >= ARITHMETICS:
            _add_convert(plan, kernels.round[number - ARITHMETICS][wide], 0)
            continue
        if plan.parameter_count == MOST_PARAMETERS:
            raise SystemError("more parameters than a plan has room for")
        step = &plan.steps[plan.step_count]
        step.convert = NULL
        step.arithmetic = kernels.arithmetic[number][wide]
        step.parameter = plan.parameter_count
        _operand(&plan.parameters[plan.parameter_count], operand, FLOAT64 if wide else FLOAT32)
        plan.parameter_count += 1
        plan.step_count += 1
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


cdef Py_ssize_t _execute(Plan *plan, Py_ssize_t size):
    cdef Py_ssize_t passed
    if size == 0:
        return 0
    if size < WITHOUT_GIL:
        return run(plan)
    with nogil:
        passed = run(plan)
    return passed


def convert(
    cnp.ndarray source not None, int source_code, cnp.ndarray target not None, int target_code, int mode, int rounding,
    int64_t nan, bint staged,
):
    """Convert every value of `source` into `target`: same shape, any strides, alignment and byte order.

    `staged` loads each block before a byte of it is written, for memory that both share.
    """
    cdef Plan plan
    cdef bint wide = source_code == FLOAT64
    _open(&plan, source, source_code)
    _write_to(&plan, target, target_code)
    plan.staged = staged
    if rounding == TRUNCATE:
        _add_convert(&plan, kernels.convert[mode][source_code][target_code], nan)
    else:
        _add_operations(&plan, source_code, wide, ((ARITHMETICS + rounding, None),))
        _add_convert(&plan, kernels.convert[mode][FLOAT64 if wide else FLOAT32][target_code], nan)
    _execute(&plan, cnp.PyArray_SIZE(source))


def first_outside(cnp.ndarray source not None, int source_code, least, most, bint nan_fits, bint infinity_fits):
    """The row-major position of the first value that is not within `least` and `most` (inclusive), or the size."""
    cdef Plan plan
    cdef Bounds bounds = _bounds(source_code, least, most, nan_fits, infinity_fits)
    _open(&plan, source, source_code)
    _scan_with(&plan, kernels.scan[source_code], &bounds)
    return _execute(&plan, cnp.PyArray_SIZE(source))


def apply(
    cnp.ndarray source not None, int source_code, bint wide, operations, cnp.ndarray target not None, int target_code,
    int mode, int64_t nan, bint staged,
):
    """Convert `source` to the arithmetic type, do the operations, convert into `target`; one pass.

    Each operation's operand is an array of the arithmetic type and of the source's shape (broadcast by strides).
    """
    cdef Plan plan
    cdef int middle = FLOAT64 if wide else FLOAT32
    cdef Convert last = kernels.canonical[wide] if target_code == middle else kernels.convert[mode][middle][target_code]
    _open(&plan, source, source_code)
    _write_to(&plan, target, target_code)
    plan.staged = staged
    _add_operations(&plan, source_code, wide, operations)
    _add_convert(&plan, last, nan)
    _execute(&plan, cnp.PyArray_SIZE(source))


def first_outside_after(
    cnp.ndarray source not None, int source_code, bint wide, operations, least, most, bint nan_fits, bint infinity_fits
):
    """`first_outside` of what `apply` would convert into its target."""
    cdef Plan plan
    cdef int middle = FLOAT64 if wide else FLOAT32
    cdef Bounds bounds = _bounds(middle, least, most, nan_fits, infinity_fits)
    _open(&plan, source, source_code)
    _add_operations(&plan, source_code, wide, operations)
    _scan_with(&plan, kernels.scan[middle], &bounds)
    return _execute(&plan, cnp.PyArray_SIZE(source))


def look_up(
    cnp.ndarray source not None, int source_code, cnp.ndarray tables not None, cnp.ndarray target not None,
    int target_code,
):
    """Give every byte of `source` the item that its table has for it.

    `tables` has the source's shape (broadcast by strides): at each place the first of the 256 items, of the target's
    dtype and byte order, that lie there one after the other.
    """
    cdef Plan plan
    _open(&plan, source, source_code)
    _write_to(&plan, target, target_code)
    _operand(&plan.parameters[0], tables, target_code)
    plan.parameter_count = 1
    plan.mapped = True
    _execute(&plan, cnp.PyArray_SIZE(source))


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
    """Learn that `dtype_like` means `dtype`, in native byte order."""
    _targets[dtype_like] = dtype


cdef inline int _code(cnp.ndarray array) noexcept:
    cdef int number = cnp.PyArray_TYPE(array)
    return _codes[number] if 0 <= number < MOST_NUMBERS else NO_CODE


cdef inline bint _apart(cnp.ndarray a, cnp.ndarray b) noexcept:
    """Whether two contiguous arrays surely share no byte."""
    cdef const char *start = <const char *> cnp.PyArray_DATA(a)
    cdef const char *other = <const char *> cnp.PyArray_DATA(b)
    return start + cnp.PyArray_NBYTES(a) <= other or other + cnp.PyArray_NBYTES(b) <= start


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
    found = _targets.get(dtype)
    if found is None or code == NO_CODE or not _ready(source):
        return None
    wanted = found
    kernel = kernels.convert[SATURATE][code][_codes[wanted.type_num]]
    if out is None:
        target = aligned(cnp.PyArray_NDIM(source), cnp.PyArray_DIMS(source), wanted, False)
    elif cnp.PyArray_CheckExact(out) and _fits(out, source, _codes[wanted.type_num]):
        target = out
    else:
        return None
    size = values.shape[0] = result.shape[0] = cnp.PyArray_SIZE(source)
    values.data = <char *> cnp.PyArray_DATA(source)
    result.data = <char *> cnp.PyArray_DATA(target)
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
