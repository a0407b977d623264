"""How a plan is made: what it reads and writes, from arrays, and its steps, from the kernels of a level.

What makes the unchecked loops safe: the arrays have equal shapes and item sizes as their codes say (checked by
`describe` and `write_to`).
"""

cimport numpy as cnp
from libc.stdint cimport int64_t
from libc.string cimport memset

from tensorbuf._kernels.blocks cimport (
    TURN_FLOAT_INT8, TURN_FLOAT_UINT8, TURN_INT32_FLOAT, TURN_INT32_INT8, TURN_INT32_UINT8, TURN_UINT8_FLOAT,
    turns_fast,
)
from tensorbuf._kernels.geometry cimport MOST_STEPS, Operand, Plan, Step
from tensorbuf._kernels.types cimport (
    ADD, AFFINE, DEQUANTIZE, DIVIDE, FLOAT32, FLOAT64, FORM_NATIVE, FORM_SECOND, FORM_SWAPPED, FROM_INT8, FROM_UINT8,
    INT8, INT16, INT32, INT64, MOST_PARAMETERS, MULTIPLY, NEAREST, NORMALIZE, NORMALIZE_BY_RECIPROCALS, OF_DOUBLE,
    OF_FLOAT, PROGRAMS, QUANTIZE, QUANTIZE_BY_RECIPROCALS, SATURATE, SUBTRACT, UINT8, UINT16, UINT32, UINT64,
    Arithmetics, Bounds, Convert, Kernels, Scan,
)

cdef extern from *:
    """
    static const Py_ssize_t tb_item_sizes[17] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8, 1, 1, 8, 16};
    """
    const Py_ssize_t ITEM_SIZES "tb_item_sizes"[17]     # bytes, by code


cdef inline int describe(Operand *operand, cnp.ndarray array, int code) except -1:
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


cdef inline int open_plan(Plan *plan, cnp.ndarray source, int source_code) except -1:
    """A plan that reads `source` and has no steps yet."""
    cdef int axis
    plan.rank = cnp.PyArray_NDIM(source)
    for axis in range(plan.rank):
        plan.shape[axis] = cnp.PyArray_DIMS(source)[axis]
    describe(&plan.source, source, source_code)
    plan.parameter_count = plan.step_count = 0
    plan.parameters[0].item = 0     # read even where there are no parameters
    plan.planes = plan.turned = 0
    plan.mapped = plan.staged = False
    plan.scan = NULL
    return 0


cdef inline int write_to(Plan *plan, cnp.ndarray target, int target_code) except -1:
    cdef int axis
    if cnp.PyArray_NDIM(target) != plan.rank:
        raise SystemError("source and target differ in rank")
    for axis in range(plan.rank):
        if cnp.PyArray_DIMS(target)[axis] != plan.shape[axis]:
            raise SystemError("source and target differ in shape")
    return describe(&plan.target, target, target_code)


cdef inline void scan_with(Plan *plan, Scan scan, const Bounds *bounds):
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


cdef inline Step *add_step(Plan *plan, int code) noexcept:
    """A step, still without its kernel, that yields values of type `code`. No plan has as many as MOST_STEPS."""
    cdef Step *step = &plan.steps[plan.step_count]
    memset(step, 0, sizeof(Step))
    step.item = ITEM_SIZES[code]
    plan.step_count += 1
    return step


cdef inline void add_convert(Plan *plan, Convert kernel, int64_t nan, int code) noexcept:
    cdef Step *step = add_step(plan, code)
    step.convert = kernel
    step.nan = nan


cdef inline int turning(int source_code, int target_code, int64_t nan) noexcept:
    """The kind of transposition that converts on its way, where that is fast; else 0."""
    cdef int kind = 0
    if source_code == UINT8 and target_code == FLOAT32:
        kind = TURN_UINT8_FLOAT
    elif source_code == INT32 and target_code == FLOAT32:
        kind = TURN_INT32_FLOAT
    elif source_code == INT32 and target_code == UINT8:
        kind = TURN_INT32_UINT8
    elif source_code == INT32 and target_code == INT8:
        kind = TURN_INT32_INT8
    elif source_code == FLOAT32 and target_code == UINT8 and nan == 0:
        kind = TURN_FLOAT_UINT8
    elif source_code == FLOAT32 and target_code == INT8 and nan == 0:
        kind = TURN_FLOAT_INT8
    return kind if turns_fast(kind) else 0


