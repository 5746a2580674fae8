#include "pool_parts.h"
#include "reaper.h"

/* ---- waiting ---- */

static void queue_append(pool *p, bucket *b, waiter *w) {
    w->place = b;
    w->waiting = true;
    w->next = NULL;
    w->previous = b->last;
    if (b->last != NULL) {
        b->last->next = w;
    } else {
        b->first = w;
    }
    b->last = w;
    p->count.waiting++;
}

static void queue_remove(pool *p, waiter *w) {
    bucket *b = w->place;
    if (w->previous != NULL) {
        w->previous->next = w->next;
    } else {
        b->first = w->next;
    }
    if (w->next != NULL) {
        w->next->previous = w->previous;
    } else {
        b->last = w->previous;
    }
    w->waiting = false;
    p->count.waiting--;
}

/* Ownership passes under the lock, so that no wake-up is lost and nobody jumps the queue. */
static void serve_waiters(pool *p, bucket *b) {
    while (b->first != NULL && b->in_use < b->first->limit) {
        waiter *w = b->first;
        queue_remove(p, w);
        b->in_use++;
        w->granted = pool_idle_take(p, b);
        waker_wake(w->waker);
    }
}

/* A place became free: the next in the queue has it. */
static void leave(pool *p, bucket *b) {
    b->in_use--;
    serve_waiters(p, b);
    pool_bucket_tidy(p, b);
}

/* ---- what calls do ---- */

pool_result pool_acquire(pool *p, const route *r, const settings *s, waiter *w, connection **out) {
    pthread_mutex_lock(&p->lock);
    pool_result result = p->closed ? POOL_CLOSED : POOL_NO_MEMORY;
    bucket *b = p->closed ? NULL : pool_bucket(p, r);
    if (b != NULL) {
        w->limit = s->max_connections;
        w->generation = p->generation;
        w->granted = NULL;
        if (b->first != NULL || b->in_use >= w->limit) {
            queue_append(p, b, w);
            result = POOL_WAIT;
        } else {
            b->in_use++;
            *out = pool_idle_take(p, b);
            w->place = *out == NULL ? b : NULL;
            result = *out == NULL ? POOL_DIAL : POOL_CONNECTION;
        }
    }
    pthread_mutex_unlock(&p->lock);
    return result;
}

pool_result pool_turn(pool *p, waiter *w, connection **out) {
    pool_result result = POOL_WAIT;
    pthread_mutex_lock(&p->lock);
    if (p->closed || w->generation != p->generation || w->place == NULL) {
        result = POOL_CLOSED;
    } else if (!w->waiting && w->granted != NULL) {
        *out = w->granted;
        w->granted = NULL;
        w->place = NULL;
        result = POOL_CONNECTION;
    } else if (!w->waiting) {
        result = POOL_DIAL;
    }
    pthread_mutex_unlock(&p->lock);
    return result;
}

pool_result pool_replace(pool *p, waiter *w, connection *c, bool fresh, connection **out) {
    *out = NULL;
    pool_result result = POOL_CLOSED;
    pthread_mutex_lock(&p->lock);
    bucket *b = c->bucket;
    if (b != NULL) {
        pool_all_remove(p, c);
        *out = fresh ? NULL : pool_idle_take(p, b);
        w->place = *out == NULL ? b : NULL;
        w->generation = p->generation;
        result = *out == NULL ? POOL_DIAL : POOL_CONNECTION;
    }
    pthread_mutex_unlock(&p->lock);
    connection_free(c, false);
    return result;
}

void pool_forgo(pool *p, waiter *w) {
    pthread_mutex_lock(&p->lock);
    if (w->place != NULL && w->generation == p->generation) {
        bucket *b = w->place;
        if (w->waiting) {
            queue_remove(p, w);
            serve_waiters(p, b);
            pool_bucket_tidy(p, b);
        } else {
            if (w->granted != NULL) {
                pool_idle_push(p, b, w->granted);
            }
            leave(p, b);
        }
    }
    w->place = NULL;
    w->granted = NULL;
    pthread_mutex_unlock(&p->lock);
}

void pool_adopt(pool *p, waiter *w, connection *c) {
    pthread_mutex_lock(&p->lock);
    if (w->generation == p->generation) {
        c->bucket = w->place;
        c->uses = 1;
        pool_all_add(p, c);
    }
    w->place = NULL;
    pthread_mutex_unlock(&p->lock);
}

void pool_checkin(pool *p, connection *c, nanoseconds now, nanoseconds idle_until) {
    connection *condemned = NULL;
    c->idle_since = now;
    c->idle_until = idle_until;
    pthread_mutex_lock(&p->lock);
    bucket *b = c->bucket;
    bool kept = b != NULL && !p->closed && idle_until > now;
    if (kept) {
        pool_idle_push(p, b, c);
        leave(p, b);
        while (p->count.idle > p->max_idle) {
            connection *oldest = p->oldest_idle;
            bucket *place = oldest->bucket;
            pool_condemn(p, oldest, &condemned);
            pool_bucket_tidy(p, place);
        }
    }
    pthread_mutex_unlock(&p->lock);
    if (!kept) {
        pool_discard(p, c, true);
        return;
    }
    pool_close_condemned(condemned);
    reaper_expect(idle_until);
}

void pool_discard(pool *p, connection *c, bool notify) {
    pthread_mutex_lock(&p->lock);
    if (c->bucket != NULL) {
        pool_all_remove(p, c);
        leave(p, c->bucket);
    }
    pthread_mutex_unlock(&p->lock);
    connection_free(c, notify);
}
