#ifndef TRUNKLINE_TRANSPORT_EXCHANGE_EXCHANGE_LOOP_H
#define TRUNKLINE_TRANSPORT_EXCHANGE_EXCHANGE_LOOP_H

#include "exchange.h"

/*
 * Many exchanges driven by one thread: each is stepped when its connection, its deadline or the
 * shared waker has something for it; all are of one pool. What the exchanges ask of their caller is
 * collected, so that one trip without the GVL serves all that came meanwhile.
 */
typedef struct poller poller;

/* An exchange in a poller. */
typedef struct member {
    exchange *x; /* borrowed */
    void *owner; /* the caller's */
    struct poller *poller;
    step_result step; /* what it came to, once poller_next gives it */
    /* the poller's own */
    struct member *next; /* of a queue */
    struct member *previous_all, *next_all;
    enum { MEMBER_WAITING, MEMBER_RUNNABLE, MEMBER_READY } where;
    nanoseconds deadline, heap_key;
    int heap_index; /* -1: not there */
    int watching[DIAL_MAX_ATTEMPTS];
    int watching_count;
} member;

/* Keeps one reference of the waker, which all of its exchanges must share. NULL: no memory, or
 * no descriptor (errno says). */
poller *poller_new(waker *w);
void poller_free(poller *p); /* it must be empty. NULL is fine. In a child its memory is lost */

/* Takes `x` in, which has begun, and steps it at the next drive. `m` is the caller's memory, and
 * stays where it is until poller_remove; what is not over then and goes on needs exchange_join. */
void poller_add(poller *p, member *m, exchange *x, void *owner);
void poller_remove(poller *p, member *m);

/* What was asked has been done: step on at the next drive. */
void poller_resume(poller *p, member *m);

/* Steps all that can be stepped without waiting. */
void poller_run(poller *p);

/* The next that asks for something or is over; it is in no queue then: poller_resume or
 * poller_remove it. NULL: none. */
member *poller_next(poller *p);

/* Waits until one is ready, `until` is over (0: does not wait), or `stop` asks for an end. */
void poller_drive(poller *p, nanoseconds until, const stop_request *stop);

bool poller_has_ready(const poller *p);

/* Nobody will drive it for a while, but calls of others go on: they wait for nothing that its
 * exchanges do. And somebody does again. */
void poller_depart(poller *p);
void poller_arrive(poller *p);

/* It is driven as soon as there is something to do, unless its thread is busy: others need not wait
 * for its exchanges to read, but do for what they dial. */
void poller_park(poller *p);

/* For those who wait elsewhere (a Fiber scheduler): a descriptor that becomes readable when there
 * is something to do (-1: none), and when to come back in any case (0: at once). */
int poller_descriptor(poller *p);
nanoseconds poller_deadline(const poller *p);

#endif
