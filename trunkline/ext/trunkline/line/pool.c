#include "mux.h"
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

/* ---- who gets what ---- */

/* What a server has not said yet is taken to be as with the connection before; if there was none,
 * the others wait for its word: what is one too many it refuses. */
static uint32_t places_on(const bucket *b, const connection *c) {
    if (mux_heard(c->mux)) {
        return mux_most(c->mux);
    }
    return b->most > 0 ? b->most : 1;
}

static connection *take_shared(pool *p, bucket *b, const waiter *w) {
    for (connection *c = b->shared; c != NULL; c = c->shared_next) {
        bool may = c->streams > 0 || b->in_use < w->limit;
        if (!may || c->born < w->opened_after || mux_closing(c->mux) ||
            c->streams >= places_on(b, c)) {
            continue;
        }
        if (c->streams++ == 0) {
            pool_shared_wake(p, c);
        }
        c->uses++;
        p->count.reused++;
        return c;
    }
    return NULL;
}

/* Whether there will be room on a shared connection is about to be known: one is being opened, or
 * its server has not said yet how many calls it takes. */
static bool unsettled(const bucket *b, const waiter *w) {
    if (!w->may_share || b->alone) {
        return false;
    }
    bool silent = false;
    for (const connection *c = b->shared; c != NULL; c = c->shared_next) {
        silent |= !mux_heard(c->mux) && !mux_closing(c->mux);
    }
    return silent || b->dials > 0;
}

static void let_dial(bucket *b, waiter *w) {
    w->dialling = w->may_share && !b->alone;
    b->dials += w->dialling;
}

/* When it was in vain nobody waits for the next one: of a server that hangs each hears for itself.
 */
static void dial_is_over(bucket *b, waiter *w) {
    b->alone |= w->dialling && w->in_vain;
    b->dials -= w->dialling;
    w->dialling = w->in_vain = false;
}

/* A connection, or (*out is NULL) the right to open one. False: it has to wait. */
static bool grant(pool *p, bucket *b, waiter *w, connection **out) {
    *out = take_shared(p, b, w);
    if (*out != NULL) {
        return true;
    }
    if (b->in_use >= w->limit || unsettled(b, w)) {
        return false;
    }
    b->in_use++;
    *out = w->opened_after == 0 ? pool_idle_take(p, b) : NULL;
    if (*out == NULL) {
        let_dial(b, w);
    }
    return true;
}

/* Ownership passes under the lock, so that no wake-up is lost and nobody jumps the queue, except
 * past those for whom only a new connection will do. */
static void serve_waiters(pool *p, bucket *b) {
    for (waiter *w = b->first, *following; w != NULL; w = following) {
        connection *c;
        following = w->next;
        if (grant(p, b, w, &c)) {
            queue_remove(p, w);
            w->granted = c;
            waker_wake(w->waker);
        } else if (w->opened_after == 0) {
            break;
        }
    }
}

/* A place became free: the next in the queue has it. */
static void leave(pool *p, bucket *b) {
    b->in_use--;
    serve_waiters(p, b);
    pool_bucket_tidy(p, b);
}

/* A shared connection takes no calls any more. True: nobody is left on it, and it is the caller's
 * to free, without the lock. */
static bool retire(pool *p, connection *c) {
    if (c->streams == 0) {
        pool_shared_wake(p, c);
    }
    bucket *b = c->bucket;
    pool_shared_remove(c);
    c->bucket = NULL;
    leave(p, b);
    if (c->streams > 0) {
        return false;
    }
    pool_all_remove(p, c);
    return true;
}

/* ---- what calls do ---- */

