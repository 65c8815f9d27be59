#define LANE_BITS 256
#define LANE_KERNELS lanes_avx2
#include "lane_kernels.h"
