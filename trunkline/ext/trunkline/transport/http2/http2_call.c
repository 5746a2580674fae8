#include "http2_connection_internal.h"

#include <stdlib.h>

/* Chooses the call that reads a shared connection: leader, followers, and the calls of an exchange
 * loop. */

static bool away(const http2_call *call) {
    return call->batch != NULL && __atomic_load_n(&call->batch->away, __ATOMIC_ACQUIRE);
}

/* Returns whether `call` may become the leader in place of `leader`. */
static bool may_replace(const http2_call *leader, const http2_call *call) {
    return leader == NULL || away(leader) || (leader->fiber_driven && !call->fiber_driven);
}

static void set_events(http2_call *call, short events) {
    __atomic_store_n(&call->events, events, __ATOMIC_RELEASE);
}

/* Returns the waker that only needs to be marked, because the exchange loop that steps this call
 * checks its other calls. */
static waker *own_waker(const http2_call *call) {
    return call->batch != NULL && !away(call) ? call->waker : NULL;
}

/* ---- followers ---- */

static void follow(http2_connection *h, http2_call *call) {
    call->follows = true;
    if (call->batch != NULL)
        list_append(&h->followers, &call->follower_node);
    else
        list_prepend(&h->followers, &call->follower_node);
}

static void unfollow(http2_connection *h, http2_call *call) {
    list_remove(&h->followers, &call->follower_node);
    call->follows = false;
}

void http2_call_note_input(http2_call *call, waker *own) {
    if (__atomic_exchange_n(&call->has_input, true, __ATOMIC_ACQ_REL) ||
        !(call->follows || call->leading))
        return;
    if (call->waker == own)
        waker_mark(own);
    else
        waker_wake(call->waker);
}

/* Returns the first follower whose driver is not away; one that a fiber drives only with
 * `fiber_driven`. */
static http2_call *able_follower(const http2_connection *h, bool fiber_driven) {
    LIST_EACH (http2_call, call, &h->followers, follower_node)
        if (!away(call) && (fiber_driven || !call->fiber_driven)) return call;
    return NULL;
}

void http2_connection_wake_new_leader(http2_connection *h, waker *own) {
    http2_call *first = LIST_FIRST(&h->followers, http2_call, follower_node);
    if (first == NULL || (h->leader != NULL && !away(h->leader))) return;
    http2_call *chosen = able_follower(h, false);
    if (chosen == NULL) chosen = able_follower(h, true);
    if (chosen != NULL)
        http2_call_note_input(chosen, own);
    else if (h->leader == NULL)
        http2_call_note_input(first, own);
}

/* ---- the leader ---- */

static bool has_led(const http2_batch *b, const http2_connection *h) {
    for (int i = 0; i < b->led_count; i++)
        if (b->led[i] == h) return true;
    return false;
}

static bool room_for_led(http2_batch *b) {
    if (b->led_count < b->led_room) return true;
    int room = b->led_room > 0 ? b->led_room * 2 : HTTP2_BATCH_SIZE;
    http2_connection **wider = realloc(b->led, (size_t)room * sizeof(http2_connection *));
    if (wider == NULL) return false;
    b->led = wider;
    b->led_room = room;
    return true;
}

/* Adds `h` to the connections that the loop's calls lead, so that http2_batch_depart lets other
 * calls lead. When out of memory, the reaper reads `h` once a second while the loop is not
 * driven. */
static void remember_led(http2_batch *b, http2_connection *h) {
    if (h->recorded_by == b) return;
    if (!has_led(b, h)) {
        if (!room_for_led(b)) return;
        b->led[b->led_count++] = http2_connection_keep(h);
    }
    h->recorded_by = b;
}

/* The caller holds the lock of `h`, and releases it before its reference. */
static void forget_led(const http2_batch *b, http2_connection *h) {
    if (h->recorded_by == b) h->recorded_by = NULL;
}

static void lead(http2_connection *h, http2_call *call) {
    http2_call *before = h->leader;
    if (before != NULL) {
        before->leading = false;
        set_events(before, 0);
        follow(h, before);
    }
    h->leader = call;
    call->leading = true;
    set_events(call, h->wants_read | h->wants_write);
    if (call->batch != NULL) remember_led(call->batch, h);
}

/* Returns a call that should lead rather than `call`; NULL: none. A fiber's call leads only when no
 * thread's call can. */
static http2_call *preferred_leader(const http2_connection *h, const http2_call *call) {
    http2_call *l = h->leader;
    if (!call->fiber_driven) return NULL;
    return l != NULL && !away(l) && !l->fiber_driven ? l : able_follower(h, false);
}

