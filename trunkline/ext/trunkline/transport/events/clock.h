#ifndef TRUNKLINE_TRANSPORT_EVENTS_CLOCK_H
#define TRUNKLINE_TRANSPORT_EVENTS_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Points in time and spans are nanoseconds of the monotonic clock, which no one can set. */
typedef int64_t nanoseconds;

#define NEVER INT64_MAX
#define MILLISECOND INT64_C(1000000)
#define SECOND INT64_C(1000000000)

static inline nanoseconds clock_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (nanoseconds)t.tv_sec * SECOND + t.tv_nsec;
}

/* `from` plus `span`; a span of NEVER (or one that overflows) never ends. */
static inline nanoseconds clock_after(nanoseconds from, nanoseconds span) {
    return span >= NEVER - from ? NEVER : from + span;
}

/* A span (or a point of the monotonic clock) that was given in seconds. What does not fit is NEVER;
 * what is negative, or no number, is over already. */
static inline nanoseconds clock_span(double seconds) {
    double span = seconds * (double)SECOND;
    if (span >= (double)NEVER) return NEVER;
    return span > 0 ? (nanoseconds)span : 0;
}

static inline nanoseconds clock_earlier(nanoseconds a, nanoseconds b) {
    return a < b ? a : b;
}

/* How long to sleep now in order to wake at `until`: the kernel may be late by a thousandth of a
 * wait, or five of them when the process is nice, so the end of a long one is slept by itself. */
static inline nanoseconds clock_nap(nanoseconds until, nanoseconds now) {
    nanoseconds left = until - now;
    return left > 5 * SECOND ? left - left / 64 : left;
}

/* A span as poll and epoll_wait take it: rounded up, -1 for NEVER. */
static inline int clock_milliseconds(nanoseconds span) {
    if (span == NEVER) return -1;
    nanoseconds whole = span <= 0 ? 0 : (span - 1) / MILLISECOND + 1;
    return whole > INT32_MAX ? INT32_MAX : (int)whole;
}

#endif
