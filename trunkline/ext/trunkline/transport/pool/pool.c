#include "transport/http2/http2_connection.h"
#include "pool_internal.h"
#include "reaper.h"

/* Calls reaper_expect after unlocking, because the reaper's lock is taken before a pool's. */
static void unlock(pool *p) {
    bool check_due = p->sharing_wait_check_due;
    p->sharing_wait_check_due = false;
    pthread_mutex_unlock(&p->lock);
    if (check_due) reaper_expect(clock_now() + POOL_SHARING_WAIT, pool_reap_all);
}

/* Stops giving calls to a shared connection. Returns true when no call is left on it: then the
 * caller closes it after unlocking. */
static bool retire(pool *p, connection *c) {
    bucket *b = c->bucket;
    bool idle = c->streams == 0;
    list_remove(&b->shared, &c->bucket_node);
    c->bucket = NULL;
    if (!idle) {
        pool_release_slot(p, b);
        return false;
    }
    pool_idle_unlink(p, c);
    pool_all_remove(p, c);
    pool_serve_waiters(p, b);
    pool_bucket_tidy(p, b);
    return true;
}

/* ---- functions for calls ---- */

pool_result pool_acquire(pool *p, const route *r, const call_options *options, pool_ticket *t,
                         connection **out) {
    pthread_mutex_lock(&p->lock);
    pool_result result = p->closed ? POOL_CLOSED : POOL_NO_MEMORY;
    bucket *b = p->closed ? NULL : pool_bucket(p, r);
    if (b != NULL) {
        t->limit = options->max_connections;
        t->idle_timeout = options->idle_timeout;
        t->generation = p->generation;
        t->granted = NULL;
        t->may_share = r->sharing != SHARING_NEVER;
        t->dialling = false;
        if (pool_has_active_waiter(b) || !pool_grant(p, b, t, 0, out)) {
            pool_queue_append(p, b, t);
            result = POOL_WAIT;
        } else {
            t->bucket = *out == NULL ? b : NULL;
            result = *out == NULL ? POOL_DIAL : POOL_CONNECTION;
        }
    }
    unlock(p);
    return result;
}

pool_result pool_turn(pool *p, pool_ticket *t, connection **out) {
    pool_result result = POOL_WAIT;
    pthread_mutex_lock(&p->lock);
    bool closed = p->closed || t->generation != p->generation || t->bucket == NULL;
    __atomic_store_n(&t->turn_due, false, __ATOMIC_RELEASE);
    if (!closed && t->waiting)
        pool_serve_waiters(p, t->bucket); /* the ticket was passed over while its driver was away */
    if (closed) {
        result = POOL_CLOSED;
    } else if (!t->waiting && t->granted != NULL) {
        *out = t->granted;
        t->granted = NULL;
        t->bucket = NULL;
        result = POOL_CONNECTION;
    } else if (!t->waiting) {
        result = POOL_DIAL;
    }
    unlock(p);
    return result;
}

pool_result pool_replace(pool *p, pool_ticket *t, connection *c, bool fresh, connection **out) {
    *out = NULL;
    pool_result result = POOL_CLOSED;
    pthread_mutex_lock(&p->lock);
    bucket *b = c->bucket;
    if (b != NULL) {
        pool_all_remove(p, c);
        *out = fresh ? NULL : pool_idle_take(p, b);
        t->bucket = *out == NULL ? b : NULL;
        if (*out == NULL) pool_begin_dial(p, b, t);
        t->generation = p->generation;
        result = *out == NULL ? POOL_DIAL : POOL_CONNECTION;
    }
    unlock(p);
    pool_connection_close(c, false);
    return result;
}

static void give_up_dial(pool *p, bucket *b, pool_ticket *t) {
    if (t->waiting) {
        pool_queue_remove(p, t);
        pool_serve_waiters(p, b);
        pool_bucket_tidy(p, b);
        return;
    }
    pool_end_dial(p, b, t);
    if (t->granted != NULL) pool_idle_push(p, b, t->granted);
    pool_release_slot(p, b);
}

