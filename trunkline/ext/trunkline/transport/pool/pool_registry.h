#ifndef TRUNKLINE_TRANSPORT_POOL_POOL_REGISTRY_H
#define TRUNKLINE_TRANSPORT_POOL_POOL_REGISTRY_H

#include "transport/events/clock.h"

/* Visits every pool of the process; returns when the next connection is due. For the reaper. */
nanoseconds pool_registry_reap(nanoseconds now);

#endif
