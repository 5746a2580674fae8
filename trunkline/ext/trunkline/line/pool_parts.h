#ifndef TRUNKLINE_LINE_POOL_PARTS_H
#define TRUNKLINE_LINE_POOL_PARTS_H

#include "pool.h"

#include <pthread.h>

/* Between the files that make up the pool; nobody else includes this. All but what says otherwise
 * is called with the pool's lock held. */

/* All that has one key. It lives as long as anything refers to it: rights, connections, waiters. */
typedef struct bucket {
    struct bucket *chain;
    connection *idle_top; /* not shared; last in, first out */
    connection *shared;   /* those that take calls, oldest first */
    waiter *first, *last; /* first come, first served */
    uint32_t in_use;      /* connections that calls have, and rights to open one */
    uint32_t dials;       /* of these rights, those that may lead to a shared one */
    uint32_t most;        /* calls on a shared one, as its server said last; 0: nothing yet */
    bool alone;           /* the last one could not be shared, or not even opened */
    uint32_t hash;
    uint32_t key_length;
    char key[];
} bucket;

struct pool {
    pthread_mutex_t lock;
    bucket **buckets; /* owned */
    uint32_t bucket_mask, bucket_count;
    connection *oldest_idle, *newest_idle;
    connection *all;
    uint32_t max_idle, references, generation;
    bool closed;
    pool_stats count;
    pool *previous, *next; /* the registry's */
};

#define POOL_TENDING SECOND /* how often shared connections are seen to */

/* ---- pool_lists.c ---- */

bucket *pool_bucket(pool *p, const route *r); /* found or made; NULL: no memory */
void pool_bucket_tidy(pool *p, bucket *b);    /* frees it when nothing refers to it any more */

void pool_all_add(pool *p, connection *c);
void pool_all_remove(pool *p, connection *c);
void pool_idle_push(pool *p, bucket *b, connection *c);
connection *pool_idle_take(pool *p, bucket *b); /* the one used last; NULL: none */

void pool_shared_add(bucket *b, connection *c);
void pool_shared_remove(connection *c);

/* A shared connection becomes idle, or is no longer. */
void pool_shared_rest(pool *p, connection *c);
void pool_shared_wake(pool *p, connection *c);

/* An idle connection leaves the pool; the caller closes the `condemned`, without the lock. */
void pool_condemn(pool *p, connection *c, connection **condemned);
uint32_t pool_close_condemned(connection *condemned);

#endif
