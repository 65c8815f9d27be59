/* Several doubles at once: eight (AVX-512), four (AVX2) or two; one where a compiler has no vectors. C's operators work on
 * them; the functions below do the rest.
 *
 * LANE_BITS says which are meant. Functions that are marked TARGET are compiled for that instruction set, so that one build
 * runs on every processor; the choice is made when the module is loaded. */
#ifndef WAYSCORE_LANES_H
#define WAYSCORE_LANES_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#if LANE_BITS == 512 && defined(HAS_AVX)
#include <immintrin.h>
#define LANE_COUNT 8
#define TARGET __attribute__((target("avx512f,avx512dq")))
#define OF_LANES(operation) _mm512_##operation##_pd
typedef __m512d lanes;
typedef __m512i bits_of_lanes;
#elif LANE_BITS == 256 && defined(HAS_AVX)
#include <immintrin.h>
#define LANE_COUNT 4
#define TARGET __attribute__((target("avx2")))
#define OF_LANES(operation) _mm256_##operation##_pd
typedef __m256d lanes;
typedef __m256i bits_of_lanes;
#elif defined(__GNUC__) || defined(__clang__)
#define LANE_COUNT 2
#define TARGET
#ifdef __SSE2__
#include <emmintrin.h>
#define OF_LANES(operation) _mm_##operation##_pd
typedef __m128d lanes;
typedef __m128i bits_of_lanes;
#else
typedef double lanes __attribute__((vector_size(16)));
typedef int64_t bits_of_lanes __attribute__((vector_size(16)));
#endif
#else
#define LANE_COUNT 1
#define TARGET
#define INLINE static inline
typedef double lanes;
#endif

#if LANE_COUNT > 1
#define INLINE TARGET static inline __attribute__((always_inline))
INLINE double lanes_last(lanes x) { return x[LANE_COUNT - 1]; }
INLINE lanes lanes_shift_bits(lanes x) { return (lanes)((bits_of_lanes)x << 52); }
#endif
#ifdef OF_LANES
#define lanes_load OF_LANES(loadu)
#define lanes_store OF_LANES(storeu)
#define lanes_all OF_LANES(set1)
#define lanes_min OF_LANES(min)
#define lanes_max OF_LANES(max)
#define lanes_sqrt OF_LANES(sqrt)
#endif

/* lanes_look_up: row[l][at[l]] of each lane l
 * lanes_at_most: bit l is whether a[l] <= b[l]
 * lanes_choose:  a <= b ? yes : no, lane by lane
 * lanes_shift:   {before[last], x[0], x[1], ...} */
#define LOOK(l) row[l][at[l]]
#if LANE_COUNT == 8
INLINE lanes lanes_look_up(const double *const *row, const int32_t *at) {
    return (lanes){LOOK(0), LOOK(1), LOOK(2), LOOK(3), LOOK(4), LOOK(5), LOOK(6), LOOK(7)};
}
INLINE int lanes_at_most(lanes a, lanes b) { return _mm512_cmp_pd_mask(a, b, _CMP_LE_OQ); }
INLINE lanes lanes_choose(lanes a, lanes b, lanes yes, lanes no) {
    return _mm512_mask_blend_pd(_mm512_cmp_pd_mask(a, b, _CMP_LE_OQ), no, yes);
}
INLINE lanes lanes_shift(lanes before, lanes x) {
    return (lanes)_mm512_alignr_epi64((bits_of_lanes)x, (bits_of_lanes)before, 7);
}
#elif LANE_COUNT == 4
INLINE lanes lanes_look_up(const double *const *row, const int32_t *at) {
    return (lanes){LOOK(0), LOOK(1), LOOK(2), LOOK(3)};
}
INLINE int lanes_at_most(lanes a, lanes b) { return _mm256_movemask_pd(_mm256_cmp_pd(a, b, _CMP_LE_OQ)); }
INLINE lanes lanes_choose(lanes a, lanes b, lanes yes, lanes no) {
    return _mm256_blendv_pd(no, yes, _mm256_cmp_pd(a, b, _CMP_LE_OQ));
}
INLINE lanes lanes_shift(lanes before, lanes x) {
    return _mm256_shuffle_pd(_mm256_permute2f128_pd(before, x, 0x21), x, 0x5);
}
#elif LANE_COUNT == 2
INLINE lanes lanes_look_up(const double *const *row, const int32_t *at) { return (lanes){LOOK(0), LOOK(1)}; }
INLINE lanes lanes_choose(lanes a, lanes b, lanes yes, lanes no) {
    const bits_of_lanes test = (bits_of_lanes)(a <= b);
    return (lanes)((test & (bits_of_lanes)yes) | (~test & (bits_of_lanes)no));
}
INLINE lanes lanes_shift(lanes before, lanes x) { return (lanes){before[1], x[0]}; }
#ifdef __SSE2__
INLINE int lanes_at_most(lanes a, lanes b) { return _mm_movemask_pd(_mm_cmple_pd(a, b)); }
#else
INLINE int lanes_at_most(lanes a, lanes b) { return (a[0] <= b[0]) | (a[1] <= b[1]) << 1; }
INLINE lanes lanes_load(const double *p) { return (lanes){p[0], p[1]}; }
INLINE void lanes_store(double *p, lanes x) { memcpy(p, &x, sizeof x); }
INLINE lanes lanes_all(double x) { return (lanes){x, x}; }
INLINE lanes lanes_min(lanes a, lanes b) { return (lanes){a[0] < b[0] ? a[0] : b[0], a[1] < b[1] ? a[1] : b[1]}; }
INLINE lanes lanes_max(lanes a, lanes b) { return (lanes){a[0] > b[0] ? a[0] : b[0], a[1] > b[1] ? a[1] : b[1]}; }
INLINE lanes lanes_sqrt(lanes x) { return (lanes){sqrt(x[0]), sqrt(x[1])}; }
#endif
#else
INLINE lanes lanes_load(const double *p) { return *p; }
INLINE void lanes_store(double *p, lanes x) { *p = x; }
INLINE lanes lanes_all(double x) { return x; }
INLINE lanes lanes_min(lanes a, lanes b) { return a < b ? a : b; }
INLINE lanes lanes_max(lanes a, lanes b) { return a > b ? a : b; }
INLINE lanes lanes_sqrt(lanes x) { return sqrt(x); }
INLINE double lanes_last(lanes x) { return x; }
INLINE lanes lanes_shift_bits(lanes x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits <<= 52;
    memcpy(&x, &bits, sizeof bits);
    return x;
}
INLINE lanes lanes_look_up(const double *const *row, const int32_t *at) { return LOOK(0); }
INLINE int lanes_at_most(lanes a, lanes b) { return a <= b; }
INLINE lanes lanes_choose(lanes a, lanes b, lanes yes, lanes no) { return a <= b ? yes : no; }
INLINE lanes lanes_shift(lanes before, lanes x) { return before; }
#endif

