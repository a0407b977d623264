/* Items of 2 to 16 bytes at any address, of whatever type: what moves them promises neither alignment nor that nobody else sees the
   memory as another type. A compiler that does not know the attributes assumes neither of the two anyway. */
#ifndef TENSORBUF_LOOSE_H
#define TENSORBUF_LOOSE_H

#include <stdint.h>

#if defined(__GNUC__)
#define TENSORBUF_LOOSE __attribute__((aligned(1), may_alias))
#else
#define TENSORBUF_LOOSE
#endif

typedef uint16_t TENSORBUF_LOOSE loose16;
typedef uint32_t TENSORBUF_LOOSE loose32;
typedef uint64_t TENSORBUF_LOOSE loose64;

/* A struct is as loose as its members; attributes of its own would be ignored. */
typedef struct {
    loose64 real, imag;
} loose128;

/* How the values of a source at any address lie: one after the other, native or in the other byte order, or as every second item. */
enum { FORM_NATIVE, FORM_SWAPPED, FORM_SECOND, FORMS };

#endif