void pool_cancel(pool *p, pool_ticket *t) {
    connection *shared = NULL;
    pthread_mutex_lock(&p->lock);
    if (t->bucket != NULL && t->generation == p->generation) {
        if (t->granted != NULL && t->granted->http2 != NULL)
            shared = t->granted;
        else
            give_up_dial(p, t->bucket, t);
    }
    t->bucket = NULL;
    t->granted = NULL;
    unlock(p);
    if (shared != NULL) {
        nanoseconds now = clock_now();
        pool_leave(p, shared, now, clock_after(now, t->idle_timeout));
    }
}

void pool_add(pool *p, pool_ticket *t, connection *c) {
    pthread_mutex_lock(&p->lock);
    if (t->generation == p->generation) {
        bucket *b = t->bucket;
        c->bucket = b;
        c->uses = 1;
        pool_all_add(p, c);
        b->unshared = t->may_share && c->http2 == NULL;
        b->dial_failed = false;
        if (c->http2 != NULL) {
            c->streams = 1;
            list_append(&b->shared, &c->bucket_node);
        }
        if (t->dialling) {
            pool_end_dial(p, b, t);
            pool_serve_waiters(p, b);
        }
    }
    t->bucket = NULL;
    unlock(p);
    if (c->http2 != NULL) reaper_expect(clock_now() + POOL_MAINTENANCE_INTERVAL, pool_reap_all);
}

static void trim_idle(pool *p, list *evicted) {
    while (p->count.idle > p->max_idle) {
        connection *oldest = LIST_FIRST(&p->idle, connection, idle_node);
        bucket *b = oldest->bucket;
        pool_evict(p, oldest, evicted);
        pool_bucket_tidy(p, b);
    }
}

void pool_checkin(pool *p, connection *c, nanoseconds now, nanoseconds idle_until) {
    list evicted = {0};
    c->idle_since = now;
    c->idle_until = idle_until;
    pthread_mutex_lock(&p->lock);
    bucket *b = c->bucket;
    bool kept = b != NULL && !p->closed && !c->unwanted && idle_until > now;
    if (kept) {
        pool_idle_push(p, b, c);
        pool_release_slot(p, b);
        trim_idle(p, &evicted);
    }
    unlock(p);
    if (!kept) {
        pool_discard(p, c, true);
        return;
    }
    pool_close_evicted(&evicted);
    reaper_expect(idle_until, pool_reap_all);
}

void pool_discard(pool *p, connection *c, bool notify) {
    pthread_mutex_lock(&p->lock);
    if (c->bucket != NULL) {
        pool_all_remove(p, c);
        pool_release_slot(p, c->bucket);
    }
    unlock(p);
    pool_connection_close(c, notify);
}

void pool_leave(pool *p, connection *c, nanoseconds now, nanoseconds idle_until) {
    list evicted = {0};
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
        if (p->closed || c->unwanted || idle_until <= now || http2_connection_closing(c->http2)) {
            over = retire(p, c);
        } else {
            pool_serve_waiters(p, b);
            trim_idle(p, &evicted);
        }
    }
    unlock(p);
    if (over) pool_connection_close(c, true);
    pool_close_evicted(&evicted);
    reaper_expect(idle_until, pool_reap_all);
}

void pool_reconsider(pool *p, connection *c) {
    bool over = false;
    pthread_mutex_lock(&p->lock);
    if (!c->inherited && c->bucket != NULL) {
        if (http2_connection_closing(c->http2)) {
            over = retire(p, c);
        } else {
            c->bucket->most = http2_connection_max_streams(c->http2);
            pool_serve_waiters(p, c->bucket);
        }
    }
    unlock(p);
    if (over) pool_connection_close(c, true);
}

bool pool_supports_connect(pool *p, const route *r) {
    bool takes = false;
    pthread_mutex_lock(&p->lock);
    const bucket *b = pool_bucket_known(p, r);
    if (b != NULL)
        LIST_EACH (connection, c, &b->shared, bucket_node)
            takes |=
                http2_connection_supports_connect(c->http2) && !http2_connection_closing(c->http2);
    unlock(p);
    return takes;
}

void pool_driver_left(pool *p) {
    if (__atomic_load_n(&p->dialling, __ATOMIC_SEQ_CST) == 0) return;
    pthread_mutex_lock(&p->lock);
    LIST_EACH (pool_ticket, t, &p->diallers, dial_node)
        if (waker_away(t->waker)) pool_serve_waiters(p, t->bucket);
    unlock(p);
}
