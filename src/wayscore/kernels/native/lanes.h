/* Several doubles at once: AVX-512 (eight), AVX2 or SSE2 (four), or plain C where none is known.
 *
 * A file that includes this after `#define LANES_AVX2` or `LANES_AVX512` is compiled for that instruction set
 * function by function (TARGET), so one build runs on every processor and the choice is made when the module is
 * loaded. */
#ifndef WAYSCORE_LANES_H
#define WAYSCORE_LANES_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(LANES_AVX512)
#include <immintrin.h>
#define LANE_COUNT 8
#define TARGET __attribute__((target("avx512f,avx512dq")))
#define INLINE TARGET static inline __attribute__((always_inline))
typedef __m512d lanes;
INLINE lanes lanes_load(const double *p) { return _mm512_loadu_pd(p); }
INLINE void lanes_store(double *p, lanes x) { _mm512_storeu_pd(p, x); }
INLINE lanes lanes_all(double x) { return _mm512_set1_pd(x); }
INLINE lanes lanes_look_up(const double *const *row, const int32_t *at) {
    return _mm512_setr_pd(row[0][at[0]], row[1][at[1]], row[2][at[2]], row[3][at[3]], row[4][at[4]], row[5][at[5]],
                          row[6][at[6]], row[7][at[7]]);
}
INLINE lanes lanes_add(lanes a, lanes b) { return _mm512_add_pd(a, b); }
INLINE lanes lanes_sub(lanes a, lanes b) { return _mm512_sub_pd(a, b); }
INLINE lanes lanes_mul(lanes a, lanes b) { return _mm512_mul_pd(a, b); }
INLINE lanes lanes_div(lanes a, lanes b) { return _mm512_div_pd(a, b); }
INLINE lanes lanes_min(lanes a, lanes b) { return _mm512_min_pd(a, b); }
INLINE lanes lanes_max(lanes a, lanes b) { return _mm512_max_pd(a, b); }
INLINE int lanes_any_below(lanes a, lanes b) { return _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ) != 0; }
/* bit l: a[l] <= b[l] */
INLINE int lanes_at_most(lanes a, lanes b) { return _mm512_cmp_pd_mask(a, b, _CMP_LE_OQ); }
INLINE lanes lanes_shift_bits(lanes a) { return _mm512_castsi512_pd(_mm512_slli_epi64(_mm512_castpd_si512(a), 52)); }
INLINE lanes lanes_sqrt(lanes a) { return _mm512_sqrt_pd(a); }
INLINE lanes lanes_choose(lanes a, lanes b, lanes yes, lanes no) {
    return _mm512_mask_blend_pd(_mm512_cmp_pd_mask(a, b, _CMP_LE_OQ), no, yes);
}
INLINE lanes lanes_shift(lanes before, lanes x) {
    return _mm512_castsi512_pd(_mm512_alignr_epi64(_mm512_castpd_si512(x), _mm512_castpd_si512(before), 7));
}
INLINE double lanes_last(lanes x) {
    __m128d high = _mm512_extractf64x2_pd(x, 3);
    return _mm_cvtsd_f64(_mm_unpackhi_pd(high, high));
}
/* Square roots without the square root unit, which is what limits warping: it delivers eight roots in two dozen
 * cycles while the multipliers idle. Two Goldschmidt steps from a 14-bit estimate give g within 2 ulp of the
 * root and h within 2^-51 of 1 / (2 root); the last step g + (x - g^2) h is then off by less than 2^-49 ulp before
 * its only rounding. So the result is the correctly rounded root unless the root lies that close to the middle
 * between two doubles. Such x are few and can be listed: roots_are_exact() below tries them all on this processor,
 * and the module does without this routine should one fail. Numbers near the ends of the range (and 0) go to the
 * square root unit. */
