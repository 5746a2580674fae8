#ifndef TRUNKLINE_TRANSPORT_POOL_POOL_INTERNAL_H
#define TRUNKLINE_TRANSPORT_POOL_POOL_INTERNAL_H

#include "capacity.h"
#include "pool.h"

#include <pthread.h>

/* For the pool's own files. All functions but those that say otherwise are called with the pool's
 * lock held. */

/* All that has one key. It lives as long as a connection, a right or a ticket refers to it. */
typedef struct bucket {
    struct bucket *chain;
    list idle;                   /* connections that are not shared; the one used last first */
    list shared;                 /* connections that are; oldest first */
    list queue;                  /* tickets that wait; first come, first served */
    uint32_t in_use;             /* connections that calls have, and rights to open one */
    nanoseconds unsettled_since; /* when the oldest dial that others wait for began */
    capacity_claim claim;        /* for the queue; its waker is that of a queued ticket */
    uint32_t dials;              /* rights whose connection may turn out to be shared */
    uint32_t most;               /* streams that the server allowed last; 0: it has not said */
    bool unshared;               /* the server spoke HTTP/1.1 on the last connection */
    bool in_vain;                /* the last connection could not be opened */
    bool kept;                   /* nothing refers to it; ->most and ->unshared are worth keeping */
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

#define POOL_TENDING SECOND /* how often the reaper calls http2_connection_tend */

/* ---- pool_lifecycle.c ---- */

/* Called by the reaper, without locks. In every pool: closes connections that were idle for too
 * long, serves tickets that have waited long enough for another call's dial, and reads shared
 * connections that no call reads. Returns when the next visit is due. */
nanoseconds pool_reap_all(nanoseconds now);

/* ---- pool_queue.c ---- */

void pool_queue_append(pool *p, bucket *b, pool_ticket *t);
void pool_queue_remove(pool *p, pool_ticket *t);

/* Does a ticket wait whose driver is not away? */
bool pool_driven_one_waits(const bucket *b);

/* Gives `t` a connection, or (*out is NULL) the right to open one; while another call's dial is
 * under way only to a ticket that has waited for it long enough by `now`. Returns false when it has
 * to wait. */
bool pool_grant(pool *p, bucket *b, pool_ticket *t, nanoseconds now, connection **out);

/* Gives free connections and rights to the tickets in the queue. */
void pool_serve_waiters(pool *p, bucket *b);

/* A call gives up a connection, or the right to open one. pool_release_slot also serves the next
 * ticket, and may free the bucket. */
void pool_end_use(bucket *b);
void pool_release_slot(pool *p, bucket *b);

/* A right to open a connection begins, or ends. */
void pool_let_dial(pool *p, bucket *b, pool_ticket *t);
void pool_dial_is_over(pool *p, bucket *b, pool_ticket *t);

/* Without the lock. Lets tickets dial that have waited long enough for another call's dial. Returns
 * when the next one will have; NEVER: none waits for a dial. */
nanoseconds pool_serve_impatient(pool *p, nanoseconds now);

/* ---- pool_buckets.c ---- */

bucket *pool_bucket(pool *p, const route *r); /* found or made; NULL without memory */

const bucket *pool_bucket_known(pool *p, const route *r); /* NULL: none */

/* To be called when something stops referring to the bucket: frees or keeps it when nothing does.
 */
void pool_bucket_tidy(pool *p, bucket *b);
void pool_buckets_free(pool *p); /* all that are kept */

void pool_all_add(pool *p, connection *c);
void pool_all_remove(pool *p, connection *c);
void pool_idle_push(pool *p, bucket *b, connection *c);
connection *pool_idle_take(pool *p, bucket *b); /* the one used last; NULL: none */

/* Adds to, or removes from, the pool's idle connections. */
void pool_idle_link(pool *p, connection *c);
void pool_idle_unlink(pool *p, connection *c);

/* Takes an idle connection out of the pool, into `evicted`; the caller closes these with
 * pool_close_evicted, without the lock, which returns their number. */
void pool_evict(pool *p, connection *c, list *evicted);
uint32_t pool_close_evicted(list *evicted);

#endif
