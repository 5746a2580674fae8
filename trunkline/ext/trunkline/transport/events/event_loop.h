#ifndef TRUNKLINE_TRANSPORT_EVENTS_EVENT_LOOP_H
#define TRUNKLINE_TRANSPORT_EVENTS_EVENT_LOOP_H

#include "clock.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Waits for events on many descriptors: with epoll on Linux, with poll elsewhere. With epoll a
 * connection is registered once for all of its calls, and its events are edge-triggered: after an
 * event its driver must read until EAGAIN. Used by one thread at a time.
 */
typedef struct event_loop event_loop;

/* Returns a loop for the caller to free; NULL with errno when memory or descriptors run out. */
event_loop *event_loop_new(void);
void event_loop_free(event_loop *l); /* NULL is fine */

/* event_loop_inherited returns whether the loop was made before a fork that led to this process;
 * then only event_loop_free and event_loop_renew may be called. event_loop_renew makes it a loop of
 * this process, which watches nothing, and returns false without a descriptor. */
bool event_loop_inherited(const event_loop *l);
bool event_loop_renew(event_loop *l);

/* Watches `descriptor` until event_loop_ignore.
 *
 * id: the connection's id, because descriptor numbers are used again; 0: one event only.
 * events: POLLIN, POLLOUT or both. user_data: what event_loop_wait returns for it; borrowed.
 * Returns false, and does not watch it, when out of memory or when epoll refuses the descriptor. */
bool event_loop_watch(event_loop *l, int descriptor, uint64_t id, short events, void *user_data);

/* Stops returning `user_data` for `descriptor`. To be called before `user_data` is freed; closing a
 * descriptor does not require it. */
void event_loop_ignore(event_loop *l, int descriptor, const void *user_data);

/* Waits until an event or `until` (0: does not wait). Fills at most `room` entries of `user_data`
 * and returns how many. */
int event_loop_wait(event_loop *l, nanoseconds until, void **user_data, int room);

/* Returns true when epoll has reported nothing for the connection `id` on `descriptor` since the
 * caller last read it to EAGAIN: the connection is registered but not watched now, and
 * event_loop_wait was called less than half a millisecond before `now`. False: the caller must
 * check the socket itself. */
bool event_loop_quiet(event_loop *l, int descriptor, uint64_t id, nanoseconds now);

/* Returns a descriptor that is readable when event_loop_wait would not wait; -1 with poll. The loop
 * owns it. */
int event_loop_descriptor(const event_loop *l);

#endif
