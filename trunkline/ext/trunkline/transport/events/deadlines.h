#ifndef TRUNKLINE_TRANSPORT_EVENTS_DEADLINES_H
#define TRUNKLINE_TRANSPORT_EVENTS_DEADLINES_H

#include "clock.h"

#include <stdbool.h>

/*
 * Points in time, soonest first: a binary heap. A deadline that moves away, as most do with each
 * byte that comes, costs nothing: it is sorted anew only when its old time is over.
 */

/* Embedded in whoever waits; {.index = -1} before its first use. */
typedef struct {
    nanoseconds when;   /* the owner's: it may be set later at any time; sooner by deadlines_set */
    nanoseconds sorted; /* its key in the heap: `when`, or sooner */
    int index;          /* in the heap; -1: it is not there */
} deadline;

typedef struct {
    deadline **heap; /* owned; what it points to is borrowed */
    int count, capacity;
} deadlines;

/* Adds `one`, unless its `when` is NEVER, or moves it forward. Returns false without memory. */
bool deadlines_set(deadlines *d, deadline *one);

/* Takes `one` out; nothing happens when it is not there. */
void deadlines_remove(deadlines *d, deadline *one);

/* No deadline is over before this point; NEVER: there is none. */
nanoseconds deadlines_next(const deadlines *d);

/* Takes out and returns a deadline that is over; NULL: there is none. */
deadline *deadlines_expired(deadlines *d, nanoseconds now);

void deadlines_free(deadlines *d);

#endif
