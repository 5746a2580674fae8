#ifndef TRUNKLINE_TRANSPORT_POOL_POOL_INTERNAL_H
#define TRUNKLINE_TRANSPORT_POOL_POOL_INTERNAL_H

#include "capacity.h"
#include "pool.h"

#include <pthread.h>

/* Functions that the pool's files share. The caller holds the pool's lock, unless the comment says
 * otherwise. */

/* The connections, rights and tickets of one key. A bucket lives as long as one of them refers to
 * it, or longer while it is ->kept. */
typedef struct bucket {
    struct bucket *chain;
    list idle;                  /* connections that are not shared; the most recently used first */
    list shared;                /* shared connections; the oldest first */
    list queue;                 /* waiting tickets; first come, first served */
    uint32_t in_use;            /* connections in use, and rights to open one */
    nanoseconds dialling_since; /* when ->dials became more than 0 */
    capacity_claim claim;       /* for the queue; its waker is that of a queued ticket */
    uint32_t dials;             /* rights to open a connection that may be shared */
    uint32_t most;              /* the server's last limit of streams; 0: not known */
    bool unshared;              /* the server used HTTP/1.1 on the last connection */
    bool dial_failed;           /* the last connection could not be opened */
    bool kept;                  /* nothing refers to it; kept for ->most and ->unshared */
    list_node kept_node;
    uint32_t hash;
    uint32_t key_length;
    char key[];
} bucket;

struct pool {
    pthread_mutex_t lock;
    bucket **buckets; /* owned */
    uint32_t bucket_mask, bucket_count;
    list all;          /* all connections */
    list idle;         /* connections that are not in use; the longest idle first */
    list diallers;     /* tickets whose dials other tickets wait for */
    uint32_t dialling; /* atomic; the number of ->diallers */
    list kept;         /* kept buckets; the least recently used first */
    uint32_t kept_count;
    uint32_t max_idle, references;
    uint32_t generation; /* atomic */
    bool closed;
    bool sharing_wait_check_due; /* call reaper_expect, because tickets wait for a dial */
    pool_stats count;
    list_node registry_node;
};

/* How often the reaper calls http2_connection_maintain. */
#define POOL_MAINTENANCE_INTERVAL SECOND

/* ---- pool_lifecycle.c ---- */

/* Called by the reaper, without locks. In every pool: closes connections that were idle for too
 * long, serves tickets that have waited POOL_SHARING_WAIT for another call's dial, and reads shared
 * connections that no call reads. Returns when the next visit is due. */
nanoseconds pool_reap_all(nanoseconds now);

/* ---- pool_queue.c ---- */

/* Add the ticket to the bucket's queue, where its wait begins, or remove it. */
void pool_queue_append(pool *p, bucket *b, pool_ticket *t);
void pool_queue_remove(pool *p, pool_ticket *t);

/* Returns whether a ticket waits whose driver is not away. */
bool pool_has_active_waiter(const bucket *b);

/* Gives `t` a connection, or (*out is NULL) the right to open one. While a connection that may be
 * shared is being opened, `t` gets an unshared one or that right only after it has waited
 * POOL_SHARING_WAIT by `now`. Returns false when `t` has to wait. */
bool pool_grant(pool *p, bucket *b, pool_ticket *t, nanoseconds now, connection **out);

/* Gives free connections and rights to the tickets in the queue. */
void pool_serve_waiters(pool *p, bucket *b);

/* To be called when a call gives up a connection, or the right to open one. pool_release_slot also
 * serves the next ticket, and may free the bucket. */
void pool_end_use(bucket *b);
void pool_release_slot(pool *p, bucket *b);

/* Begin and end a right to open a connection. */
void pool_begin_dial(pool *p, bucket *b, pool_ticket *t);
void pool_end_dial(pool *p, bucket *b, pool_ticket *t);

/* The caller does not hold the lock. Lets tickets dial that have waited POOL_SHARING_WAIT for
 * another call's dial. Returns when the next ticket will have waited that long; NEVER: none waits
 * for a dial. */
nanoseconds pool_end_sharing_waits(pool *p, nanoseconds now);

/* ---- pool_buckets.c ---- */

bucket *pool_bucket(pool *p, const route *r); /* finds or makes it; NULL when out of memory */

const bucket *pool_bucket_known(pool *p, const route *r); /* NULL: none */

/* To be called when a connection, right or ticket no longer refers to the bucket: frees or keeps it
 * when none is left. */
void pool_bucket_tidy(pool *p, bucket *b);
void pool_buckets_free(pool *p); /* frees the kept buckets */

/* Add to, or remove from, the pool's list of all connections, and count them. */
void pool_all_add(pool *p, connection *c);
void pool_all_remove(pool *p, connection *c);

/* Adds an idle connection to the bucket's and the pool's, as the most recently used. */
void pool_idle_push(pool *p, bucket *b, connection *c);
connection *pool_idle_take(pool *p, bucket *b); /* the most recently used; NULL: none */

/* Adds to, or removes from, the pool's idle connections. */
void pool_idle_link(pool *p, connection *c);
void pool_idle_unlink(pool *p, connection *c);

/* Moves an idle connection from the pool to `evicted`. The caller unlocks and then closes the
 * evicted connections with pool_close_evicted, which returns their number. */
void pool_evict(pool *p, connection *c, list *evicted);
uint32_t pool_close_evicted(list *evicted);

#endif
