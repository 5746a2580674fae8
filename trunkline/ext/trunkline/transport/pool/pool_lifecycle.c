#include "transport/http2/http2_connection.h"
#include "pool_internal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static list registry; /* all pools */

/* ---- closing idle connections ---- */

static uint32_t close_idle_if(pool *p, uint64_t owner_id, nanoseconds due_by,
                              nanoseconds *next_due) {
    list evicted = {0};
    pthread_mutex_lock(&p->lock);
    LIST_EACH (connection, c, &p->idle, idle_node) {
        if (c->idle_until > due_by || (owner_id != 0 && c->owner_id != owner_id)) {
            *next_due = clock_earlier(*next_due, c->idle_until);
            continue;
        }
        bucket *b = c->bucket;
        pool_evict(p, c, &evicted);
        pool_bucket_tidy(p, b);
    }
    pthread_mutex_unlock(&p->lock);
    return pool_close_evicted(&evicted);
}

uint32_t pool_close_idle(pool *p, uint64_t owner_id) {
    nanoseconds unused = NEVER;
    pthread_mutex_lock(&p->lock);
    LIST_EACH (connection, c, &p->all, pool_node)
        c->unwanted |= owner_id == 0 || c->owner_id == owner_id;
    pthread_mutex_unlock(&p->lock);
    return close_idle_if(p, owner_id, NEVER, &unused);
}

#define ROOM_AT_ONCE 8 /* connections closed in each pool; callers that need more call again */

bool pool_make_room(void) {
    list evicted = {0};
    pthread_mutex_lock(&registry_lock);
    LIST_EACH (pool, p, &registry, registry_node) {
        pthread_mutex_lock(&p->lock);
        for (int i = 0; i < ROOM_AT_ONCE && p->idle.first != NULL; i++) {
            connection *oldest = LIST_FIRST(&p->idle, connection, idle_node);
            bucket *b = oldest->bucket;
            pool_evict(p, oldest, &evicted);
            pool_bucket_tidy(p, b);
        }
        pthread_mutex_unlock(&p->lock);
    }
    pthread_mutex_unlock(&registry_lock);
    return pool_close_evicted(&evicted) > 0 || waker_close_unused();
}

void pool_close(pool *p) {
    pthread_mutex_lock(&p->lock);
    p->closed = true;
    for (uint32_t i = 0; i <= p->bucket_mask; i++) {
        for (bucket *b = p->buckets[i]; b != NULL; b = b->chain) {
            LIST_EACH (pool_ticket, t, &b->queue, queue_node) {
                __atomic_store_n(&t->turn_due, true, __ATOMIC_RELEASE);
                waker_wake(t->waker);
            }
        }
    }
    pthread_mutex_unlock(&p->lock);
    pool_close_idle(p, 0);
}

void pool_count(pool *p, pool_stats *out) {
    pthread_mutex_lock(&p->lock);
    *out = p->count;
    out->in_use = out->connections - out->idle;
    pthread_mutex_unlock(&p->lock);
}

/* Returns all shared connections, with a reference to the http2_connection of each; NULL: there are
 * none, or no memory. */
static connection **shared_connections(pool *p, size_t *count) {
    *count = 0;
    pthread_mutex_lock(&p->lock);
    LIST_EACH (connection, c, &p->all, pool_node) *count += c->http2 != NULL;
    connection **found = *count > 0 ? malloc(*count * sizeof(*found)) : NULL;
    size_t filled = 0;
    for (list_node *n = p->all.first; n != NULL && found != NULL; n = n->next) {
        connection *c = LIST_ITEM(n, connection, pool_node);
        if (c->http2 != NULL) {
            http2_connection_keep(c->http2);
            found[filled++] = c;
        }
    }
    pthread_mutex_unlock(&p->lock);
    return found;
}

/* Reads and checks shared connections, because no thread reads them while no call waits on them.
 * Returns whether there are any. */