cdef inline void read_as_it_lies(Plan *plan, const Kernels *kernels, int source_code, int target_code) noexcept:
    """Let the one step, a saturating conversion, read a source that is no plain row where it is, if a kernel can."""
    cdef Step *step = &plan.steps[0]
    cdef int form = FORM_SWAPPED if plan.source.swapped else FORM_NATIVE
    cdef Convert kernel = kernels.loose[form][source_code][target_code]
    if kernel == NULL or step.nan != 0:
        return
    if form == FORM_NATIVE:
        step.second = kernels.loose[FORM_SECOND][source_code][target_code]
    else:
        plan.turned = 0
    if not plan.source.plain:
        step.convert, step.streamed = kernel, NULL
        plan.source.plain, plan.source.swapped = True, False    # a tile that is loaded keeps the order that it has


cdef inline int program_of(int *numbers, int count) noexcept:
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


cdef inline int column_of(int source_code, bint wide, bint never_nan) noexcept:
    """Of the programs: those from 8-bit types leave a NaN as it comes, so they are for parameters that give none."""
    if wide:
        return OF_DOUBLE
    if never_nan and source_code == UINT8:
        return FROM_UINT8
    return FROM_INT8 if never_nan and source_code == INT8 else OF_FLOAT


cdef inline int add_operations(
    Plan *plan, const Kernels *kernels, const Arithmetics *arithmetics, int source_code, bint wide, bint never_nan,
    operations, reciprocals, int axis
) except -1:
    """Steps to the arithmetic type, float32 or (`wide`) float64, and through `operations`.

    Those are pairs: the number of an arithmetic operation and its parameter, or PROGRAMS plus the number of a rounding
    and None. `reciprocals` are those of the divisors where the program by reciprocals has been tried, else empty. Gives
    the program that does all of them, or PROGRAMS.
    """
    cdef int numbers[MOST_STEPS]
    cdef int k, program, count = 0, parameter = 0, middle = FLOAT64 if wide else FLOAT32
    cdef int column = column_of(source_code, wide, never_nan)
    if len(operations) > MOST_STEPS - 3 or len(reciprocals) + len(operations) > MOST_PARAMETERS:
        raise SystemError("more operations than a plan has room for")
    for number, operand in operations:
        numbers[count] = number
        count += 1
        if operand is not None:
            add_parameter(plan, operand, middle, axis)
    for operand in reciprocals:
        add_parameter(plan, operand, middle, axis)
    program = program_of(numbers, count)
    if reciprocals:
        program = NORMALIZE_BY_RECIPROCALS if program == NORMALIZE else QUANTIZE_BY_RECIPROCALS
    if column <= OF_DOUBLE and source_code != middle:
        add_convert(plan, kernels.convert[SATURATE][source_code][middle], 0, middle)
    if program != PROGRAMS:
        add_program(plan, arithmetics, program, column, 0, middle)
        return program
    for k in range(count):
        if numbers[k] >= PROGRAMS:
            add_convert(plan, arithmetics.round[numbers[k] - PROGRAMS][wide], 0, middle)
            continue
        add_program(plan, arithmetics, numbers[k], column if k == 0 else <int> wide, parameter, middle)
        parameter += 1
    return PROGRAMS


cdef inline void add_program(
    Plan *plan, const Arithmetics *arithmetics, int program, int column, int parameter, int code
) noexcept:
    cdef Step *step = add_step(plan, code)
    step.program = arithmetics.programs[program][column]
    step.parameter = parameter


cdef inline int add_parameter(Plan *plan, cnp.ndarray values, int code, int axis) except -1:
    """A rank-1 array of one value, or of one for each place on `axis`; of more than one axis the first counts."""
    cdef int k
    cdef Operand *operand = &plan.parameters[plan.parameter_count]
    describe(operand, values, code)
    cdef Py_ssize_t stride = operand.strides[0]
    cdef Py_ssize_t count = cnp.PyArray_DIMS(values)[0]
    if count > 1 and (axis >= plan.rank or count != plan.shape[axis]):
        raise SystemError("a parameter does not have one value for each place on its axis")
    for k in range(plan.rank):
        operand.strides[k] = stride if k == axis and count > 1 else 0
    plan.parameter_count += 1
    return 0


cdef inline Bounds bounds_of(int code, least, most, bint nan_fits, bint infinity_fits):
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
