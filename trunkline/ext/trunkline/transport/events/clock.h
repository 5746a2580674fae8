#ifndef TRUNKLINE_TRANSPORT_EVENTS_CLOCK_H
#define TRUNKLINE_TRANSPORT_EVENTS_CLOCK_H

#include <stdint.h>
#include <time.h>

/* A point in time of the monotonic clock, or a duration. */
typedef int64_t nanoseconds;

#define NEVER INT64_MAX
#define MILLISECOND INT64_C(1000000)
#define SECOND INT64_C(1000000000)

/* Returns the time of the monotonic clock. */
static inline nanoseconds clock_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (nanoseconds)t.tv_sec * SECOND + t.tv_nsec;
}

/* Returns `from` plus `span`; NEVER when `span` is NEVER or the sum overflows. */
static inline nanoseconds clock_after(nanoseconds from, nanoseconds span) {
    return span >= NEVER - from ? NEVER : from + span;
}

/* Converts seconds to nanoseconds. Returns NEVER for a value that does not fit, and 0 for a
 * negative value or NaN. */
static inline nanoseconds clock_span(double seconds) {
    double span = seconds * (double)SECOND;
    if (span >= (double)NEVER) return NEVER;
    return span > 0 ? (nanoseconds)span : 0;
}

/* Returns the earlier of two times. */
static inline nanoseconds clock_earlier(nanoseconds a, nanoseconds b) {
    return a < b ? a : b;
}

/* Returns how long to sleep in order to wake at `until`. The kernel may end a sleep late by a
 * thousandth of its length, or by five thousandths for a nice process; so a long sleep ends early,
 * and the caller sleeps again. */
static inline nanoseconds clock_nap(nanoseconds until, nanoseconds now) {
    nanoseconds left = until - now;
    return left > 5 * SECOND ? left - left / 64 : left;
}

/* Converts a duration to a timeout of poll and epoll_wait: milliseconds, rounded up; -1 for
 * NEVER. */
static inline int clock_milliseconds(nanoseconds span) {
    if (span == NEVER) return -1;
    nanoseconds whole = span <= 0 ? 0 : (span - 1) / MILLISECOND + 1;
    return whole > INT32_MAX ? INT32_MAX : (int)whole;
}

#endif
