#define LANE_BITS 128
#define LANE_KERNELS lanes_base
#include "lane_kernels.h"
