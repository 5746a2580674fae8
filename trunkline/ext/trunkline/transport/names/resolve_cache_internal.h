#ifndef TRUNKLINE_TRANSPORT_NAMES_RESOLVE_CACHE_INTERNAL_H
#define TRUNKLINE_TRANSPORT_NAMES_RESOLVE_CACHE_INTERNAL_H

#include "protocol/list.h"
#include "resolve.h"

/*
 * The names that have a result, are queued, or are being looked up. At most LOOKUP_LIMIT names with
 * a result are kept; the least recently used one is evicted. resolve_queue_internal.h limits the
 * other names. The caller of each function holds the lock of resolve.c.
 */
#define LOOKUP_FRESH (60 * SECOND)   /* how long a result is used */
#define LOOKUP_FAILED_FRESH (SECOND) /* how long a failure is used */

typedef struct {
    endpoint *list; /* owned; without ports; NULL: see `why` */
    size_t count;
    failure why;
} lookup_result;

typedef enum { LOOKUP_QUEUED, LOOKUP_RUNNING, LOOKUP_RESOLVED, LOOKUP_FAILED } lookup_state;

typedef struct lookup lookup;
struct lookup {
    lookup_state state;
    unsigned references; /* one of the table, one of the look-up, one of each waiting resolution */
    bool listed;         /* in the table */
    bool known;          /* an earlier look-up of the name succeeded */
    nanoseconds resolved_at, expires;
    lookup_result result;
    list waiting;          /* resolutions that wait for the result */
    struct domain *domain; /* set by resolve_queue.c while the name is queued or running */
    list_node queue_node;  /* in the domain's queue */
    lookup *chain;         /* next in the bucket */
    list_node result_node; /* in the list of names with a result */
    char host[];
};

/* Returns the name, borrowed, if it is queued, is being looked up, or has a result that is younger
 * than `max_age` (0: any age) and has not expired. NULL: *known is set to whether the name had an
 * older successful result. */
lookup *lookup_find(const char *host, nanoseconds now, nanoseconds max_age, bool *known);

/* Adds a new name to the table, in the state LOOKUP_QUEUED; borrowed. NULL when out of memory. */
lookup *lookup_add(const char *host, bool known);

/* Sets the result, whose list the name owns from now on. May evict the least recently used name. */
void lookup_set_result(lookup *name, const lookup_result *result, nanoseconds now);

lookup *lookup_keep(lookup *name); /* adds a reference; returns `name` */
void lookup_drop(lookup *name);    /* the last one frees it */

void lookup_unlist(lookup *name); /* removes it from the table */

/* Remove one name, or all names, if they have a result. */
void lookup_forget(const char *host);
void lookup_forget_all(void);

/* Calls `visit` for every name; `visit` may unlist the name. */
void lookup_each(void (*visit)(void *data, lookup *name), void *data);

#endif
