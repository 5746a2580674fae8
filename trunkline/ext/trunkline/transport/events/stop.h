#ifndef TRUNKLINE_TRANSPORT_EVENTS_STOP_H
#define TRUNKLINE_TRANSPORT_EVENTS_STOP_H

#include "clock.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Requests that a driver returns to its caller although its call has no result yet. Another thread
 * or a signal handler calls stop_set and then wakes the driver's waker. The driver also calls
 * `interrupted` between two steps, for interrupts that wake no waker (a signal that Ruby has only
 * recorded).
 */
typedef struct {
    bool is_set;                       /* atomic */
    bool (*interrupted)(void *thread); /* NULL: never called */
    void *thread;               /* argument of ->interrupted: the driver's thread; borrowed */
    nanoseconds check_interval; /* longest wait between calls of ->interrupted; 0: no limit */
} stop_request;

/* Requests a stop. May be called by any thread and in a signal handler. */
static inline void stop_set(stop_request *s) {
    __atomic_store_n(&s->is_set, true, __ATOMIC_RELEASE);
}

/* Withdraws the request. */
static inline void stop_clear(stop_request *s) {
    __atomic_store_n(&s->is_set, false, __ATOMIC_RELEASE);
}

/* Returns whether stop_set was called; does not call ->interrupted. */
static inline bool stop_is_set(const stop_request *s) {
    return __atomic_load_n(&s->is_set, __ATOMIC_ACQUIRE);
}

/* Returns whether the driver must stop: stop_set was called, or its thread was interrupted. */
static inline bool stop_requested(const stop_request *s) {
    return stop_is_set(s) || (s->interrupted != NULL && s->interrupted(s->thread));
}

/* Returns the end of a wait that may last until `until`, early enough to call ->interrupted
 * again. */
static inline nanoseconds stop_wait_until(const stop_request *s, nanoseconds until) {
    return s->check_interval > 0 && until != 0
               ? clock_earlier(until, clock_now() + s->check_interval)
               : until;
}

#endif
