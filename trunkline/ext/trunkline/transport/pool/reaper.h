#ifndef TRUNKLINE_TRANSPORT_POOL_REAPER_H
#define TRUNKLINE_TRANSPORT_POOL_REAPER_H

#include "transport/events/clock.h"

#include <stdbool.h>

/* A native thread that closes idle connections when their time is over, so that callers need
 * not. */

/* Closes the connections that are due by `now`. Returns when the next visit is due; NEVER: none
 * is. */
typedef nanoseconds (*reaper_visit)(nanoseconds now);

/* Has the thread call `visit` (the same in every call) at `when`: starts the thread if it does not
 * run, wakes it if it would sleep longer. */
void reaper_expect(nanoseconds when, reaper_visit visit);

/* To be called around fork; the lock is held during the fork. The child starts the thread when it
 * needs it. */
void reaper_before_fork(void);
void reaper_after_fork(bool child);

#endif
