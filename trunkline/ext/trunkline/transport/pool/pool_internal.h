#ifndef TRUNKLINE_TRANSPORT_POOL_POOL_INTERNAL_H
#define TRUNKLINE_TRANSPORT_POOL_POOL_INTERNAL_H

#include "capacity.h"
#include "pool.h"

#include <pthread.h>

/* Between the files that make up the pool; nobody else includes this. All but what says otherwise
 * is called with the pool's lock held. */

/* All that has one key. It lives as long as anything refers to it: rights, connections, waiters. */
typedef struct bucket {
    struct bucket *chain;
    list idle;                   /* connections that are not shared; the one used last first */
    list shared;                 /* connections that are; oldest first */
    list queue;                  /* tickets that wait; first come, first served */
    uint32_t in_use;             /* connections that calls have, and rights to open one */
    nanoseconds unsettled_since; /* when the oldest dial that others wait for began */
    capacity_claim claim;        /* of the first in the queue; its waker is that of one who waits */
    uint32_t dials; /* of the rights in ->in_use, those that may lead to a shared one */
    uint32_t most;  /* calls on a shared one, as its server said last; 0: nothing yet */
    bool unshared;  /* the last one could not be shared: the server speaks HTTP/1.1 */
    bool in_vain;   /* the last one could not be opened */
    bool kept;      /* nothing refers to it; it is kept for what it knows of its server */
    list_node kept_node;
    uint32_t hash;
    uint32_t key_length;
    char key[];
} bucket;

struct pool {
    pthread_mutex_t lock;
    bucket **buckets; /* owned */
    uint32_t bucket_mask, bucket_count;
    list all;          /* connections */
    list idle;         /* those that no call has; the one that is idle longest first */
    list diallers;     /* tickets whose dials others wait for */
    uint32_t dialling; /* atomic; how many these are */
    list kept;         /* buckets; the least recently used first */
    uint32_t kept_count;
    uint32_t max_idle, references;
    uint32_t generation; /* atomic */
    bool closed;
    bool impatience_due; /* the reaper is to be told of a dial that calls wait for */
    pool_stats count;
    list_node registry_node;
};

#define POOL_TENDING SECOND /* how often shared connections are seen to */

/* ---- pool_lifecycle.c ---- */

/* Without locks. Visits every pool of the process: closes what was idle for too long, serves those
 * who have waited long enough for another's dial, reads shared connections that nobody reads.
 * Returns when the next visit is due. The reaper calls it. */
nanoseconds pool_reap_all(nanoseconds now);

/* ---- pool_queue.c ---- */

void pool_queue_append(pool *p, bucket *b, pool_ticket *t);
void pool_queue_remove(pool *p, pool_ticket *t);

/* Does anybody wait who is driven? Those who are not are passed over. */
bool pool_driven_one_waits(const bucket *b);

/* A connection, or (*out is NULL) the right to open one; to one who has been patient for as long as
 * it must by `now`, also while another's dial is under way. False: it has to wait. */
bool pool_grant(pool *p, bucket *b, pool_ticket *t, nanoseconds now, connection **out);

/* Gives what there is to those who wait. */
void pool_serve_waiters(pool *p, bucket *b);

/* A connection that calls had, or a right to open one, is given up; the second also serves the next
 * in the queue, and may free the bucket. */
void pool_end_use(bucket *b);
void pool_leave_place(pool *p, bucket *b);

/* A right to open a connection begins, or ends. */
void pool_let_dial(pool *p, bucket *b, pool_ticket *t);
void pool_dial_is_over(pool *p, bucket *b, pool_ticket *t);

/* Without the lock. Lets those dial who have waited long enough for another one's dial. Returns
 * when the next will have; NEVER: nobody waits for one. */
nanoseconds pool_serve_impatient(pool *p, nanoseconds now);

/* ---- pool_buckets.c ---- */

bucket *pool_bucket(pool *p, const route *r); /* found or made; NULL: no memory */

/* Frees it when nothing refers to it any more, unless it is kept for what it knows. */
void pool_bucket_tidy(pool *p, bucket *b);
void pool_buckets_free(pool *p); /* all that are kept */

void pool_all_add(pool *p, connection *c);
void pool_all_remove(pool *p, connection *c);
void pool_idle_push(pool *p, bucket *b, connection *c);
connection *pool_idle_take(pool *p, bucket *b); /* the one used last; NULL: none */

/* It becomes idle, or is no longer. */
void pool_idle_link(pool *p, connection *c);
void pool_idle_unlink(pool *p, connection *c);

/* An idle connection leaves the pool; the caller closes the `evicted`, without the lock. */
void pool_evict(pool *p, connection *c, list *evicted);
uint32_t pool_close_evicted(list *evicted);

#endif
