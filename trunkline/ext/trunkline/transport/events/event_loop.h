#ifndef TRUNKLINE_TRANSPORT_EVENTS_EVENT_LOOP_H
#define TRUNKLINE_TRANSPORT_EVENTS_EVENT_LOOP_H

#include "clock.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Many descriptors watched at once: by epoll on Linux, by poll elsewhere. With epoll a connection
 * is told to the kernel once and stays so for all the calls that it carries; events are edges then,
 * so whoever was told reads until there is nothing left.
 */
typedef struct event_loop event_loop;

event_loop *event_loop_new(void); /* NULL: no memory or descriptor */
void event_loop_free(event_loop *l);

/* After fork, in the child: is it the parent's? Then only these may be called; event_loop_renew
 * makes it one of this process, which watches nothing (false: no descriptor). */
bool event_loop_inherited(const event_loop *l);
bool event_loop_renew(event_loop *l);

/* Watches `descriptor` for POLLIN and POLLOUT as in `events`, and remembers `whom` to tell. `id`
 * names what the descriptor is now (numbers are used again): the same id need not be told to the
 * kernel twice; 0: it is to be told of once only. False: no memory. */
bool event_loop_watch(event_loop *l, int descriptor, uint64_t id, short events, void *whom);

/* Nobody is to be told of it any more. Descriptors that were closed need not be ignored, but what
 * was to be told must be. */
void event_loop_ignore(event_loop *l, int descriptor, const void *whom);

/* Waits until `until` (0: not at all) and fills in whom to tell; returns how many. */
int event_loop_wait(event_loop *l, nanoseconds until, void **whom, int room);

/* Is it certain that nothing came on `descriptor`, the connection `id`, since it was left, as of
 * the last event_loop_wait? Who asks had read it to its end, and has just called that. */
bool event_loop_quiet(event_loop *l, int descriptor, uint64_t id);

/* A descriptor that is readable when event_loop_wait would not wait; -1 where there is none (poll).
 */
int event_loop_descriptor(const event_loop *l);

#endif
