#define LANE_BITS 512
#define LANE_KERNELS lanes_avx512
#include "lane_kernels.h"

#ifdef HAS_AVX
/* Does lanes_sqrt_beside() round correctly where it could fail? Let x = N 4^e with N an integer in [2^52, 2^54), even
 * from 2^53 on. The middles between doubles near its root are m 2^(e - 27) for odd m in [2^53, 2^54), and the root is
 * |c| 2^-56 to |c| 2^-55 ulp from one of them, c = m^2 - N 2^54. Within 2^-49 ulp means |c| <= 128; |c| < 1024 is tried
 * for good measure. Odd squares are 1 modulo 8, and such a c has four roots modulo 2^54, found bit by bit. */
TARGET int roots_are_exact(void) {
    const uint64_t modulus_mask = ((uint64_t)1 << 54) - 1;
    for (int64_t c = -1023; c < 1024; c += 8) {
        uint64_t root = 1;
        for (int bit = 3; bit < 54; bit++) /* root^2 = c modulo 2^bit; make it so modulo 2^(bit + 1) */
            if ((root * root - (uint64_t)c) >> bit & 1) root += (uint64_t)1 << (bit - 1);
        for (int which = 0; which < 4; which++) {
            uint64_t m = ((which & 1 ? 0 - root : root) + ((uint64_t)(which >> 1) << 53)) & modulus_mask;
            if (m < (uint64_t)1 << 53) continue;
            unsigned __int128 square = (unsigned __int128)m * m;
            uint64_t n = (uint64_t)((c < 0 ? square + (uint64_t)-c : square - (uint64_t)c) >> 54);
            if (n < (uint64_t)1 << 52 || n >= (uint64_t)1 << 54 || (n >= (uint64_t)1 << 53 && n % 2)) continue;
            double found[LANE_COUNT], x = (double)n;
            lanes_store(found, lanes_sqrt_beside(lanes_all(x)));
            if (found[0] != sqrt(x)) return 0;
        }
    }
    return 1;
}
#endif