/* Makes the call leader or follower. A call that leaves output unwritten leads, or wakes the
 * leader, which then polls for POLLOUT. */
static void begin_wait(http2_connection *h, http2_call *call) {
    http2_call *able = preferred_leader(h, call);
    bool full = h->wants_write != 0;
    if (able == NULL && (full || may_replace(h->leader, call))) {
        lead(h, call);
        return;
    }
    follow(h, call);
    if (able != NULL && (full || able != h->leader)) http2_call_note_input(able, NULL);
}

static void stop_waiting(http2_connection *h, http2_call *call) {
    if (h->leader == call)
        h->leader = NULL;
    else if (call->follows)
        unfollow(h, call);
    call->leading = false;
    set_events(call, 0);
}

/* ---- requests that are not written completely ---- */

static void forget_sending(http2_connection *h, http2_call *call) {
    list_remove(&h->sending, &call->sending_node);
    call->sending = false;
}

void http2_connection_note_sent(http2_connection *h) {
    nanoseconds now = h->sending.first != NULL ? clock_now() : 0;
    LIST_EACH (http2_call, call, &h->sending, sending_node) {
        if (call->stream->request_ends > h->written) continue;
        call->sent_at = now;
        forget_sending(h, call);
    }
}

/* Counts all unwritten bytes as this call's, because all of them may be. */
uint64_t http2_call_body_sent(const http2_call *call) {
    uint64_t framed = http2_fed_and_framed(call->stream);
    uint64_t unwritten = buffer_length(&call->http2->output);
    return framed > unwritten ? framed - unwritten : 0;
}

bool http2_call_written(const http2_call *call) {
    const http2_connection *h = call->http2;
    return h->dead || h->write_broken || buffer_length(&h->output) == 0;
}

int http2_call_sent(const http2_call *call) {
    const http2_connection *h = call->http2;
    const http2_stream *s = call->stream;
    if (s == NULL) return 0;
    /* Composed frames are written later, even if their stream is reset by then. */
    if (!h->dead && !h->write_broken)
        return s->request_ends != UINT64_MAX ? 2 : s->head_begins != UINT64_MAX ? 1 : 0;
    const tls *session = h->connection->session;
    uint64_t handed = session != NULL ? tls_sent(session) : h->written;
    return s->request_ends <= h->written ? 2 : s->head_begins < handed ? 1 : 0;
}

/* ---- a step ---- */

bool http2_call_enter(http2_call *call) {
    http2_connection *h = call->http2;
    pthread_mutex_lock(&h->lock);
    if (h->session == NULL) {
        pthread_mutex_unlock(&h->lock);
        return false;
    }
    __atomic_store_n(&call->has_input, false, __ATOMIC_RELEASE);
    call->drained = false;
    stop_waiting(h, call);
    return true;
}

http2 *http2_connection_session(http2_connection *h) {
    return h->session;
}

const failure *http2_connection_why(const http2_connection *h) {
    return &h->why;
}

bool http2_call_open(http2_call *call, const char *scheme, const char *head, size_t length,
                     bool body, bool head_request, const http1_limits *limits) {
    http2_connection *h = call->http2;
    if (h->dead || http2_closing(h->session)) return false;
    if (http2_room(h->session) == 0) {
        http2_connection_write(h, own_waker(call),
                               clock_now()); /* a released stream ends when its reset is written */
    }
    call->stream =
        http2_request(h->session, scheme, head, length, body, head_request, limits, call);
    if (call->stream == NULL) return false;
    call->sent_at = -1;
    call->sending = true;
    list_prepend(&h->sending, &call->sending_node);
    return true;
}

bool http2_call_may_read(const http2_call *call) {
    const http2_connection *h = call->http2;
    return !h->dead && !call->drained && may_replace(h->leader, call);
}

bool http2_call_read(http2_call *call, nanoseconds now) {
    bool more = http2_connection_read_once(call->http2, own_waker(call), now);
    call->drained = !more;
    return more;
}

/* Writes, or leaves that to the batch, which writes once a round for all of its calls. */
static void write_or_defer(http2_connection *h, http2_call *call, nanoseconds now) {
    http2_batch *b = away(call) ? NULL : call->batch;
    http2_connection_end_exhausted(h, own_waker(call));
    if (h->dead || !(http2_wants_output(h->session) || buffer_length(&h->output) > 0)) return;
    for (int i = 0; b != NULL && i < b->count; i++)
        if (b->unflushed[i] == h) return;
    if (b != NULL && b->count < HTTP2_BATCH_SIZE && h->wants_write == 0) {
        b->unflushed[b->count++] = http2_connection_keep(h);
        return;
    }
    http2_connection_write(h, own_waker(call), now);
}

