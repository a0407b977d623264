/* Ints of up to two digits (60 bits where a digit has 30), read inline: 1, or 0 where an int is larger. How an int is
   laid out changed with Python 3.12, and may again: a version not known here reads only what its API calls compact. */
#ifndef TENSORBUF_SMALL_INT_H
#define TENSORBUF_SMALL_INT_H

#include <Python.h>
#include <stdint.h>

#if PY_VERSION_HEX >= 0x030F0000

static inline int small_int(PyObject *item, int64_t *value) {
    if (!PyUnstable_Long_IsCompact((PyLongObject *)item)) return 0;
    *value = PyUnstable_Long_CompactValue((PyLongObject *)item);
    return 1;
}

#else

#if PY_VERSION_HEX >= 0x030C0000
    #define TB_DIGITS(number) ((number)->long_value.ob_digit)
    #define TB_DIGIT_COUNT(number) ((Py_ssize_t)((number)->long_value.lv_tag >> 3))
    #define TB_SIGN(number) (1 - (int64_t)((number)->long_value.lv_tag & 3))
#else
    #define TB_DIGITS(number) ((number)->ob_digit)
    #define TB_DIGIT_COUNT(number) (Py_SIZE(number) < 0 ? -Py_SIZE(number) : Py_SIZE(number))
    #define TB_SIGN(number) (Py_SIZE(number) < 0 ? (int64_t)-1 : (int64_t)(Py_SIZE(number) > 0))
#endif

static inline int small_int(PyObject *item, int64_t *value) {
    PyLongObject *number = (PyLongObject *)item;
    Py_ssize_t count = TB_DIGIT_COUNT(number);
    if (count > 2) return 0;
    *value = TB_DIGITS(number)[0];
    if (count == 2) *value |= (int64_t)TB_DIGITS(number)[1] << PyLong_SHIFT;
    *value *= TB_SIGN(number);
    return 1;
}

#endif

#endif
