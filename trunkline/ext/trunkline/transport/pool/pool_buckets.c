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

/* More room when there are as many buckets as slots; without memory the chains just grow longer. */
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

static void kept_unlink(pool *p, bucket *b) {
    *(b->kept_before != NULL ? &b->kept_before->kept_after : &p->kept_first) = b->kept_after;
    *(b->kept_after != NULL ? &b->kept_after->kept_before : &p->kept_last) = b->kept_before;
    b->kept = false;
    p->kept_count--;
}

static void bucket_free(pool *p, bucket *b) {
    *bucket_slot(p, b->hash, b->key, b->key_length) = b->chain;
    p->bucket_count--;
    free(b);
}

static void free_kept(pool *p, bucket *b) {
    kept_unlink(p, b);
    bucket_free(p, b);
}

static void keep(pool *p, bucket *b) {
    b->kept = true;
    b->kept_after = NULL;
    b->kept_before = p->kept_last;
    *(p->kept_last != NULL ? &p->kept_last->kept_after : &p->kept_first) = b;
    p->kept_last = b;
    if (++p->kept_count > POOL_KNOWN_SERVERS) free_kept(p, p->kept_first);
}

bucket *pool_bucket(pool *p, const route *r) {
    bucket **slot = bucket_slot(p, r->key_hash, r->key, r->key_length);
    if (*slot != NULL) {
        if ((*slot)->kept) kept_unlink(p, *slot);
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
    if (b->in_use > 0 || b->idle_top != NULL || b->shared != NULL || b->first != NULL) return;
    if (b->unshared || b->most > 0) {
        b->in_vain = false;
        keep(p, b);
    } else {
        bucket_free(p, b);
    }
}

void pool_buckets_free(pool *p) {
    while (p->kept_first != NULL) free_kept(p, p->kept_first);
}

/* ---- lists of connections ---- */

void pool_all_add(pool *p, connection *c) {
    c->all_previous = NULL;
    c->all_next = p->all;
    if (p->all != NULL) p->all->all_previous = c;
    p->all = c;
    p->count.connections++;
    p->count.opened++;
}

void pool_all_remove(pool *p, connection *c) {
    if (c->all_previous != NULL)
        c->all_previous->all_next = c->all_next;
    else
        p->all = c->all_next;
    if (c->all_next != NULL) c->all_next->all_previous = c->all_previous;
    p->count.connections--;
    p->count.closed++;
}

void pool_idle_link(pool *p, connection *c) {
    c->idle_next = NULL;
    c->idle_previous = p->newest_idle;
    if (p->newest_idle != NULL)
        p->newest_idle->idle_next = c;
    else
        p->oldest_idle = c;
    p->newest_idle = c;
    p->count.idle++;
}

void pool_idle_unlink(pool *p, connection *c) {
    if (c->idle_previous != NULL)
        c->idle_previous->idle_next = c->idle_next;
    else
        p->oldest_idle = c->idle_next;
    if (c->idle_next != NULL)
        c->idle_next->idle_previous = c->idle_previous;
    else
        p->newest_idle = c->idle_previous;
    p->count.idle--;
}

void pool_idle_push(pool *p, bucket *b, connection *c) {
    c->below = b->idle_top;
    b->idle_top = c;
    pool_idle_link(p, c);
}

static void idle_remove(pool *p, connection *c) {
    connection **link = &c->bucket->idle_top;
    while (*link != c) link = &(*link)->below;
    *link = c->below;
    pool_idle_unlink(p, c);
}

void pool_shared_add(bucket *b, connection *c) {
    connection **link = &b->shared;
    while (*link != NULL) link = &(*link)->shared_next;
    c->shared_next = NULL;
    *link = c;
}

void pool_shared_remove(connection *c) {
    connection **link = &c->bucket->shared;
    while (*link != c) link = &(*link)->shared_next;
    *link = c->shared_next;
}

void pool_evict(pool *p, connection *c, connection **evicted) {
    if (c->http2 != NULL) {
        pool_shared_remove(c);
        c->bucket = NULL;
        pool_idle_unlink(p, c);
    } else {
        idle_remove(p, c);
    }
    pool_all_remove(p, c);
    c->below = *evicted;
    *evicted = c;
}

uint32_t pool_close_evicted(connection *evicted) {
    uint32_t count = 0;
    for (connection *following; evicted != NULL; evicted = following, count++) {
        following = evicted->below;
        pool_connection_close(evicted, true);
    }
    return count;
}

connection *pool_idle_take(pool *p, bucket *b) {
    connection *c = b->idle_top;
    if (c != NULL) {
        idle_remove(p, c);
        c->uses++;
        p->count.reused++;
    }
    return c;
}
