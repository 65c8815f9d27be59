/* Paths as people hold them: lists of labels with their dictionary, lists of points, any buffer of floats. */
#ifndef WAYSCORE_GIVEN_H
#define WAYSCORE_GIVEN_H

#include "native.h"
#include "warp.h"

enum { FEW = 256 }; /* so many doubles or codes need no memory of their own */

typedef struct {
    double few[FEW], *points;
    int32_t few_codes[FEW], *codes;
    int64_t count;
    int dimension;
} Path;

/* Two paths, and the table of distances that their codes are for. */
typedef struct {
    Path r, q;
    Array table;
    Pair pair;
} Given;

/* Take reference, query, index, table (the last two None for points). Returns 0, with no Python error, where anything
 * is unusual: an unknown label, an empty path, a value that is not finite, other kinds of objects. drop_given is due
 * either way. */
int take_given(PyObject *const *args, Given *given);
void drop_given(Given *given);

#endif
