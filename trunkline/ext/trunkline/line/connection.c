#include "connection.h"

#include "mux.h"
#include "stream.h"

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

connection *connection_new(const dialled *d, const route *r, uint64_t owner, nanoseconds now) {
    connection *c = calloc(1, sizeof(*c));
    if (c == NULL) {
        tls_free(d->session, false);
        close(d->descriptor);
        return NULL;
    }
    c->descriptor = d->descriptor;
    c->session = d->session;
    c->id = __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);
    c->owner = owner;
    c->born = now;
    c->pace = NEVER;
    describe_peer(c, d, r);
    return c;
}

io_result connection_read(connection *c, void *bytes, size_t length, size_t *count, failure *f) {
    if (c->descriptor < 0) {
        failure_set(f, FAILURE_FORKED, PHASE_READ, 0, NULL);
        return IO_FAILED;
    }
    return stream_read((stream){c->descriptor, c->session}, bytes, length, count, f);
}

io_result connection_write(connection *c, const void *bytes, size_t length, size_t *count,
                           failure *f) {
    if (c->descriptor < 0) {
        failure_set(f, FAILURE_FORKED, PHASE_WRITE, 0, NULL);
        return IO_FAILED;
    }
    return stream_write((stream){c->descriptor, c->session}, bytes, length, count, f);
}

bool connection_pending(const connection *c) {
    return c->session != NULL && tls_pending(c->session);
}

bool connection_look(connection *c) {
    if (c->mux != NULL) {
        return mux_look(c->mux);
    }
    if (c->session != NULL) {
        return tls_look(c->session);
    }
    char byte;
    ssize_t seen;
    do {
        seen = recv(c->descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    } while (seen < 0 && errno == EINTR);
    return seen < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

void connection_destroy(connection *c, bool notify) {
    tls_free(c->session, notify && c->descriptor >= 0);
    if (c->descriptor >= 0) {
        close(c->descriptor);
    }
    free(c);
}

void connection_free(connection *c, bool notify) {
    if (c->mux == NULL) {
        connection_destroy(c, notify);
        return;
    }
    if (notify) {
        mux_goodbye(c->mux);
    }
    mux_release(c->mux);
}

/* ---- its pace ---- */

#define IN_VAIN 256 /* eight halvings: so many quick answers until it is tried again */

void connection_answered(connection *c, nanoseconds span) {
    nanoseconds before = __atomic_load_n(&c->pace, __ATOMIC_RELAXED);
    nanoseconds pace = before != NEVER && before / 2 > span ? before / 2 : span;
    __atomic_store_n(&c->pace, pace, __ATOMIC_RELAXED);
}

void connection_kept_awake(connection *c, nanoseconds span) {
    __atomic_store_n(&c->pace, span * IN_VAIN, __ATOMIC_RELAXED);
}

bool connection_is_quick(const connection *c, nanoseconds span) {
    return __atomic_load_n(&c->pace, __ATOMIC_RELAXED) <= span;
}
