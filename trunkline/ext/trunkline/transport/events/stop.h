#ifndef TRUNKLINE_TRANSPORT_EVENTS_STOP_H
#define TRUNKLINE_TRANSPORT_EVENTS_STOP_H

#include "clock.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Tells a driver to return to its caller though nothing has happened yet. stop_ask is called by
 * another thread or a signal handler, which then wakes the driver's waker. `interrupted` asks
 * whether `thread`, the driver's own, has something else to do, such as the handler of a signal,
 * for which no waker may be woken.
 */
typedef struct {
    bool asked;                        /* atomic */
    bool (*interrupted)(void *thread); /* called by the driver between two steps; NULL: never */
    void *thread;                      /* its argument; borrowed */
    nanoseconds ask_every; /* how long to wait at most before the next question; 0: any time */
} stop_request;

static inline void stop_ask(stop_request *s) {
    __atomic_store_n(&s->asked, true, __ATOMIC_RELEASE);
}

static inline void stop_take_back(stop_request *s) {
    __atomic_store_n(&s->asked, false, __ATOMIC_RELEASE);
}

static inline bool stop_asked(const stop_request *s) {
    return __atomic_load_n(&s->asked, __ATOMIC_ACQUIRE);
}

static inline bool stop_wanted(const stop_request *s) {
    return stop_asked(s) || (s->interrupted != NULL && s->interrupted(s->thread));
}

/* Until when a wait that may last until `until` goes on before the next question. */
static inline nanoseconds stop_wait_until(const stop_request *s, nanoseconds until) {
    return s->ask_every > 0 && until != 0 ? clock_earlier(until, clock_now() + s->ask_every)
                                          : until;
}

#endif