pool_result pool_acquire(pool *p, const route *r, const settings *s, waiter *w, connection **out) {
    pthread_mutex_lock(&p->lock);
    pool_result result = p->closed ? POOL_CLOSED : POOL_NO_MEMORY;
    bucket *b = p->closed ? NULL : pool_bucket(p, r);
    if (b != NULL) {
        w->limit = s->max_connections;
        w->idle_timeout = s->idle_timeout;
        w->generation = p->generation;
        w->granted = NULL;
        w->may_share = r->sharing != SHARING_NEVER;
        w->dialling = false;
        if (b->first != NULL || !grant(p, b, w, out)) {
            queue_append(p, b, w);
            result = POOL_WAIT;
        } else {
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
        if (*out == NULL) {
            let_dial(b, w);
        }
        w->generation = p->generation;
        result = *out == NULL ? POOL_DIAL : POOL_CONNECTION;
    }
    pthread_mutex_unlock(&p->lock);
    connection_free(c, false);
    return result;
}

static void forgo_place(pool *p, bucket *b, waiter *w) {
    if (w->waiting) {
        queue_remove(p, w);
        serve_waiters(p, b);
        pool_bucket_tidy(p, b);
        return;
    }
    dial_is_over(b, w);
    if (w->granted != NULL) {
        pool_idle_push(p, b, w->granted);
    }
    leave(p, b);
}

void pool_forgo(pool *p, waiter *w) {
    connection *shared = NULL;
    pthread_mutex_lock(&p->lock);
    if (w->place != NULL && w->generation == p->generation) {
        if (w->granted != NULL && w->granted->mux != NULL) {
            shared = w->granted;
        } else {
            forgo_place(p, w->place, w);
        }
    }
    w->place = NULL;
    w->granted = NULL;
    pthread_mutex_unlock(&p->lock);
    if (shared != NULL) {
        nanoseconds now = clock_now();
        pool_leave(p, shared, now, clock_after(now, w->idle_timeout));
    }
}

void pool_adopt(pool *p, waiter *w, connection *c) {
    pthread_mutex_lock(&p->lock);
    if (w->generation == p->generation) {
        bucket *b = w->place;
        c->bucket = b;
        c->uses = 1;
        pool_all_add(p, c);
        b->alone = c->mux == NULL;
        if (c->mux != NULL) {
            c->streams = 1;
            pool_shared_add(b, c);
        }
        if (w->dialling) {
            dial_is_over(b, w);
            serve_waiters(p, b);
        }
    }
    w->place = NULL;
    pthread_mutex_unlock(&p->lock);
    if (c->mux != NULL) {
        reaper_expect(clock_now() + POOL_TENDING);
    }
}

static void trim_idle(pool *p, connection **condemned) {
    while (p->count.idle > p->max_idle) {
        connection *oldest = p->oldest_idle;
        bucket *place = oldest->bucket;
        pool_condemn(p, oldest, condemned);
        pool_bucket_tidy(p, place);
    }
}

void pool_checkin(pool *p, connection *c, nanoseconds now, nanoseconds idle_until) {
    connection *condemned = NULL;
    c->idle_since = now;
    c->idle_until = idle_until;
    pthread_mutex_lock(&p->lock);
    bucket *b = c->bucket;
    bool kept = b != NULL && !p->closed && !c->unwanted && idle_until > now;
    if (kept) {
        pool_idle_push(p, b, c);
        leave(p, b);
        trim_idle(p, &condemned);
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

void pool_leave(pool *p, connection *c, nanoseconds now, nanoseconds idle_until) {
    connection *condemned = NULL;
    bool over = false;
    pthread_mutex_lock(&p->lock);
    if (c->inherited) {
        pthread_mutex_unlock(&p->lock);
        return;
    }
    bool last = --c->streams == 0;
    if (c->bucket == NULL && last) {
        pool_all_remove(p, c);
        over = true;
    } else if (c->bucket != NULL && !last) {
        serve_waiters(p, c->bucket);
    } else if (c->bucket != NULL) {
        c->idle_since = now;
        c->idle_until = idle_until;
        bucket *b = c->bucket;
        pool_shared_rest(p, c);
        if (p->closed || c->unwanted || idle_until <= now || mux_closing(c->mux)) {
            over = retire(p, c);
        } else {
            serve_waiters(p, b);
            trim_idle(p, &condemned);
        }
    }
    pthread_mutex_unlock(&p->lock);
    if (over) {
        connection_free(c, true);
    }
    pool_close_condemned(condemned);
    reaper_expect(idle_until);
}

void pool_reconsider(pool *p, connection *c) {
    bool over = false;
    pthread_mutex_lock(&p->lock);
    if (!c->inherited && c->bucket != NULL) {
        if (mux_closing(c->mux)) {
            over = retire(p, c);
        } else {
            c->bucket->most = mux_most(c->mux);
            serve_waiters(p, c->bucket);
        }
    }
    pthread_mutex_unlock(&p->lock);
    if (over) {
        connection_free(c, true);
    }
}
