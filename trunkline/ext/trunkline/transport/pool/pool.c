#include "transport/http2/http2_connection.h"
#include "pool_internal.h"
#include "reaper.h"

/* The reaper's lock is taken before a pool's, or without it. */
static void unlock(pool *p) {
    bool impatience_due = p->impatience_due;
    p->impatience_due = false;
    pthread_mutex_unlock(&p->lock);
    if (impatience_due) {
        reaper_expect(clock_now() + POOL_PATIENCE);
    }
}

/* A shared connection takes no calls any more. True: nobody is left on it, and it is the caller's
 * to free, without the lock. */
static bool retire(pool *p, connection *c) {
    bucket *b = c->bucket;
    bool idle = c->streams == 0;
    pool_shared_remove(c);
    c->bucket = NULL;
    if (!idle) {
        pool_leave_place(p, b);
        return false;
    }
    pool_idle_unlink(p, c);
    pool_all_remove(p, c);
    pool_serve_waiters(p, b);
    pool_bucket_tidy(p, b);
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
        if (pool_driven_one_waits(b) || !pool_grant(p, b, w, 0, out)) {
            pool_queue_append(p, b, w);
            result = POOL_WAIT;
        } else {
            w->place = *out == NULL ? b : NULL;
            result = *out == NULL ? POOL_DIAL : POOL_CONNECTION;
        }
    }
    unlock(p);
    return result;
}

pool_result pool_turn(pool *p, waiter *w, connection **out) {
    pool_result result = POOL_WAIT;
    pthread_mutex_lock(&p->lock);
    bool closed = p->closed || w->generation != p->generation || w->place == NULL;
    __atomic_store_n(&w->called, false, __ATOMIC_RELEASE);
    if (!closed && w->waiting) {
        pool_serve_waiters(p, w->place); /* what was not given to it while its driver was away */
    }
    if (closed) {
        result = POOL_CLOSED;
    } else if (!w->waiting && w->granted != NULL) {
        *out = w->granted;
        w->granted = NULL;
        w->place = NULL;
        result = POOL_CONNECTION;
    } else if (!w->waiting) {
        result = POOL_DIAL;
    }
    unlock(p);
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
            pool_let_dial(p, b, w);
        }
        w->generation = p->generation;
        result = *out == NULL ? POOL_DIAL : POOL_CONNECTION;
    }
    unlock(p);
    connection_free(c, false);
    return result;
}

static void forgo_place(pool *p, bucket *b, waiter *w) {
    if (w->waiting) {
        pool_queue_remove(p, w);
        pool_serve_waiters(p, b);
        pool_bucket_tidy(p, b);
        return;
    }
    pool_dial_is_over(p, b, w);
    if (w->granted != NULL) {
        pool_idle_push(p, b, w->granted);
    }
    pool_leave_place(p, b);
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
    unlock(p);
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
        b->unshared = w->may_share && c->mux == NULL;
        b->in_vain = false;
        if (c->mux != NULL) {
            c->streams = 1;
            pool_shared_add(b, c);
        }
        if (w->dialling) {
            pool_dial_is_over(p, b, w);
            pool_serve_waiters(p, b);
        }
    }
    w->place = NULL;
    unlock(p);
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
        pool_leave_place(p, b);
        trim_idle(p, &condemned);
    }
    unlock(p);
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
        pool_leave_place(p, c->bucket);
    }
    unlock(p);
    connection_free(c, notify);
}

void pool_leave(pool *p, connection *c, nanoseconds now, nanoseconds idle_until) {
    connection *condemned = NULL;
    bool over = false;
    pthread_mutex_lock(&p->lock);
    if (c->inherited) {
        unlock(p);
        return;
    }
    bool last = --c->streams == 0;
    if (c->bucket == NULL && last) {
        pool_all_remove(p, c);
        over = true;
    } else if (c->bucket != NULL && !last) {
        pool_serve_waiters(p, c->bucket);
    } else if (c->bucket != NULL) {
        c->idle_since = now;
        c->idle_until = idle_until;
        bucket *b = c->bucket;
        pool_end_use(b);
        pool_idle_link(p, c);
        if (p->closed || c->unwanted || idle_until <= now || mux_closing(c->mux)) {
            over = retire(p, c);
        } else {
            pool_serve_waiters(p, b);
            trim_idle(p, &condemned);
        }
    }
    unlock(p);
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
            pool_serve_waiters(p, c->bucket);
        }
    }
    unlock(p);
    if (over) {
        connection_free(c, true);
    }
}

void pool_driver_left(pool *p) {
    if (__atomic_load_n(&p->diallers, __ATOMIC_SEQ_CST) == NULL) {
        return;
    }
    pthread_mutex_lock(&p->lock);
    for (waiter *w = p->diallers; w != NULL; w = w->dialling_after) {
        if (waker_away(w->waker)) {
            pool_serve_waiters(p, w->place);
        }
    }
    unlock(p);
}
