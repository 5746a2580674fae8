#ifndef TRUNKLINE_TRANSPORT_EVENTS_DEADLINES_H
#define TRUNKLINE_TRANSPORT_EVENTS_DEADLINES_H

#include "clock.h"

#include <stdbool.h>

/*
 * A binary heap of points in time, soonest first. Most deadlines move to a later time with each
 * byte that arrives. That costs nothing: a deadline is sorted again only when its old time is over.
 */

/* Embedded in the struct that waits; {.index = -1} before its first use. */
typedef struct {
    nanoseconds when;   /* set by the owner, which calls deadlines_set after a sooner time */
    nanoseconds sorted; /* its key in the heap: `when`, or sooner */
    int index;          /* position in the heap; -1: not in it */
} deadline;

typedef struct {
    deadline **heap; /* owned; the deadlines are borrowed */
    int count, capacity;
} deadlines;

/* Adds `one` unless its `when` is NEVER, or moves it forward if it is in the heap. Returns false
 * when out of memory. */
bool deadlines_set(deadlines *d, deadline *one);

/* Removes `one`; does nothing when it is not in the heap. */
void deadlines_remove(deadlines *d, deadline *one);

/* Returns a time before which no deadline is over; NEVER: there is no deadline. */
nanoseconds deadlines_next(const deadlines *d);

/* Removes and returns a deadline that is over; NULL: there is none. */
deadline *deadlines_expired(deadlines *d, nanoseconds now);

/* Frees the heap, but neither the struct nor the deadlines. */
void deadlines_free(deadlines *d);

#endif
