#ifndef TRUNKLINE_TRANSPORT_EXCHANGE_EXCHANGE_LOOP_H
#define TRUNKLINE_TRANSPORT_EXCHANGE_EXCHANGE_LOOP_H

#include "exchange.h"
#include "transport/events/deadlines.h"

/*
 * Many exchanges driven by one thread: each is stepped when its connection, its deadline or the
 * shared waker has something for it; all are of one pool. What the exchanges ask of their caller is
 * collected, so that one trip without the GVL serves all that came meanwhile.
 */
typedef struct exchange_loop exchange_loop;

/* An exchange in an exchange loop. */
typedef struct member {
    exchange *x; /* borrowed */
    void *owner; /* the caller's */
    struct exchange_loop *loop;
    step_result step; /* what it came to, once exchange_loop_next gives it */
    /* the exchange loop's own */
    list_node loop_node;  /* among all of its exchange loop */
    list_node queue_node; /* among those to be stepped, or to be served */
    enum { MEMBER_WAITING, MEMBER_RUNNABLE, MEMBER_READY } where;
    deadline due;
    int watching[DIAL_MAX_ATTEMPTS];
    int watching_count;
} member;

/* Keeps one reference of the waker, which all of its exchanges must share. NULL: no memory, or
 * no descriptor (errno says). */
exchange_loop *exchange_loop_new(waker *w);

/* It must be empty. NULL is fine. In a child its memory is lost. */
void exchange_loop_free(exchange_loop *l);

/* Takes `x` in, which has begun, and steps it at the next drive. `m` is the caller's memory, and
 * stays where it is until exchange_loop_remove; what is not over then and goes on needs
 * exchange_join. */
void exchange_loop_add(exchange_loop *l, member *m, exchange *x, void *owner);
void exchange_loop_remove(exchange_loop *l, member *m);

/* What was asked has been done: step on at the next drive. */
void exchange_loop_resume(exchange_loop *l, member *m);

/* Steps all that can be stepped without waiting. */
void exchange_loop_run(exchange_loop *l);

/* The next that asks for something or is over; it is in no queue then: exchange_loop_resume or
 * exchange_loop_remove it. NULL: none. */
member *exchange_loop_next(exchange_loop *l);

/* Waits until one is ready, `until` is over (0: does not wait), or `stop` asks for an end. */
void exchange_loop_drive(exchange_loop *l, nanoseconds until, const stop_request *stop);

bool exchange_loop_has_ready(const exchange_loop *l);

/* Nobody will drive it for a while, but calls of others go on: they wait for nothing that its
 * exchanges do. And somebody does again. */
void exchange_loop_depart(exchange_loop *l);
void exchange_loop_arrive(exchange_loop *l);

/* It is driven as soon as there is something to do, unless its thread is busy: others need not wait
 * for its exchanges to read, but do for what they dial. */
void exchange_loop_park(exchange_loop *l);

/* For those who wait elsewhere (a Fiber scheduler): a descriptor that becomes readable when there
 * is something to do (-1: none), and when to come back in any case (0: at once). */
int exchange_loop_descriptor(exchange_loop *l);
nanoseconds exchange_loop_deadline(const exchange_loop *l);

#endif
