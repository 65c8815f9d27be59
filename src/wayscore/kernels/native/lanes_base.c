#define LANE_KERNELS lanes_base
#include "lane_kernels.h"
