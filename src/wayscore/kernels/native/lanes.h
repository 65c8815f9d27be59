/* Four doubles at once: AVX2, SSE2, or plain C where neither is known.
 *
 * A file that includes this after `#define LANES_AVX2` is compiled for AVX2 function by function (TARGET), so
 * one build runs on every processor and the choice is made when the module is loaded. */
#ifndef WAYSCORE_LANES_H
#define WAYSCORE_LANES_H

#include <math.h>
#include <stdint.h>

#define LANE_COUNT 4

#if defined(LANES_AVX2)
#include <immintrin.h>
#define TARGET __attribute__((target("avx2")))
#define INLINE TARGET static inline __attribute__((always_inline))
typedef __m256d lanes;
INLINE lanes lanes_load(const double *p) { return _mm256_loadu_pd(p); }
INLINE void lanes_store(double *p, lanes x) { _mm256_storeu_pd(p, x); }
INLINE lanes lanes_all(double x) { return _mm256_set1_pd(x); }
INLINE lanes lanes_of(double a, double b, double c, double d) { return _mm256_setr_pd(a, b, c, d); }
INLINE lanes lanes_add(lanes a, lanes b) { return _mm256_add_pd(a, b); }
INLINE lanes lanes_sub(lanes a, lanes b) { return _mm256_sub_pd(a, b); }
INLINE lanes lanes_mul(lanes a, lanes b) { return _mm256_mul_pd(a, b); }
INLINE lanes lanes_min(lanes a, lanes b) { return _mm256_min_pd(a, b); }
INLINE lanes lanes_sqrt(lanes a) { return _mm256_sqrt_pd(a); }
/* a <= b ? yes : no, lane by lane */
INLINE lanes lanes_choose(lanes a, lanes b, lanes yes, lanes no) {
    return _mm256_blendv_pd(no, yes, _mm256_cmp_pd(a, b, _CMP_LE_OQ));
}
/* {before[3], x[0], x[1], x[2]} */
INLINE lanes lanes_shift(lanes before, lanes x) {
    return _mm256_shuffle_pd(_mm256_permute2f128_pd(before, x, 0x21), x, 0x5);
}
INLINE double lanes_last(lanes x) {
    __m128d high = _mm256_extractf128_pd(x, 1);
    return _mm_cvtsd_f64(_mm_unpackhi_pd(high, high));
}

#elif defined(__SSE2__) && (defined(__GNUC__) || defined(__clang__))
#include <emmintrin.h>
#define TARGET
#define INLINE static inline __attribute__((always_inline))
typedef struct { __m128d lo, hi; } lanes;
#define LANES_BOTH(operation, a, b) ((lanes){operation((a).lo, (b).lo), operation((a).hi, (b).hi)})
INLINE lanes lanes_load(const double *p) { return (lanes){_mm_loadu_pd(p), _mm_loadu_pd(p + 2)}; }
INLINE void lanes_store(double *p, lanes x) { _mm_storeu_pd(p, x.lo); _mm_storeu_pd(p + 2, x.hi); }
INLINE lanes lanes_all(double x) { return (lanes){_mm_set1_pd(x), _mm_set1_pd(x)}; }
INLINE lanes lanes_of(double a, double b, double c, double d) {
    return (lanes){_mm_setr_pd(a, b), _mm_setr_pd(c, d)};
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
INLINE lanes lanes_of(double a, double b, double c, double d) { return (lanes){{a, b, c, d}}; }
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

#endif
