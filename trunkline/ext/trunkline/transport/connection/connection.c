#include "connection.h"

#include "transport/common/backoff.h"
#include "transport/events/descriptors.h"
#include "transport/events/portable.h"
#include "transport/tls/socket_io.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static uint64_t last_id;

static void describe_peer(connection *c, const dialled *d, const route *r) {
    char literal[INET6_ADDRSTRLEN];
    if (r->unix_path != NULL) {
        snprintf(c->address, sizeof(c->address), "%s", r->unix_path);
    } else if (d->peer.ss_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&d->peer;
        inet_ntop(AF_INET6, &in6->sin6_addr, literal, sizeof(literal));
        snprintf(c->address, sizeof(c->address), "[%s]:%d", literal, ntohs(in6->sin6_port));
    } else if (d->peer.ss_family == AF_INET) {
        const struct sockaddr_in *in4 = (const struct sockaddr_in *)&d->peer;
        inet_ntop(AF_INET, &in4->sin_addr, literal, sizeof(literal));
        snprintf(c->address, sizeof(c->address), "%s:%d", literal, ntohs(in4->sin_port));
    }
}

connection *connection_new(const dialled *d, const route *r, uint64_t owner_id, nanoseconds now) {
    connection *c = calloc(1, sizeof(*c));
    if (c == NULL) {
        tls_free(d->session, false);
        descriptors_close(d->descriptor);
        return NULL;
    }
    c->descriptor = d->descriptor;
    c->session = d->session;
    c->id = __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);
    c->owner_id = owner_id;
    c->opened_at = now;
    c->last_first_byte = NEVER;
    c->arrived.at = -1;
    arrival_watch(c->descriptor);
    if (c->session != NULL) tls_record_arrivals(c->session, &c->arrived);
    describe_peer(c, d, r);
    return c;
}

io_result connection_read(connection *c, void *bytes, size_t length, size_t *count, failure *f) {
    if (c->descriptor < 0) {
        failure_set(f, FAILURE_FORKED, PHASE_READ, 0, NULL);
        return IO_FAILED;
    }
    socket_io s = {c->descriptor, c->session, c->next_read_waits, &c->arrived};
    c->next_read_waits = false;
    io_result io = socket_io_read(s, bytes, length, count, f);
    c->drained = io == IO_DONE && (c->session ? tls_drained(c->session) : *count < length);
    return io;
}

io_result connection_write(connection *c, const void *bytes, size_t length, size_t *count,
                           failure *f) {
    if (c->descriptor < 0) {
        failure_set(f, FAILURE_FORKED, PHASE_WRITE, 0, NULL);
        return IO_FAILED;
    }
    return socket_io_write((socket_io){c->descriptor, c->session, false, NULL}, bytes, length,
                           count, f);
}

bool connection_wait_in_read(connection *c) {
    if (c->descriptor < 0) return false;
    if (!c->recv_may_wait)
        c->recv_may_wait = portable_let_recv_wait(c->descriptor, CONNECTION_READ_WAIT);
    if (!c->recv_may_wait) return false;
    c->next_read_waits = c->session == NULL;
    return c->next_read_waits || tls_wait_in_read(c->session);
}

bool connection_pending(const connection *c) {
    return c->session != NULL && tls_pending(c->session);
}

bool connection_check_alive(connection *c, event_loop *l, nanoseconds now) {
    if (l != NULL && c->drained && event_loop_quiet(l, c->descriptor, c->id, now)) return true;
    if (c->session != NULL) return tls_check_alive(c->session);
    char byte;
    ssize_t seen;
    do {
        seen = recv(c->descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    } while (seen < 0 && errno == EINTR);
    return seen < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

void connection_free(connection *c, bool notify) {
    tls_free(c->session, notify && c->descriptor >= 0);
    descriptors_close(c->descriptor);
    free(c);
}

/* ---- age ---- */

nanoseconds connection_due(const connection *c, nanoseconds max_age) {
    if (max_age == 0) return NEVER;
    nanoseconds earlier = max_age / 128 * (nanoseconds)(c->id % 16);
    return clock_after(c->opened_at, max_age - earlier);
}

/* ---- response times ---- */

static uint32_t load(const uint32_t *value) {
    return __atomic_load_n(value, __ATOMIC_RELAXED);
}

static void store(uint32_t *where, uint32_t value) {
    __atomic_store_n(where, value, __ATOMIC_RELAXED);
}

void connection_note_response(connection *c, nanoseconds span) {
    uint32_t skips = load(&c->busy_poll_skips);
    __atomic_store_n(&c->last_first_byte, span, __ATOMIC_RELAXED);
    if (skips > 0) store(&c->busy_poll_skips, skips - 1);
}

void connection_note_busy_poll(connection *c, bool in_vain) {
    uint32_t next = in_vain ? backoff_next(load(&c->busy_poll_backoff)) : 0;
    store(&c->busy_poll_skips, next);
    store(&c->busy_poll_backoff, next);
}

bool connection_is_quick(const connection *c, nanoseconds span) {
    return load(&c->busy_poll_skips) == 0 &&
           __atomic_load_n(&c->last_first_byte, __ATOMIC_RELAXED) <= span;
}
