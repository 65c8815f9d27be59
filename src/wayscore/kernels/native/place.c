/* Walks of one scene out of many: put end to end, translated to the scene's codes, their moves looked at. Twin:
 * plain/place.py. */
#include "native.h"

#define ASTRAY 1
#define LEAPING 2
#define AHEAD 16 /* rows come in any order, so what they need is asked for ahead of time */
#if defined(__GNUC__)
#define SOON(address) __builtin_prefetch(address)
#else
#define SOON(address) ((void)(address))
#endif

/* place(codes, offsets, rows, known, edges, out, ends, flags) -> position of the first code that `known` lacks, or -1
 * Walk i becomes out[ends[i - 1] : ends[i]]. Codes below 0 are places that the scene does not have. */
KERNEL(kernel_place) {
    (void)self;
    Array arrays[8];
    for (int i = 0; i < 8; i++) arrays[i].held = 0;
    PyObject *result = NULL;
    if (!need_arguments("place", nargs, 8) || !take_array(args[0], &arrays[0], 'i', 1, 0, 0) ||
        !take_array(args[1], &arrays[1], 'l', 1, 0, 0) || !take_array(args[2], &arrays[2], 'l', 1, 0, 0) ||
        !take_array(args[3], &arrays[3], 'i', 1, 0, 1) || !take_array(args[4], &arrays[4], 'B', 2, 0, 1) ||
        !take_array(args[5], &arrays[5], 'i', 1, 1, 0) || !take_array(args[6], &arrays[6], 'l', 1, 1, 0) ||
        !take_array(args[7], &arrays[7], 'B', 1, 1, 0))
        goto end;
    const int32_t *codes = INTS32(arrays[0]), *known = arrays[3].held ? INTS32(arrays[3]) : NULL;
    const int64_t *offsets = INTS64(arrays[1]), *rows = INTS64(arrays[2]);
    const uint8_t *edges = arrays[4].held ? BYTES(arrays[4]) : NULL;
    int32_t *out = INTS32(arrays[5]);
    int64_t *ends = INTS64(arrays[6]);
    uint8_t *flags = BYTES(arrays[7]);
    const int64_t count = LENGTH(arrays[2], 0), walks = LENGTH(arrays[1], 0) - 1, room = LENGTH(arrays[5], 0);
    const int64_t size = edges ? LENGTH(arrays[4], 0) : INT32_MAX, labels = known ? LENGTH(arrays[3], 0) : 0;
    int fits = LENGTH(arrays[6], 0) == count && LENGTH(arrays[7], 0) == count && (!edges || LENGTH(arrays[4], 1) == size);
    for (int64_t k = 0; k < labels; k++) fits &= known[k] < size;
    int64_t done = 0, lacking = -1;
    for (int64_t i = 0; fits && lacking < 0 && i < count; i++) {
        const int64_t row = rows[i];
        if (i + AHEAD < count && (uint64_t)rows[i + AHEAD] < (uint64_t)walks) SOON(offsets + rows[i + AHEAD]);
        if (i + AHEAD / 2 < count && (uint64_t)rows[i + AHEAD / 2] < (uint64_t)walks) {
            const int64_t at = offsets[rows[i + AHEAD / 2]];
            if (at >= 0 && at < LENGTH(arrays[0], 0)) SOON(codes + at);
        }
        if (row < 0 || row >= walks) {
            fits = 0;
            break;
        }
        const int64_t start = offsets[row], stop = offsets[row + 1];
        if (start < 0 || stop < start || stop > LENGTH(arrays[0], 0) || stop - start > room - done) {
            fits = 0;
            break;
        }
        int flag = 0;
        int32_t last = 0;
        for (int64_t p = start; p < stop; p++) {
            int32_t code = codes[p];
            if (known) {
                if ((uint32_t)code >= (uint64_t)labels) {
                    lacking = p;
                    break;
                }
                code = known[code];
            } else if (code >= size) {
                fits = 0;
                break;
            }
            out[done++] = code;
            if (code < 0) flag |= ASTRAY;
            if (edges && p > start && code != last && (code < 0 || last < 0 || !edges[last * size + code]))
                flag |= LEAPING;
            last = code;
        }
        ends[i] = done;
        flags[i] = (uint8_t)flag;
    }
    if (fits)
        result = PyLong_FromLongLong(lacking);
    else
        PyErr_SetString(PyExc_ValueError, "place: codes, rows, edges and places for the result do not fit");
end:
    drop_arrays(arrays, 8);
    return result;
}