/* Square roots without the square root unit, which is what limits warping: it delivers eight roots in two dozen
 * cycles while the multipliers idle. Two Goldschmidt steps from a 14-bit estimate give g within 2 ulp of the
 * root and h within 2^-51 of 1 / (2 root); the last step g + (x - g^2) h is then off by less than 2^-49 ulp before
 * its only rounding. So the result is the correctly rounded root unless the root lies that close to the middle
 * between two doubles. Such x are few and can be listed: roots_are_exact() tries them all on this processor,
 * and the module does without this routine should one fail. Numbers near the ends of the range (and 0) go to the
 * square root unit. */
#if LANE_COUNT == 8
INLINE lanes lanes_sqrt_beside(lanes x) {
    const lanes half = lanes_all(0.5);
    lanes y = _mm512_rsqrt14_pd(x), g = x * y, h = y * half;
    lanes r = _mm512_fnmadd_pd(g, h, half);
    g = _mm512_fmadd_pd(g, r, g);
    h = _mm512_fmadd_pd(h, r, h);
    r = _mm512_fnmadd_pd(g, h, half);
    g = _mm512_fmadd_pd(g, r, g);
    h = _mm512_fmadd_pd(h, r, h);
    g = _mm512_fmadd_pd(_mm512_fnmadd_pd(g, g, x), h, g);
    const bits_of_lanes low = _mm512_set1_epi64(0x0700000000000000), span = _mm512_set1_epi64(0x7000000000000000);
    return _mm512_cmpgt_epu64_mask((bits_of_lanes)x - low, span) ? lanes_sqrt(x) : g;
}
#else
#define lanes_sqrt_beside lanes_sqrt
#endif

/* exp(x) for x <= 0, within 2 ulp: x = n ln 2 + r, 2^n by putting n into the exponent bits, e^r by its series, whose first
 * term left out is below 1e-17. Where the result would be subnormal the C library answers. */
INLINE lanes lanes_exp(lanes x) {
    static const double inverse_factorial[] = {1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0,
                                               1.0 / 362880.0,     1.0 / 40320.0,     1.0 / 5040.0,     1.0 / 720.0,
                                               1.0 / 120.0,        1.0 / 24.0,        1.0 / 6.0,        0.5,
                                               1.0,                1.0};
    if (lanes_at_most(lanes_all(-708.0), x) != (1 << LANE_COUNT) - 1) {
        double each[LANE_COUNT];
        lanes_store(each, x);
        for (int l = 0; l < LANE_COUNT; l++) each[l] = exp(each[l]);
        return lanes_load(each);
    }
    const lanes round = lanes_all(0x1.8p52), to_exponent = lanes_all(0x1.8p52 + 1023.0);
    const lanes n = x * lanes_all(0x1.71547652b82fep+0) + round - round;
    const lanes r = x - n * lanes_all(0x1.62e42fefa3800p-1) - n * lanes_all(0x1.ef35793c76730p-45);
    lanes series = lanes_all(inverse_factorial[0]);
    for (int term = 1; term < 14; term++) series = series * r + lanes_all(inverse_factorial[term]);
    return series * lanes_shift_bits(n + to_exponent);
}

#endif