INLINE lanes lanes_sqrt_beside(lanes x) {
    const lanes half = _mm512_set1_pd(0.5);
    lanes y = _mm512_rsqrt14_pd(x), g = _mm512_mul_pd(x, y), h = _mm512_mul_pd(y, half);
    lanes r = _mm512_fnmadd_pd(g, h, half);
    g = _mm512_fmadd_pd(g, r, g);
    h = _mm512_fmadd_pd(h, r, h);
    r = _mm512_fnmadd_pd(g, h, half);
    g = _mm512_fmadd_pd(g, r, g);
    h = _mm512_fmadd_pd(h, r, h);
    g = _mm512_fmadd_pd(_mm512_fnmadd_pd(g, g, x), h, g);
    const __m512i low = _mm512_set1_epi64(0x0700000000000000), span = _mm512_set1_epi64(0x7000000000000000);
    if (_mm512_cmpgt_epu64_mask(_mm512_sub_epi64(_mm512_castpd_si512(x), low), span)) return _mm512_sqrt_pd(x);
    return g;
}

#elif defined(LANES_AVX2)
#define LANE_COUNT 4
#include <immintrin.h>
#define TARGET __attribute__((target("avx2")))
#define INLINE TARGET static inline __attribute__((always_inline))
typedef __m256d lanes;
INLINE lanes lanes_load(const double *p) { return _mm256_loadu_pd(p); }
INLINE void lanes_store(double *p, lanes x) { _mm256_storeu_pd(p, x); }
INLINE lanes lanes_all(double x) { return _mm256_set1_pd(x); }
INLINE lanes lanes_look_up(const double *const *row, const int32_t *at) {
    return _mm256_setr_pd(row[0][at[0]], row[1][at[1]], row[2][at[2]], row[3][at[3]]);
}
INLINE lanes lanes_add(lanes a, lanes b) { return _mm256_add_pd(a, b); }
INLINE lanes lanes_sub(lanes a, lanes b) { return _mm256_sub_pd(a, b); }
INLINE lanes lanes_mul(lanes a, lanes b) { return _mm256_mul_pd(a, b); }
INLINE lanes lanes_div(lanes a, lanes b) { return _mm256_div_pd(a, b); }
INLINE lanes lanes_min(lanes a, lanes b) { return _mm256_min_pd(a, b); }
INLINE lanes lanes_max(lanes a, lanes b) { return _mm256_max_pd(a, b); }
INLINE int lanes_any_below(lanes a, lanes b) { return _mm256_movemask_pd(_mm256_cmp_pd(a, b, _CMP_LT_OQ)) != 0; }
INLINE int lanes_at_most(lanes a, lanes b) { return _mm256_movemask_pd(_mm256_cmp_pd(a, b, _CMP_LE_OQ)); }
INLINE lanes lanes_shift_bits(lanes a) { return _mm256_castsi256_pd(_mm256_slli_epi64(_mm256_castpd_si256(a), 52)); }
INLINE lanes lanes_sqrt(lanes a) { return _mm256_sqrt_pd(a); }
/* a <= b ? yes : no, lane by lane */
INLINE lanes lanes_choose(lanes a, lanes b, lanes yes, lanes no) {
    return _mm256_blendv_pd(no, yes, _mm256_cmp_pd(a, b, _CMP_LE_OQ));
}
/* {before[last], x[0], x[1], ...} */
INLINE lanes lanes_shift(lanes before, lanes x) {
    return _mm256_shuffle_pd(_mm256_permute2f128_pd(before, x, 0x21), x, 0x5);
}
INLINE double lanes_last(lanes x) {
    __m128d high = _mm256_extractf128_pd(x, 1);
    return _mm_cvtsd_f64(_mm_unpackhi_pd(high, high));
}

