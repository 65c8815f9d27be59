/* Paths as people hold them: lists of labels with their dictionary, lists of points, any buffer of floats. */
#ifndef WAYSCORE_GIVEN_H
#define WAYSCORE_GIVEN_H

#include "native.h"
#include "warp.h"

enum { FEW = 256 }; /* up to this number, doubles or codes need no memory of their own */

typedef struct {
    double few[FEW], *points;
    int32_t few_codes[FEW], *codes;
    int64_t count;
    int dimension;
} Path;

/* The readers below return 0 (take_code: -1), with no Python error, where anything is unusual: an unknown label, an empty
 * path, a value that is not finite or too large, other kinds of objects. A path is opened first, and dropped either way. */
static inline void open_path(Path *path) {
    path->points = path->few;
    path->codes = path->few_codes;
}
void drop_path(Path *path);
/* A list of lists of numbers, or an array of floats. */
int take_points(PyObject *object, Path *path);
/* A list of numbers, or an array of floats. */
int take_point(PyObject *object, int dimension, double *point);
/* A list of labels that the index finds; without an index, of codes. */
int take_labels(PyObject *object, PyObject *index, int64_t size, Path *path);
/* The row of a table for a label; without an index, for a code. */
int64_t take_code(PyObject *node, PyObject *index, int64_t size);

/* Two paths, and the table of distances that their codes are for. */
typedef struct {
    Path r, q;
    Array table;
    Pair pair;
} Given;

/* Take reference, query, index, table (the last two None for points). drop_given is due either way. */
int take_given(PyObject *const *args, Given *given);
void drop_given(Given *given);

#endif
