#ifndef TRUNKLINE_LINE_RESOLVE_CACHE_H
#define TRUNKLINE_LINE_RESOLVE_CACHE_H

#include "resolve.h"

/*
 * The names that resolve.c knows or asks for: a table with the least recently used one at its end.
 * No locks of its own: whoever calls holds resolve.c's.
 */
#define LOOKUP_LIMIT 1000            /* names */
#define LOOKUP_FRESH (60 * SECOND)   /* how long an answer holds */
#define LOOKUP_FAILED_FRESH (SECOND) /* how long a failure holds */

typedef struct {
    endpoint *list; /* without ports; NULL: see `why` */
    size_t count;
    failure why;
} lookup_answer;

typedef enum { LOOKUP_ASKED, LOOKUP_ANSWERED, LOOKUP_FAILED } lookup_state;

typedef struct lookup lookup;
struct lookup {
    lookup_state state;
    unsigned references; /* the table's, the look-up's own, and one for each that waits */
    bool listed;
    nanoseconds expires;
    lookup_answer answer;
    resolution *waiting;
    lookup *queued;        /* next in the queue */
    lookup *chain;         /* next in the bucket */
    lookup *newer, *older; /* by last use */
    char host[];
};

/* The name, if it is being asked for or its answer still holds. Borrowed. */
lookup *lookup_find(const char *host, nanoseconds now);

/* A new name, listed, to be asked for; the least recently used one may leave. NULL: no memory. */
lookup *lookup_add(const char *host);

/* The answer has come; it is owned here now. */
void lookup_answered(lookup *name, const lookup_answer *answer, nanoseconds now);

lookup *lookup_keep(lookup *name);
void lookup_drop(lookup *name);

void lookup_forget(const char *host); /* takes it off the list */
void lookup_forget_all(void);
void lookup_each(void (*visit)(void *data, lookup *name), void *data);

#endif