#elif defined(__SSE2__) && (defined(__GNUC__) || defined(__clang__))
#include <emmintrin.h>
#define LANE_COUNT 4
#define TARGET
#define INLINE static inline __attribute__((always_inline))
typedef struct { __m128d lo, hi; } lanes;
#define LANES_BOTH(operation, a, b) ((lanes){operation((a).lo, (b).lo), operation((a).hi, (b).hi)})
INLINE lanes lanes_load(const double *p) { return (lanes){_mm_loadu_pd(p), _mm_loadu_pd(p + 2)}; }
INLINE void lanes_store(double *p, lanes x) { _mm_storeu_pd(p, x.lo); _mm_storeu_pd(p + 2, x.hi); }
INLINE lanes lanes_all(double x) { return (lanes){_mm_set1_pd(x), _mm_set1_pd(x)}; }
INLINE lanes lanes_look_up(const double *const *row, const int32_t *at) {
    return (lanes){_mm_setr_pd(row[0][at[0]], row[1][at[1]]), _mm_setr_pd(row[2][at[2]], row[3][at[3]])};
}
INLINE lanes lanes_add(lanes a, lanes b) { return LANES_BOTH(_mm_add_pd, a, b); }
INLINE lanes lanes_sub(lanes a, lanes b) { return LANES_BOTH(_mm_sub_pd, a, b); }
INLINE lanes lanes_mul(lanes a, lanes b) { return LANES_BOTH(_mm_mul_pd, a, b); }
INLINE lanes lanes_div(lanes a, lanes b) { return LANES_BOTH(_mm_div_pd, a, b); }
INLINE lanes lanes_min(lanes a, lanes b) { return LANES_BOTH(_mm_min_pd, a, b); }
INLINE lanes lanes_max(lanes a, lanes b) { return LANES_BOTH(_mm_max_pd, a, b); }
INLINE int lanes_any_below(lanes a, lanes b) {
    return (_mm_movemask_pd(_mm_cmplt_pd(a.lo, b.lo)) | _mm_movemask_pd(_mm_cmplt_pd(a.hi, b.hi))) != 0;
}
INLINE int lanes_at_most(lanes a, lanes b) {
    return _mm_movemask_pd(_mm_cmple_pd(a.lo, b.lo)) | _mm_movemask_pd(_mm_cmple_pd(a.hi, b.hi)) << 2;
}
INLINE __m128d half_shift_bits(__m128d a) { return _mm_castsi128_pd(_mm_slli_epi64(_mm_castpd_si128(a), 52)); }
INLINE lanes lanes_shift_bits(lanes a) { return (lanes){half_shift_bits(a.lo), half_shift_bits(a.hi)}; }
INLINE lanes lanes_sqrt(lanes a) { return (lanes){_mm_sqrt_pd(a.lo), _mm_sqrt_pd(a.hi)}; }
INLINE __m128d half_choose(__m128d test, __m128d yes, __m128d no) {
    return _mm_or_pd(_mm_and_pd(test, yes), _mm_andnot_pd(test, no));
}
INLINE lanes lanes_choose(lanes a, lanes b, lanes yes, lanes no) {
    return (lanes){half_choose(_mm_cmple_pd(a.lo, b.lo), yes.lo, no.lo),
                   half_choose(_mm_cmple_pd(a.hi, b.hi), yes.hi, no.hi)};
}
INLINE lanes lanes_shift(lanes before, lanes x) {
    return (lanes){_mm_shuffle_pd(before.hi, x.lo, 1), _mm_shuffle_pd(x.lo, x.hi, 1)};
}
INLINE double lanes_last(lanes x) { return _mm_cvtsd_f64(_mm_unpackhi_pd(x.hi, x.hi)); }

#else
#define LANE_COUNT 4
#define TARGET
#define INLINE static inline
typedef struct { double at[4]; } lanes;
#define LANES_EACH(expression)                                                                                 \
    lanes result;                                                                                              \
    for (int l = 0; l < 4; l++) result.at[l] = (expression);                                                   \
    return result
