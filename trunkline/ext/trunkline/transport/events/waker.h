#ifndef TRUNKLINE_TRANSPORT_EVENTS_WAKER_H
#define TRUNKLINE_TRANSPORT_EVENTS_WAKER_H

#include <stdbool.h>

/*
 * What wakes a driver that waits in poll: an interrupt of its thread, the end of a look-up, a
 * connection that became free. One descriptor that becomes readable, and stays so until cleared.
 * waker_wake may be called from any thread and from Ruby's unblock function.
 */
typedef struct waker waker;

/* From a free list, or made; cleared; one reference. NULL: no memory or descriptor (errno says). */
waker *waker_take(void);
waker *
waker_keep(waker *w);      /* one reference more: for whoever may wake later than its owner lives */
void waker_drop(waker *w); /* the last one returns it to the free list; NULL is fine */
int waker_descriptor(waker *w);
void waker_wake(waker *w);
bool waker_clear(waker *w); /* was it woken? It is not any more. */

/* The driver itself has something for another of its own calls: it need not be woken for that. */
void waker_mark(waker *w);
bool waker_marked(waker *w); /* was it? It is not any more. */

/* Its driver runs a caller's code: nothing that waits with this waker is stepped before it is back.
 */
void waker_depart(waker *w);
void waker_arrive(waker *w);
bool waker_away(const waker *w); /* NULL is fine: false */

/* For those who can wait for one thing alone: a descriptor that is readable when the waker is
 * woken, or when `descriptor` has one of `events`. It is the waker's, and good until the next call.
 * -1: there is none here. */
int waker_with(waker *w, int descriptor, short events);

/* Closes those in the free list, for whoever wants a descriptor. False: there were none. */
bool waker_close_unused(void);

/* Around fork: the child starts without any that are free, and those in use there are opened anew
 * when they are used. */
void waker_before_fork(void);
void waker_after_fork(bool child);

#endif
