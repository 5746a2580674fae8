#ifndef TRUNKLINE_TRANSPORT_NAMES_RESOLVE_CACHE_H
#define TRUNKLINE_TRANSPORT_NAMES_RESOLVE_CACHE_H

#include "protocol/list.h"
#include "resolve.h"

/*
 * The names that were answered, or are queued or looked up. At most LOOKUP_LIMIT answered names are
 * kept; the least recently used one is evicted. resolve_queue.h bounds the others. The caller holds
 * the lock of resolve.c.
 */
#define LOOKUP_LIMIT 1000            /* answered names */
#define LOOKUP_FRESH (60 * SECOND)   /* how long an answer is used */
#define LOOKUP_FAILED_FRESH (SECOND) /* how long a failure is */

typedef struct {
    endpoint *list; /* owned; without ports; NULL: see `why` */
    size_t count;
    failure why;
} lookup_answer;

typedef enum { LOOKUP_QUEUED, LOOKUP_RUNNING, LOOKUP_ANSWERED, LOOKUP_FAILED } lookup_state;

typedef struct lookup lookup;
struct lookup {
    lookup_state state;
    unsigned references; /* the table's, the look-up's, and one for each waiting resolution */
    bool listed;         /* in the table */
    bool known;          /* an earlier look-up of the name succeeded */
    nanoseconds answered_at, expires;
    lookup_answer answer;
    list waiting;          /* resolutions */
    struct domain *domain; /* resolve_queue.c's, while it is queued or running */
    list_node queue_node;  /* in the domain's queue */
    lookup *chain;         /* next in the bucket */
    list_node answer_node; /* among those that were answered */
    char host[];
};

/* Returns the name, borrowed, if it is queued, looked up, or has an answer younger than `max_age`
 * (0: any age) that has not expired. NULL: *known says whether it had an older answer. */
lookup *lookup_find(const char *host, nanoseconds now, nanoseconds max_age, bool *known);

/* Adds a new name to the table, in the state LOOKUP_QUEUED; borrowed. NULL without memory. */
lookup *lookup_add(const char *host, bool known);

/* Sets the answer, whose list the name owns from now on. May evict the least recently used name. */
void lookup_answered(lookup *name, const lookup_answer *answer, nanoseconds now);

lookup *lookup_keep(lookup *name); /* adds a reference; returns `name` */
void lookup_drop(lookup *name);    /* the last one frees it */

void lookup_unlist(lookup *name); /* takes it out of the table */

/* Take out one name, or all, if answered. */
void lookup_forget(const char *host);
void lookup_forget_all(void);

/* Calls `visit` for every name; it may unlist the name. */
void lookup_each(void (*visit)(void *data, lookup *name), void *data);

#endif