INLINE lanes lanes_load(const double *p) { LANES_EACH(p[l]); }
INLINE void lanes_store(double *p, lanes x) { for (int l = 0; l < 4; l++) p[l] = x.at[l]; }
INLINE lanes lanes_all(double x) { LANES_EACH(x); }
INLINE lanes lanes_look_up(const double *const *row, const int32_t *at) { LANES_EACH(row[l][at[l]]); }
INLINE lanes lanes_add(lanes a, lanes b) { LANES_EACH(a.at[l] + b.at[l]); }
INLINE lanes lanes_sub(lanes a, lanes b) { LANES_EACH(a.at[l] - b.at[l]); }
INLINE lanes lanes_mul(lanes a, lanes b) { LANES_EACH(a.at[l] * b.at[l]); }
INLINE lanes lanes_div(lanes a, lanes b) { LANES_EACH(a.at[l] / b.at[l]); }
INLINE lanes lanes_min(lanes a, lanes b) { LANES_EACH(a.at[l] < b.at[l] ? a.at[l] : b.at[l]); }
INLINE lanes lanes_max(lanes a, lanes b) { LANES_EACH(a.at[l] > b.at[l] ? a.at[l] : b.at[l]); }
INLINE int lanes_any_below(lanes a, lanes b) {
    int below = 0;
    for (int l = 0; l < 4; l++) below |= a.at[l] < b.at[l];
    return below;
}
INLINE int lanes_at_most(lanes a, lanes b) {
    int met = 0;
    for (int l = 0; l < 4; l++) met |= (a.at[l] <= b.at[l]) << l;
    return met;
}
INLINE double shifted_bits(double a) {
    uint64_t bits;
    memcpy(&bits, &a, sizeof bits);
    bits <<= 52;
    memcpy(&a, &bits, sizeof bits);
    return a;
}
INLINE lanes lanes_shift_bits(lanes a) { LANES_EACH(shifted_bits(a.at[l])); }
INLINE lanes lanes_sqrt(lanes a) { LANES_EACH(sqrt(a.at[l])); }
INLINE lanes lanes_choose(lanes a, lanes b, lanes yes, lanes no) {
    LANES_EACH(a.at[l] <= b.at[l] ? yes.at[l] : no.at[l]);
}
INLINE lanes lanes_shift(lanes before, lanes x) { return (lanes){{before.at[3], x.at[0], x.at[1], x.at[2]}}; }
INLINE double lanes_last(lanes x) { return x.at[3]; }
#endif

/* exp(x) for x <= 0, within 2 ulp: x = n ln 2 + r, 2^n by putting n into the exponent bits, e^r by its series, whose first
 * term left out is below 1e-17. Where the result would be subnormal the C library answers. */
INLINE lanes lanes_exp(lanes x) {
    static const double inverse_factorial[] = {1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0,
                                               1.0 / 362880.0,     1.0 / 40320.0,     1.0 / 5040.0,     1.0 / 720.0,
                                               1.0 / 120.0,        1.0 / 24.0,        1.0 / 6.0,        0.5,
                                               1.0,                1.0};
    if (lanes_any_below(x, lanes_all(-708.0))) {
        double each[LANE_COUNT];
        lanes_store(each, x);
        for (int l = 0; l < LANE_COUNT; l++) each[l] = exp(each[l]);
        return lanes_load(each);
    }
    const lanes round = lanes_all(0x1.8p52), to_exponent = lanes_all(0x1.8p52 + 1023.0);
    lanes n = lanes_sub(lanes_add(lanes_mul(x, lanes_all(0x1.71547652b82fep+0)), round), round);
    lanes r = lanes_sub(lanes_sub(x, lanes_mul(n, lanes_all(0x1.62e42fefa3800p-1))), lanes_mul(n, lanes_all(0x1.ef35793c76730p-45)));
    lanes series = lanes_all(inverse_factorial[0]);
    for (int term = 1; term < 14; term++) series = lanes_add(lanes_mul(series, r), lanes_all(inverse_factorial[term]));
    return lanes_mul(series, lanes_shift_bits(lanes_add(n, to_exponent)));
}

#if !defined(LANES_AVX512)
INLINE lanes lanes_sqrt_beside(lanes x) { return lanes_sqrt(x); }
#endif

#endif
