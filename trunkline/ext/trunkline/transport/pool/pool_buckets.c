#include "pool_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- buckets ---- */

static bucket **bucket_slot(pool *p, uint32_t hash, const char *key, uint32_t length) {
    bucket **slot = &p->buckets[hash & p->bucket_mask];
    while (*slot != NULL && ((*slot)->hash != hash || (*slot)->key_length != length ||
                             memcmp((*slot)->key, key, length) != 0))
        slot = &(*slot)->chain;
    return slot;
}

/* Doubles the hash table when there are as many buckets as slots; when out of memory the chains
 * grow longer. */
static void buckets_grow(pool *p) {
    uint32_t size = (p->bucket_mask + 1) * 2;
    bucket **wider = calloc(size, sizeof(*wider));
    if (wider == NULL) return;
    for (uint32_t i = 0; i <= p->bucket_mask; i++) {
        for (bucket *b = p->buckets[i], *following; b != NULL; b = following) {
            following = b->chain;
            b->chain = wider[b->hash & (size - 1)];
            wider[b->hash & (size - 1)] = b;
        }
    }
    free(p->buckets);
    p->buckets = wider;
    p->bucket_mask = size - 1;
}

static void bucket_free(pool *p, bucket *b) {
    *bucket_slot(p, b->hash, b->key, b->key_length) = b->chain;
    p->bucket_count--;
    free(b);
}

static void stop_keeping(pool *p, bucket *b) {
    list_remove(&p->kept, &b->kept_node);
    b->kept = false;
    p->kept_count--;
}

static void free_least_recent(pool *p) {
    bucket *b = LIST_FIRST(&p->kept, bucket, kept_node);
    stop_keeping(p, b);
    bucket_free(p, b);
}

static void keep(pool *p, bucket *b) {
    b->kept = true;
    list_append(&p->kept, &b->kept_node);
    if (++p->kept_count > POOL_KNOWN_SERVERS) free_least_recent(p);
}

const bucket *pool_bucket_known(pool *p, const route *r) {
    return *bucket_slot(p, r->key_hash, r->key, r->key_length);
}

bucket *pool_bucket(pool *p, const route *r) {
    bucket **slot = bucket_slot(p, r->key_hash, r->key, r->key_length);
    if (*slot != NULL) {
        if ((*slot)->kept) stop_keeping(p, *slot);
        return *slot;
    }
    bucket *b = calloc(1, sizeof(*b) + r->key_length);
    if (b == NULL) return NULL;
    b->hash = r->key_hash;
    b->key_length = r->key_length;
    memcpy(b->key, r->key, r->key_length);
    *slot = b;
    if (++p->bucket_count > p->bucket_mask) buckets_grow(p);
    return b;
}

void pool_bucket_tidy(pool *p, bucket *b) {
    if (b->in_use > 0 || b->idle.first != NULL || b->shared.first != NULL || b->queue.first != NULL)
        return;
    if (b->unshared || b->most > 0) {
        b->dial_failed = false;
        keep(p, b);
    } else {
        bucket_free(p, b);
    }
}

void pool_buckets_free(pool *p) {
    while (p->kept.first != NULL) free_least_recent(p);
}

/* ---- lists of connections ---- */

void pool_all_add(pool *p, connection *c) {
    list_append(&p->all, &c->pool_node);
    p->count.connections++;
    p->count.opened++;
}

void pool_all_remove(pool *p, connection *c) {
    list_remove(&p->all, &c->pool_node);
    p->count.connections--;
    p->count.closed++;
}

void pool_idle_link(pool *p, connection *c) {
    list_append(&p->idle, &c->idle_node);
    p->count.idle++;
}

void pool_idle_unlink(pool *p, connection *c) {
    list_remove(&p->idle, &c->idle_node);
    p->count.idle--;
}

void pool_idle_push(pool *p, bucket *b, connection *c) {
    list_prepend(&b->idle, &c->bucket_node);
    pool_idle_link(p, c);
}

connection *pool_idle_take(pool *p, bucket *b) {
    connection *c = LIST_ITEM(list_shift(&b->idle), connection, bucket_node);
    if (c == NULL) return NULL;
    pool_idle_unlink(p, c);
    c->uses++;
    p->count.reused++;
    return c;
}

void pool_evict(pool *p, connection *c, list *evicted) {
    bool shared = c->http2 != NULL;
    list_remove(shared ? &c->bucket->shared : &c->bucket->idle, &c->bucket_node);
    if (shared) c->bucket = NULL;
    pool_idle_unlink(p, c);
    pool_all_remove(p, c);
    list_append(evicted, &c->bucket_node);
}

uint32_t pool_close_evicted(list *evicted) {
    uint32_t count = 0;
    for (list_node *n; (n = list_shift(evicted)) != NULL; count++)
        pool_connection_close(LIST_ITEM(n, connection, bucket_node), true);
    return count;
}