static bool maintain_shared(pool *p, nanoseconds now) {
    size_t count;
    connection **shared = shared_connections(p, &count);
    for (size_t i = 0; shared != NULL && i < count; i++) {
        http2_connection *h = shared[i]->http2;
        if (http2_connection_maintain(h, now)) pool_reconsider(p, shared[i]);
        http2_connection_release(h);
    }
    free(shared);
    return count > 0;
}

nanoseconds pool_reap_all(nanoseconds now) {
    nanoseconds next_due = NEVER;
    pthread_mutex_lock(&registry_lock);
    LIST_EACH (pool, p, &registry, registry_node) {
        close_idle_if(p, 0, now, &next_due);
        next_due = clock_earlier(next_due, pool_end_sharing_waits(p, now));
        if (maintain_shared(p, now))
            next_due = clock_earlier(next_due, now + POOL_MAINTENANCE_INTERVAL);
    }
    pthread_mutex_unlock(&registry_lock);
    return next_due;
}

/* ---- creation, release, fork ---- */

pool *pool_new(uint32_t max_idle) {
    pool *p = calloc(1, sizeof(*p));
    if (p == NULL) return NULL;
    p->bucket_mask = 15;
    p->buckets = calloc(p->bucket_mask + 1, sizeof(*p->buckets));
    if (p->buckets == NULL) {
        free(p);
        return NULL;
    }
    pthread_mutex_init(&p->lock, NULL);
    p->max_idle = max_idle;
    p->references = 1;
    pthread_mutex_lock(&registry_lock);
    list_append(&registry, &p->registry_node);
    pthread_mutex_unlock(&registry_lock);
    return p;
}

pool *pool_keep(pool *p) {
    __atomic_add_fetch(&p->references, 1, __ATOMIC_RELAXED);
    return p;
}

void pool_release(pool *p) {
    if (__atomic_sub_fetch(&p->references, 1, __ATOMIC_ACQ_REL) > 0) return;
    pthread_mutex_lock(&registry_lock);
    list_remove(&registry, &p->registry_node);
    pthread_mutex_unlock(&registry_lock);
    pool_close_idle(p, 0);
    pool_buckets_free(p);
    pthread_mutex_destroy(&p->lock);
    free(p->buckets);
    free(p);
}

void pool_before_fork(void) {
    pthread_mutex_lock(&registry_lock);
    LIST_EACH (pool, p, &registry, registry_node) {
        pthread_mutex_lock(&p->lock);
        LIST_EACH (connection, c, &p->all, pool_node)
            if (c->http2 != NULL) http2_connection_before_fork(c->http2);
    }
}

/* Called in the child. Descriptors are closed already; TLS sessions are never used or freed,
 * because the bytes that they send would break the parent's connections. */
static void start_empty(pool *p) {
    LIST_EACH (connection, c, &p->all, pool_node) {
        c->descriptor = -1;
        c->session = NULL;
        c->bucket = NULL;
        c->inherited = true;
    }
    LIST_EACH (connection, c, &p->idle, idle_node)
        if (c->http2 == NULL) free(c);
    for (uint32_t i = 0; i <= p->bucket_mask; i++) {
        for (bucket *b = p->buckets[i], *following; b != NULL; b = following) {
            following = b->chain;
            free(b);
        }
        p->buckets[i] = NULL;
    }
    p->bucket_count = 0;
    p->all = p->idle = p->diallers = p->kept = (list){0};
    p->dialling = 0;
    p->kept_count = 0;
    p->generation++;
    memset(&p->count, 0, sizeof(p->count));
    pthread_mutex_init(&p->lock, NULL);
}

void pool_after_fork(bool child) {
    LIST_EACH (pool, p, &registry, registry_node) {
        LIST_EACH (connection, c, &p->all, pool_node)
            if (c->http2 != NULL) http2_connection_after_fork(c->http2, child);
        if (child)
            start_empty(p);
        else
            pthread_mutex_unlock(&p->lock);
    }
    if (child)
        pthread_mutex_init(&registry_lock, NULL);
    else
        pthread_mutex_unlock(&registry_lock);
}
