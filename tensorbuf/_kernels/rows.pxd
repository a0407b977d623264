"""Copies of rows of items between a view and contiguous memory: what get.pyx has planned, two axes at a time.

The assumptions that make the unchecked loops safe are those of get.pyx.
"""

from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport llabs
from libc.string cimport memcpy

cdef extern from "level.h":
    void tb_use(int level) noexcept nogil

cdef extern from "rows.h":
    bint TB_SHUFFLES
    void tb_prefetch(const char *address) noexcept nogil
    void tb_shuffle(
        const char *source, Py_ssize_t source_step, const uint8_t *order, char *target, Py_ssize_t target_step,
        Py_ssize_t times,
    ) noexcept nogil
    bint tb_runs(
        Py_ssize_t size, const char *view, Py_ssize_t rows, Py_ssize_t row_stride, const int64_t *table,
        Py_ssize_t stride, Py_ssize_t count, bint ahead, char *flat,
    ) noexcept nogil

cdef enum:
    VECTOR = 16             # bytes
    LINE = 64               # bytes of a cache line
    PIECE = 1024            # entries
    TOGETHER = 8            # entries that are copied in one round of a loop
    MOST_LINES = 4          # that are fetched ahead for so many entries; where they lie farther apart, none is


cdef struct Axis:
    # Entry i is `table[i] * stride` bytes from entry 0 of the axis; `i * stride` without a table.
    Py_ssize_t count
    Py_ssize_t stride
    const int64_t *table


cdef struct Shuffle:
    # Takes `together` entries of a run, `times` times, from the vector that begins `start` bytes before the first of
    # them.
    Py_ssize_t together
    Py_ssize_t times
    Py_ssize_t start
    uint8_t order[VECTOR]


cdef struct Piece:
    # Entries of a table: their offsets, worked out once for all rows. `pace` bytes are fetched ahead for each few of
    # them.
    Py_ssize_t count
    Py_ssize_t low
    Py_ssize_t pace
    Py_ssize_t offsets[PIECE]


# Only the sizes of these matter: with a size that the compiler knows, memcpy is a move.
cdef struct Item1:
    char bytes[1]
cdef struct Item2:
    char bytes[2]
cdef struct Item3:
    char bytes[3]
cdef struct Item4:
    char bytes[4]
cdef struct Item6:
    char bytes[6]
cdef struct Item8:
    char bytes[8]
cdef struct Item12:
    char bytes[12]
cdef struct Item16:
    char bytes[16]

ctypedef fused Item:
    Item1
    Item2
    Item3
    Item4
    Item6
    Item8
    Item12
    Item16


cdef inline Py_ssize_t place(const Axis *axis, Py_ssize_t entry) noexcept nogil:
    return (axis.table[entry] if axis.table else entry) * axis.stride


cdef inline char *rows(
    Py_ssize_t item, char *view, const Axis *outer, const Axis *inner, char *flat, bint reading
) noexcept nogil:
    cdef Axis rest = outer[0]
    cdef Py_ssize_t done
    if reading and not outer.table and not inner.table:
        done = read_short_runs(item, view, outer, inner, flat)
        rest.count -= done
        view += done * outer.stride
        flat += done * inner.count * item
    return long_rows(item, view, &rest, inner, flat, reading)


cdef inline char *long_rows(
    Py_ssize_t item, char *view, const Axis *outer, const Axis *inner, char *flat, bint reading
) noexcept nogil:
    if item == 1:
        return typed_rows(view, outer, inner, <Item1 *>flat, reading)
    if item == 2:
        return typed_rows(view, outer, inner, <Item2 *>flat, reading)
    if item == 3:
        return typed_rows(view, outer, inner, <Item3 *>flat, reading)
    if item == 4:
        return typed_rows(view, outer, inner, <Item4 *>flat, reading)
    if item == 6:
        return typed_rows(view, outer, inner, <Item6 *>flat, reading)
    if item == 8:
        return typed_rows(view, outer, inner, <Item8 *>flat, reading)
    if item == 12:
        return typed_rows(view, outer, inner, <Item12 *>flat, reading)
    if item == 16:
        return typed_rows(view, outer, inner, <Item16 *>flat, reading)
    return blocks(item, view, outer, inner, flat, reading)


cdef inline char *typed_rows(char *view, const Axis *outer, const Axis *inner, Item *flat, bint reading) noexcept nogil:
    if not reading:
        write_rows(view, outer, inner, flat)
    elif inner.table:
        read_tabled(view, outer, inner, flat)
    else:
        read_runs(view, outer, inner, flat)
    return <char *>(flat + outer.count * inner.count)


# ---------------------------------------------------------------- runs

