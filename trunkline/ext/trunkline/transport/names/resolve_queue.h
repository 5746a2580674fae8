#ifndef TRUNKLINE_TRANSPORT_NAMES_RESOLVE_QUEUE_H
#define TRUNKLINE_TRANSPORT_NAMES_RESOLVE_QUEUE_H

#include "resolve_cache.h"

/*
 * Which name is looked up next, and when. getaddrinfo cannot be stopped: a name whose server is
 * silent keeps its thread for as long as resolv.conf says, 5 s and more, whoever still waits for
 * it. So that such names hold up no other one:
 *   - names queue by their domain ("a.example.com" in that of example.com), and the domains take
 *     turns;
 *   - RESOLVE_AT_ONCE look-ups of a domain run at once; of each further one RESOLVE_PACE must have
 *     passed since the one before, so that there is soon a thread for the next name however many
 *     threads are stuck;
 *   - of a domain's names the newest goes first, and each fourth time the oldest: what has waited
 *     long has mostly waited for nothing;
 *   - one domain never has all threads, and the last ones are for names that were answered before.
 * No locks of its own: whoever calls holds resolve.c's.
 */
#define RESOLVE_AT_ONCE 32
#define RESOLVE_PACE (20 * MILLISECOND)
#define RESOLVE_MAX_THREADS 320
#define RESOLVE_MAX_UNKNOWN 304 /* look-ups of names that had no answer before */
#define RESOLVE_MAX_DOMAIN 288  /* look-ups of one domain */
#define RESOLVE_MAX_QUEUED 4096 /* names that wait for their look-up */

/* Appends the name; the queue owns no reference. False: no memory. */
bool lookup_queue_add(lookup *name);

void lookup_queue_remove(lookup *name); /* which is queued: nobody waits for it any more */

/* The name to be looked up now, which counts as running until lookup_queue_finished. NULL: none;
 * *when is lowered to when there may be one, if nothing else happens before. */
lookup *lookup_queue_take(nanoseconds now, nanoseconds *when);

void lookup_queue_finished(lookup *name);

/* The one that is given up when `newcomer`, which is queued, is one too many: the oldest of its
 * domain, or, when it is the only one there, of the domain whose turn it is. There must be others.
 */
lookup *lookup_queue_surplus(const lookup *newcomer);

size_t lookup_queue_length(void);
unsigned lookup_queue_running(void);

void lookup_queue_reset(void); /* in the child after fork: no name is queued or running */

#endif
