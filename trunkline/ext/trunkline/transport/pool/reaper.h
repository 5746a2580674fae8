#ifndef TRUNKLINE_TRANSPORT_POOL_REAPER_H
#define TRUNKLINE_TRANSPORT_POOL_REAPER_H

#include "transport/events/clock.h"

#include <stdbool.h>

/* A native thread that closes idle connections when their time is up, so that no caller has to. */

/* Something will be due at `when`: starts the thread if need be, wakes it if it would sleep longer.
 */
void reaper_expect(nanoseconds when);

/* Around fork: the lock is held meanwhile; the child has no such thread until it needs one. */
void reaper_before_fork(void);
void reaper_after_fork(bool child);

#endif
