#ifndef TRUNKLINE_TRANSPORT_EVENTS_WAKER_H
#define TRUNKLINE_TRANSPORT_EVENTS_WAKER_H

#include <stdbool.h>

/*
 * Wakes a thread or fiber that waits for descriptors: after an interrupt of its thread, at the end
 * of a name look-up, or when a connection becomes free. A waker has one descriptor, which becomes
 * readable by waker_wake and stays so until waker_clear. waker_wake may be called from any thread
 * and, once the descriptor is open, from a signal handler and from Ruby's unblock function. Wakers
 * are counted by reference.
 */
typedef struct waker waker;

/* Returns a cleared waker with one reference, from the free list or a new one. NULL with errno when
 * memory or descriptors run out. */
waker *waker_take(void);

/* As waker_take, for a call that may never wait for its waker: a new waker opens its descriptor
 * only when that is needed. NULL when out of memory. */
waker *waker_take_unopened(void);

/* Adds a reference, for code that may call waker_wake after the owner has dropped the waker.
 * Returns `w`. */
waker *waker_keep(waker *w);

/* Releases a reference; the last one returns the waker to the free list. NULL is fine. */
void waker_drop(waker *w);

/* Returns the descriptor to poll for POLLIN, which the waker owns; -1 when it cannot be opened. */
int waker_descriptor(waker *w);

/* Makes the descriptor readable until waker_clear. May be called from any thread. */
void waker_wake(waker *w);
bool waker_clear(waker *w); /* returns whether it was woken */

/* As waker_wake and waker_clear, without the descriptor: for a driver that has received something
 * for another of its calls, and checks the mark before it waits. */
void waker_mark(waker *w);
bool waker_marked(waker *w);

/* waker_depart records that the driver has stopped driving (it runs Ruby code), and steps none of
 * its calls before waker_arrive. waker_away returns whether that is so; false for NULL. */
void waker_depart(waker *w);
void waker_arrive(waker *w);
bool waker_away(const waker *w);

/* Returns a descriptor that is readable when the waker is woken or `descriptor` has one of `events`
 * (POLLIN, POLLOUT), for callers that can wait for one descriptor only. The waker owns it; it is
 * valid until the next call. -1 without epoll, or when it cannot be opened. */
int waker_with(waker *w, int descriptor, short events);

/* Closes the wakers in the free list, to free descriptors. Returns false when there were none. */
bool waker_close_unused(void);

/* To be called around fork. The child drops the parent's wakers from the free list, and opens the
 * descriptors of wakers that it still uses again. */
void waker_before_fork(void);
void waker_after_fork(bool child);

#endif
