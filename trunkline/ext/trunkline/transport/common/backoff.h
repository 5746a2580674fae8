#ifndef TRUNKLINE_TRANSPORT_COMMON_BACKOFF_H
#define TRUNKLINE_TRANSPORT_COMMON_BACKOFF_H

#include <stdint.h>

/* Returns how many times to skip an operation after it was tried in vain: twice as many as after
 * the previous vain try, from 8 to 1024. `before`: the previous result; 0: the previous try
 * succeeded. */
static inline uint32_t backoff_next(uint32_t before) {
    if (before == 0) return 8;
    return before < 1024 ? before * 2 : before;
}

#endif
