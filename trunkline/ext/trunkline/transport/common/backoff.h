#ifndef TRUNKLINE_TRANSPORT_COMMON_BACKOFF_H
#define TRUNKLINE_TRANSPORT_COMMON_BACKOFF_H

#include <stdint.h>

/* How many times to leave out what was just tried in vain: twice as often as after the try before,
 * from 8 to 1024 times. `before`: what was returned then; 0: it was no try in vain. */
static inline uint32_t backoff_next(uint32_t before) {
    if (before == 0) return 8;
    return before < 1024 ? before * 2 : before;
}

#endif
