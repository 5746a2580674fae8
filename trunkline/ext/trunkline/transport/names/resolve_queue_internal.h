#ifndef TRUNKLINE_TRANSPORT_NAMES_RESOLVE_QUEUE_INTERNAL_H
#define TRUNKLINE_TRANSPORT_NAMES_RESOLVE_QUEUE_INTERNAL_H

#include "resolve_cache_internal.h"

/*
 * Chooses which name is looked up next, and when. getaddrinfo cannot be cancelled: a name whose
 * name server does not answer occupies its thread for the time that resolv.conf sets, 5 s and more.
 * So that such names do not delay others:
 *   - each domain has a queue ("a.example.com" is in that of example.com), and the domains take
 *     turns;
 *   - RESOLVE_AT_ONCE look-ups of a domain run at once; each further one starts at least
 *     RESOLVE_PACE after the previous one;
 *   - in a domain the newest name goes first, and every fourth time the oldest, because the callers
 *     of old names have often given up;
 *   - one domain never uses all threads, and the last threads are reserved for names that were
 *     resolved before.
 * The caller of each function holds the lock of resolve.c.
 */
#define RESOLVE_AT_ONCE 32
#define RESOLVE_PACE (20 * MILLISECOND)

/* Appends the name; the queue keeps no reference to it. Returns false when out of memory. */
bool lookup_queue_add(lookup *name);

void lookup_queue_remove(lookup *name); /* removes a queued name */

/* Takes the next name to look up; it counts as running until lookup_queue_finished. NULL: none may
 * start now; *when is lowered to the time when one may. */
lookup *lookup_queue_take(nanoseconds now, nanoseconds *when);

/* To be called when the look-up of a name that was taken is over. */
void lookup_queue_finished(lookup *name);

/* Returns the name to drop when the queued `newcomer` is one too many: the oldest name of its
 * domain, or, when it is alone there, of the domain whose turn it is. Other names must be
 * queued. */
lookup *lookup_queue_surplus(const lookup *newcomer);

/* Return the number of queued names, and of running look-ups. */
size_t lookup_queue_length(void);
unsigned lookup_queue_running(void);

void lookup_queue_reset(void); /* in the child after fork: no name is queued or running */

#endif
