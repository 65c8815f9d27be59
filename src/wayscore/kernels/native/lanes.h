/* Several doubles at once: AVX-512 (eight), AVX2 or SSE2 (four), or plain C where none is known.
 *
 * A file that includes this after `#define LANES_AVX2` or `LANES_AVX512` is compiled for that instruction set
 * function by function (TARGET), so one build runs on every processor and the choice is made when the module is
 * loaded. */
#ifndef WAYSCORE_LANES_H
#define WAYSCORE_LANES_H

#include <math.h>
#include <stdint.h>

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
INLINE lanes lanes_min(lanes a, lanes b) { return _mm512_min_pd(a, b); }
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
INLINE lanes lanes_min(lanes a, lanes b) { return _mm256_min_pd(a, b); }
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
INLINE lanes lanes_min(lanes a, lanes b) { return LANES_BOTH(_mm_min_pd, a, b); }
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
INLINE lanes lanes_min(lanes a, lanes b) { LANES_EACH(a.at[l] < b.at[l] ? a.at[l] : b.at[l]); }
INLINE lanes lanes_sqrt(lanes a) { LANES_EACH(sqrt(a.at[l])); }
INLINE lanes lanes_choose(lanes a, lanes b, lanes yes, lanes no) {
    LANES_EACH(a.at[l] <= b.at[l] ? yes.at[l] : no.at[l]);
}
INLINE lanes lanes_shift(lanes before, lanes x) { return (lanes){{before.at[3], x.at[0], x.at[1], x.at[2]}}; }
INLINE double lanes_last(lanes x) { return x.at[3]; }
#endif

#if !defined(LANES_AVX512)
INLINE lanes lanes_sqrt_beside(lanes x) { return lanes_sqrt(x); }
#endif

#endif
