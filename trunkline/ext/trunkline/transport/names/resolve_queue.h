#ifndef TRUNKLINE_TRANSPORT_NAMES_RESOLVE_QUEUE_H
#define TRUNKLINE_TRANSPORT_NAMES_RESOLVE_QUEUE_H

#include "resolve_cache.h"

/*
 * Which name is looked up next, and when. getaddrinfo cannot be stopped: a name whose server does
 * not answer keeps its thread for as long as resolv.conf says, 5 s and more. So that such names do
 * not delay others:
 *   - names queue by their domain ("a.example.com" in that of example.com), and the domains take
 *     turns;
 *   - RESOLVE_AT_ONCE look-ups of a domain run at once; each further one starts at least
 *     RESOLVE_PACE after the one before;
 *   - of a domain's names the newest goes first, and each fourth time the oldest: callers of old
 *     ones have often given up;
 *   - one domain never has all threads, and the last ones are for names that were answered before.
 * The caller holds the lock of resolve.c.
 */
#define RESOLVE_AT_ONCE 32
#define RESOLVE_PACE (20 * MILLISECOND)
#define RESOLVE_MAX_THREADS 320
#define RESOLVE_MAX_UNKNOWN 304 /* look-ups of names that had no answer before */
#define RESOLVE_MAX_DOMAIN 288  /* look-ups of one domain */
#define RESOLVE_MAX_QUEUED 4096 /* names that wait for their look-up */

/* Appends the name; the queue has no reference of its own. Returns false without memory. */
bool lookup_queue_add(lookup *name);

void lookup_queue_remove(lookup *name); /* which is queued */

/* Takes the next name to look up; it counts as running until lookup_queue_finished. NULL: none may
 * start now; *when is lowered to when one may. */
lookup *lookup_queue_take(nanoseconds now, nanoseconds *when);

void lookup_queue_finished(lookup *name);

/* The name to give up when the queued `newcomer` is one too many: the oldest of its domain, or,
 * when it is alone there, of the domain whose turn it is. Other names must be queued. */
lookup *lookup_queue_surplus(const lookup *newcomer);

size_t lookup_queue_length(void);
unsigned lookup_queue_running(void);

void lookup_queue_reset(void); /* in the child after fork: no name is queued or running */

#endif