static bool unlock(http2_connection *h) {
    bool state_changed = h->state_changed;
    h->state_changed = false;
    pthread_mutex_unlock(&h->lock);
    return state_changed;
}

void http2_call_flush(http2_call *call, nanoseconds now) {
    __atomic_store_n(&call->has_input, false, __ATOMIC_RELEASE);
    write_or_defer(call->http2, call, now);
}

bool http2_call_leave(http2_call *call, bool waits) {
    http2_connection *h = call->http2;
    if (waits) {
        begin_wait(h, call);
        /* epoll does not report bytes again that had arrived before. */
        bool unseen = call->leading && (h->unread || (call->batch != NULL && !call->drained));
        call->again = call->has_input || unseen;
    }
    http2_connection_wake_new_leader(h, own_waker(call));
    return unlock(h);
}

bool http2_call_quit(http2_call *call, nanoseconds now) {
    http2_connection *h = call->http2;
    if (call->sending) forget_sending(h, call);
    if (call->stream != NULL) {
        http2_release(h->session, call->stream);
        call->stream = NULL;
    }
    write_or_defer(h, call, now);
    http2_connection_wake_new_leader(h, own_waker(call));
    return unlock(h);
}

void http2_call_move(http2_call *from, http2_call *to, waker *w) {
    http2_connection *h = from->http2;
    if (from->sending) forget_sending(h, from);
    *to = (http2_call){.http2 = h,
                       .stream = from->stream,
                       .waker = w,
                       .fiber_driven = true,
                       .sent_at = -1,
                       .arrived_at = -1};
    to->stream->owner = to;
    from->stream = NULL;
    from->http2 = NULL;
    http2_connection_wake_new_leader(h, NULL);
    unlock(h);
}

/* ---- an exchange loop's calls ---- */

/* Wakes a call to poll for POLLOUT, because output could not be written. */
static void find_writer(http2_connection *h, waker *own) {
    bool led = h->leader != NULL && !away(h->leader);
    http2_call *chosen = led ? h->leader : LIST_FIRST(&h->followers, http2_call, follower_node);
    LIST_EACH (http2_call, call, &h->followers, follower_node)
        if (call->waker == own) chosen = call;
    if (chosen != NULL) http2_call_note_input(chosen, own);
}

void http2_batch_flush(http2_batch *b, waker *own) {
    nanoseconds now = b->count > 0 ? clock_now() : 0;
    while (b->count > 0) {
        http2_connection *h = b->unflushed[--b->count];
        pthread_mutex_lock(&h->lock);
        if (h->session != NULL) {
            http2_connection_write(h, own, now);
            if (h->wants_write != 0) find_writer(h, own);
        }
        pthread_mutex_unlock(&h->lock);
        http2_connection_release(h);
    }
}

void http2_batch_depart(http2_batch *b) {
    if (b->away) return;
    __atomic_store_n(&b->away, true, __ATOMIC_RELEASE);
    int kept = 0;
    for (int i = 0; i < b->led_count; i++) {
        http2_connection *h = b->led[i];
        pthread_mutex_lock(&h->lock);
        bool led_by_batch = h->session != NULL && h->leader != NULL && h->leader->batch == b;
        if (led_by_batch)
            http2_connection_wake_new_leader(h, NULL);
        else
            forget_led(b, h);
        pthread_mutex_unlock(&h->lock);
        if (led_by_batch)
            b->led[kept++] = h;
        else
            http2_connection_release(h);
    }
    b->led_count = kept;
}

void http2_batch_arrive(http2_batch *b) {
    __atomic_store_n(&b->away, false, __ATOMIC_RELEASE);
}

http2_batch *http2_batch_new(void) {
    http2_batch *b = calloc(1, sizeof(*b));
    if (b != NULL) b->references = 1;
    return b;
}

http2_batch *http2_batch_keep(http2_batch *b) {
    __atomic_add_fetch(&b->references, 1, __ATOMIC_RELAXED);
    return b;
}

void http2_batch_drop(http2_batch *b) {
    if (b != NULL && __atomic_sub_fetch(&b->references, 1, __ATOMIC_ACQ_REL) == 0) {
        free(b->led);
        free(b);
    }
}

void http2_batch_close(http2_batch *b) {
    http2_batch_flush(b, NULL);
    http2_batch_depart(b);
    while (b->led_count > 0) {
        http2_connection *h = b->led[--b->led_count];
        pthread_mutex_lock(&h->lock);
        forget_led(b, h);
        pthread_mutex_unlock(&h->lock);
        http2_connection_release(h);
    }
    http2_batch_drop(b);
}
