#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define LANES_AVX2
#endif
#define LANE_KERNELS lanes_avx2
#include "lane_kernels.h"
