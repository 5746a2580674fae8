#ifndef TRUNKLINE_TRANSPORT_EXCHANGE_EXCHANGE_LOOP_H
#define TRUNKLINE_TRANSPORT_EXCHANGE_EXCHANGE_LOOP_H

#include "exchange.h"
#include "transport/events/deadlines.h"

/*
 * Drives many exchanges of one pool in one thread: each is stepped when its connection has an
 * event, its deadline is over, or the shared waker was woken for it. Members that need their caller
 * are put into a list, so that one return to Ruby serves all of them.
 */
typedef struct exchange_loop exchange_loop;

/* An exchange in an exchange loop. */
typedef struct member {
    exchange *x; /* borrowed */
    void *owner; /* set by the caller */
    struct exchange_loop *loop;
    step_result step; /* the last step's result, when exchange_loop_next returns it */
    /* The fields below belong to the exchange loop. */
    list_node loop_node;  /* in the list of all members */
    list_node queue_node; /* in ->runnable or ->ready */
    enum { MEMBER_WAITING, MEMBER_RUNNABLE, MEMBER_READY } where;
    deadline due;
    int watching[DIAL_MAX_ATTEMPTS];
    int watching_count;
} member;

/* Adds a reference to the waker, which all of the exchanges must share. Returns NULL with errno
 * when memory or descriptors run out. */
exchange_loop *exchange_loop_new(waker *w);

/* Frees a loop that has no members. NULL is fine. In a forked child the memory of a parent's loop
 * leaks. */
void exchange_loop_free(exchange_loop *l);

/* Adds `x`, which has begun, to be stepped at the next drive. `m` is the caller's memory, and must
 * not move before exchange_loop_remove. An exchange that continues after that needs
 * exchange_join. */
void exchange_loop_add(exchange_loop *l, member *m, exchange *x, void *owner);

/* Removes a member, whose exchange still belongs to the caller; `m` may be freed or moved then. */
void exchange_loop_remove(exchange_loop *l, member *m);

/* Has the next drive step a member again that exchange_loop_next returned. */
void exchange_loop_resume(exchange_loop *l, member *m);

/* Steps all members that can continue without waiting. */
void exchange_loop_run(exchange_loop *l);

/* Returns the next member whose step returned another result than STEP_WAIT, for the caller to
 * resume or remove; NULL: none. */
member *exchange_loop_next(exchange_loop *l);

/* Waits until a member is ready, until `until` (0: does not wait), or until `stop` requests an
 * end. */
void exchange_loop_drive(exchange_loop *l, nanoseconds until, const stop_request *stop);

/* Returns whether exchange_loop_next would return a member. */
bool exchange_loop_has_ready(const exchange_loop *l);

/* exchange_loop_depart records that no thread drives the loop before exchange_loop_arrive; calls of
 * other drivers do not wait for its exchanges. */
void exchange_loop_depart(exchange_loop *l);
void exchange_loop_arrive(exchange_loop *l);

/* To be called when a fiber waits for the loop's descriptor; its thread may be busy meanwhile.
 * Calls of other drivers do not wait for the loop's exchanges to read a shared connection, but
 * still wait for connections that these dial. */
void exchange_loop_begin_fiber_wait(exchange_loop *l);

/* For a caller that waits by itself (a fiber scheduler): a descriptor that is readable when there
 * is something to do (-1: none), and when to drive even without an event (0: at once). */
int exchange_loop_descriptor(exchange_loop *l);
nanoseconds exchange_loop_deadline(const exchange_loop *l);

#endif
