#ifndef TRUNKLINE_TRANSPORT_NAMES_RESOLVE_CACHE_H
#define TRUNKLINE_TRANSPORT_NAMES_RESOLVE_CACHE_H

#include "protocol/list.h"
#include "resolve.h"

/*
 * The names that resolve.c knows or asks for: a table of them all, and a list of those that were
 * answered with the least recently used one at its end. A name that is asked for is never thrown
 * out: how many of these there can be is bounded by resolve_queue.h.
 * No locks of its own: whoever calls holds resolve.c's.
 */
#define LOOKUP_LIMIT 1000            /* answered names */
#define LOOKUP_FRESH (60 * SECOND)   /* how long an answer holds */
#define LOOKUP_FAILED_FRESH (SECOND) /* how long a failure holds */

typedef struct {
    endpoint *list; /* without ports; NULL: see `why` */
    size_t count;
    failure why;
} lookup_answer;

typedef enum { LOOKUP_QUEUED, LOOKUP_RUNNING, LOOKUP_ANSWERED, LOOKUP_FAILED } lookup_state;

typedef struct lookup lookup;
struct lookup {
    lookup_state state;
    unsigned references; /* the table's, the look-up's own, and one for each that waits */
    bool listed;
    bool known; /* when it was asked for the last time it had an answer */
    nanoseconds answered_at, expires;
    lookup_answer answer;
    list waiting;          /* resolutions */
    struct domain *domain; /* resolve_queue.c's, while it is queued or running */
    list_node queue_node;  /* in the domain's queue */
    lookup *chain;         /* next in the bucket */
    list_node answer_node; /* among those that were answered */
    char host[];
};

/* The name, if it is being asked for or its answer still holds and is younger than `max_age`
 * (0: of any age). Borrowed. NULL: *known says whether there was an answer that is too old. */
lookup *lookup_find(const char *host, nanoseconds now, nanoseconds max_age, bool *known);

/* A new name, listed, to be asked for. NULL: no memory. */
lookup *lookup_add(const char *host, bool known);

/* The answer has come; it is owned here now. The least recently used one may leave. */
void lookup_answered(lookup *name, const lookup_answer *answer, nanoseconds now);

lookup *lookup_keep(lookup *name);
void lookup_drop(lookup *name);

void lookup_unlist(lookup *name); /* the next caller asks for it anew */

/* The same for what is answered: a name that is being asked for stays. */
void lookup_forget(const char *host);
void lookup_forget_all(void);

/* Visits every name; `visit` may unlist it. */
void lookup_each(void (*visit)(void *data, lookup *name), void *data);

#endif