cdef inline Py_ssize_t read_short_runs(
    Py_ssize_t item, const char *view, const Axis *outer, const Axis *inner, char *flat
) noexcept nogil:
    """Runs that fit a vector, as the channels of a pixel, several in a shuffle; returns how many were copied."""
    cdef Shuffle shuffle
    shuffle_of(outer, inner, item, &shuffle)
    if shuffle.times:
        shuffled(view, outer.stride, inner.count * item, &shuffle, flat)
    return shuffle.together * shuffle.times


cdef inline void read_runs(const char *view, const Axis *outer, const Axis *inner, Item *flat) noexcept nogil:
    cdef Py_ssize_t row
    cdef Shuffle shuffle
    cdef Axis single
    if tb_runs(
        sizeof(Item), view, outer.count, outer.stride, outer.table, inner.stride, inner.count, True, <char *>flat
    ):
        return
    shuffle.together = shuffle.times = shuffle.start = 0
    if wide(sizeof(Item)) > sizeof(Item):
        single.count, single.stride, single.table = 1, 0, NULL
        shuffle_of(inner, &single, sizeof(Item), &shuffle)
    for row in range(outer.count):
        read_run(view + place(outer, row), inner.stride, inner.count, &shuffle, flat)
        flat += inner.count


cdef inline void shuffle_of(const Axis *axis, const Axis *entry, Py_ssize_t item, Shuffle *shuffle) noexcept nogil:
    """How one shuffle takes several entries of a run, each itself a run of items; `times` is 0 where none can."""
    cdef Py_ssize_t size = entry.count * item
    cdef Py_ssize_t apart = llabs(axis.stride)
    cdef Py_ssize_t span = (entry.count - 1) * llabs(entry.stride) + item
    cdef Py_ssize_t byte, last, place, extent = (axis.count - 1) * apart + span
    shuffle.together = shuffle.times = shuffle.start = 0
    if not TB_SHUFFLES or apart == 0 or size > VECTOR or span > VECTOR:
        return
    if extent < VECTOR or axis.count * size < VECTOR:
        return
    # As long as a whole vector lies within the run, and within the rest of the contiguous row.
    last = min((extent - VECTOR) // apart, axis.count - (VECTOR + size - 1) // size)
    shuffle.together = min((VECTOR - span) // apart + 1, VECTOR // size)
    shuffle.times = last // shuffle.together + 1
    # The bytes before an entry in its vector: those of the entries behind it, and of its own items behind the first.
    shuffle.start = VECTOR - span if axis.stride < 0 else 0
    shuffle.start += (entry.count - 1) * -entry.stride if entry.stride < 0 else 0
    for byte in range(VECTOR):
        shuffle.order[byte] = 0
    for byte in range(shuffle.together * size):
        place = byte // size * axis.stride + byte % size // item * entry.stride + byte % item
        shuffle.order[byte] = <uint8_t>(shuffle.start + place)


cdef inline void shuffled(
    const char *view, Py_ssize_t stride, Py_ssize_t size, const Shuffle *shuffle, char *flat
) noexcept nogil:
    tb_shuffle(
        view - shuffle.start, shuffle.together * stride, shuffle.order, flat, shuffle.together * size, shuffle.times
    )


cdef inline void read_run(
    const char *view, Py_ssize_t stride, Py_ssize_t count, const Shuffle *shuffle, Item *flat
) noexcept nogil:
    cdef Py_ssize_t size = sizeof(Item)
    # Items of 16 bytes are a vector each.
    cdef bint vectorises = wide(size) == size < VECTOR
    if vectorises and stride == 2 * size:
        forward(view, 2, count, flat)
    elif vectorises and size < 8 and stride == 3 * size:
        forward(view, 3, count, flat)
    elif vectorises and size < 8 and stride == 4 * size:
        forward(view, 4, count, flat)
    elif vectorises and stride == -size:
        reversed_from(view + (count - 1) * stride, count, flat)
    else:
        move(view, stride, count, shuffle, flat)


# Loops vectorise where the step is a constant and the view is read forward.
cdef inline void forward(const char *view, Py_ssize_t step, Py_ssize_t count, Item *flat) noexcept nogil:
    cdef Py_ssize_t entry
    for entry in range(count):
        memcpy(&flat[entry], view + entry * step * <Py_ssize_t>sizeof(Item), sizeof(Item))


cdef inline void reversed_from(const char *view, Py_ssize_t count, Item *flat) noexcept nogil:
    cdef Py_ssize_t entry
    for entry in range(count):
        memcpy(&flat[count - 1 - entry], view + entry * <Py_ssize_t>sizeof(Item), sizeof(Item))


cdef inline void move(
    const char *view, Py_ssize_t stride, Py_ssize_t count, const Shuffle *shuffle, Item *flat
) noexcept nogil:
    """Several entries in a shuffle, the others one by one, an item that no one move takes in a move that takes more."""
    cdef Py_ssize_t k, size = sizeof(Item), spill = wide(size) - size
    cdef Py_ssize_t entry = shuffle.together * shuffle.times
    if entry:
        shuffled(view, stride, size, shuffle, <char *>flat)
    else:
        memcpy(flat, view, sizeof(Item))
        entry = 1
    if stride >= spill or -stride >= spill:
        # The bytes too many that are read belong to a neighbour, those that are written are written over with the next
        # entry: all but the first entry and the last have both.
        while entry + TOGETHER < count:
            for k in range(TOGETHER):
                memcpy(&flat[entry + k], view + (entry + k) * stride, wide(sizeof(Item)))
            entry += TOGETHER
        while entry < count - 1:
            memcpy(&flat[entry], view + entry * stride, wide(sizeof(Item)))
            entry += 1
    while entry < count:
        memcpy(&flat[entry], view + entry * stride, sizeof(Item))
        entry += 1


cdef inline Py_ssize_t wide(Py_ssize_t size) noexcept nogil:
    """The size of the smallest move that takes an item."""
    return 4 if size == 3 else 8 if size == 6 else 16 if size == 12 else size


# ---------------------------------------------------------------- tables

cdef inline void read_tabled(const char *view, const Axis *outer, const Axis *inner, Item *flat) noexcept nogil:
    """Every row through a table: a piece of it for all rows, then the next one."""
    cdef Py_ssize_t first = 0, row
    cdef Piece piece
    while first < inner.count:
        cut(&piece, inner, first)
        for row in range(outer.count):
            read_piece(
                view + place(outer, row), view + place(outer, min(row + 1, outer.count - 1)) + piece.low, &piece,
                flat + row * inner.count + first,
            )
        first += piece.count


cdef inline void cut(Piece *piece, const Axis *axis, Py_ssize_t first) noexcept nogil:
    """The piece of a table from entry `first` on."""
    cdef Py_ssize_t entry, offset, high
    piece.count = min(<Py_ssize_t>PIECE, axis.count - first)
    piece.low = high = place(axis, first)
    for entry in range(piece.count):
        offset = axis.table[first + entry] * axis.stride
        piece.offsets[entry] = offset
        piece.low = min(piece.low, offset)
        high = max(high, offset)
    piece.pace = (high - piece.low) // (piece.count // TOGETHER + 1) + 1
    if piece.pace > MOST_LINES * LINE:
        piece.pace = 0


cdef inline void read_piece(const char *view, const char *ahead, const Piece *piece, Item *flat) noexcept nogil:
    """A row through a piece, while what the next row's piece spans is fetched from `ahead` on: the processor foresees
    neither which row that is nor the order in which a table jumps within it."""
    cdef Py_ssize_t entry = 0, k, count = piece.count
    cdef const char *until = ahead
    while entry + TOGETHER <= count:
        until += piece.pace
        while ahead < until:
            tb_prefetch(ahead)
            ahead += LINE
        for k in range(TOGETHER):
            memcpy(&flat[entry + k], view + piece.offsets[entry + k], sizeof(Item))
        entry += TOGETHER
    while entry < count:
        memcpy(&flat[entry], view + piece.offsets[entry], sizeof(Item))
        entry += 1


# ---------------------------------------------------------------- writing

cdef inline void write_rows(char *view, const Axis *outer, const Axis *inner, const Item *flat) noexcept nogil:
    cdef Py_ssize_t row
    for row in range(outer.count):
        write(view + place(outer, row), inner, flat)
        flat += inner.count


cdef inline void write(char *view, const Axis *axis, const Item *flat) noexcept nogil:
    # The bytes written may be those of `axis` for all that the compiler knows: its fields are kept in locals.
    cdef Py_ssize_t entry, count = axis.count, stride = axis.stride
    cdef const int64_t *table = axis.table
    if table:
        for entry in range(count):
            memcpy(view + table[entry] * stride, &flat[entry], sizeof(Item))
    else:
        for entry in range(count):
            memcpy(view + entry * stride, &flat[entry], sizeof(Item))


# ---------------------------------------------------------------- items of any other size

cdef inline char *blocks(
    Py_ssize_t item, char *view, const Axis *outer, const Axis *inner, char *flat, bint reading
) noexcept nogil:
    cdef Py_ssize_t row, entry
    cdef char *start
    for row in range(outer.count):
        start = view + place(outer, row)
        for entry in range(inner.count):
            if reading:
                memcpy(flat, start + place(inner, entry), item)
            else:
                memcpy(start + place(inner, entry), flat, item)
            flat += item
    return flat
