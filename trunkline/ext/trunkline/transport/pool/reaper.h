#ifndef TRUNKLINE_TRANSPORT_POOL_REAPER_H
#define TRUNKLINE_TRANSPORT_POOL_REAPER_H

#include "transport/events/clock.h"

#include <stdbool.h>

/* A native thread that closes idle connections when their time is up, so that no caller has to. */

/* Closes what is due by `now`; returns when the next is due, NEVER: nothing is. */
typedef nanoseconds (*reaper_visit)(nanoseconds now);

/* Something will be due at `when`, for `visit` (the same in every call), which the thread calls
 * then: starts the thread if need be, wakes it if it would sleep longer. */
void reaper_expect(nanoseconds when, reaper_visit visit);

/* Around fork: the lock is held meanwhile; the child has no such thread until it needs one. */
void reaper_before_fork(void);
void reaper_after_fork(bool child);

#endif
