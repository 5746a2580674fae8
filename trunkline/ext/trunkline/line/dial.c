#include "dial.h"
#include "dial_connect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct dial {
    const route *route;
    const settings *settings;
    waker *waker;
    call_phase phase;
    nanoseconds began; /* the phase */
    resolution *names;
    bool asked; /* the answer was not there at once */
    connecting *connecting;
    int descriptor; /* once connected; -1 */
    tls *session;
    io_result wants; /* TLS: what for */
    dialled result;  /* what is known of it so far */
};

dial *dial_new(const route *r, const settings *s, waker *w, nanoseconds now) {
    dial *d = calloc(1, sizeof(*d));
    if (d == NULL) return NULL;
    d->route = r;
    d->settings = s;
    d->waker = w;
    d->phase = PHASE_RESOLVE;
    d->began = now;
    d->descriptor = -1;
    d->result.descriptor = -1;
    d->result.resolved_in = d->result.secured_in = -1;
    return d;
}

static nanoseconds phase_deadline(const dial *d) {
    return clock_after(d->began, d->settings->timeouts[d->phase]);
}

/* Ends the phase and says how long it took. */
static nanoseconds enter(dial *d, call_phase next) {
    nanoseconds now = clock_now();
    nanoseconds took = now > d->began ? now - d->began : 0;
    d->phase = next;
    d->began = now;
    return took;
}

static io_result no_memory(const dial *d, failure *f) {
    failure_set(f, FAILURE_OUT_OF_MEMORY, d->phase, 0, NULL);
    return IO_FAILED;
}

/* ---- resolve ---- */

static io_result start_connecting(dial *d, const endpoint *list, size_t count, failure *f) {
    d->connecting = connecting_new(list, count);
    nanoseconds took = enter(d, PHASE_CONNECT);
    if (d->asked) d->result.resolved_in = took;
    resolve_release(d->names);
    d->names = NULL;
    return d->connecting != NULL ? IO_DONE : no_memory(d, f);
}

static io_result step_unix(dial *d, failure *f) {
    endpoint path;
    if (!unix_endpoint(d->route->unix_path, &path, f)) return IO_FAILED;
    return start_connecting(d, &path, 1, f);
}

static io_result step_resolve(dial *d, failure *f) {
    if (d->route->unix_path != NULL) return step_unix(d, f);
    if (d->names == NULL) {
        io_result result = resolve_start(d->route->host, d->route->port, d->waker, &d->names, f);
        d->asked = result == IO_WAIT;
        if (result != IO_DONE) return result;
    }
    const endpoint *list;
    size_t count;
    io_result result = resolve_result(d->names, &list, &count, f);
    return result == IO_DONE ? start_connecting(d, list, count, f) : result;
}

/* ---- connect ---- */

static void forget_name(const dial *d) {
    if (d->route->unix_path == NULL) resolve_forget(d->route->host);
}

static io_result step_connect(dial *d, nanoseconds now, failure *f) {
    const endpoint *peer;
    io_result result = connecting_step(d->connecting, now, &d->descriptor, &peer, f);
    if (result == IO_FAILED) forget_name(d);
    if (result != IO_DONE) return result;
    memcpy(&d->result.peer, &peer->address, peer->length);
    d->result.peer_length = peer->length;
    connecting_free(d->connecting); /* closes those that were slower */
    d->connecting = NULL;
    d->result.connected_in = enter(d, PHASE_TLS);
    return IO_DONE;
}

/* ---- TLS ---- */

static bool start_tls(dial *d, failure *f) {
    const route *r = d->route;
    if (d->settings->tls == NULL)
        return failure_set(f, FAILURE_TLS, PHASE_TLS, 0, "these settings have no TLS");
    d->session = tls_new(d->settings->tls, d->descriptor, r->tls_name, r->key, r->key_length, f);
    return d->session != NULL;
}

static io_result step_tls(dial *d, failure *f) {
    if (d->route->tls_name == NULL) return IO_DONE;
    if (d->session == NULL && !start_tls(d, f)) return IO_FAILED;
    d->wants = tls_handshake(d->session, f);
    if (d->wants == IO_FAILED) return IO_FAILED;
    if (d->wants != IO_DONE) return IO_WAIT;
    d->result.secured_in = enter(d, PHASE_TLS);
    return IO_DONE;
}

/* ---- the whole ---- */

static io_result too_late(dial *d, failure *f) {
    char asked[48];
    double seconds = (double)d->settings->timeouts[d->phase] / (double)SECOND;
    snprintf(asked, sizeof(asked), "within %g s", seconds);
    switch (d->phase) {
    case PHASE_RESOLVE:
        failure_set(f, FAILURE_RESOLVE_TIMEOUT, d->phase, 0, "no address of %s was found %s",
                    d->route->host, asked);
        break;
    case PHASE_CONNECT:
        connecting_too_late(d->connecting, asked, f);
        forget_name(d);
        break;
    default:
        failure_set(f, FAILURE_TLS_TIMEOUT, d->phase, 0, "%s did not complete the TLS handshake %s",
                    d->route->label, asked);
    }
    return IO_FAILED;
}

/* Moves through as many phases as it can without waiting. */
static io_result advance(dial *d, nanoseconds now, failure *f) {
    for (;;) {
        io_result result = IO_DONE;
        call_phase phase = d->phase;
        if (phase == PHASE_RESOLVE)
            result = step_resolve(d, f);
        else if (phase == PHASE_CONNECT)
            result = step_connect(d, now, f);
        else
            result = step_tls(d, f);
        if (result != IO_DONE || phase == PHASE_TLS) return result;
    }
}

io_result dial_step(dial *d, nanoseconds now, dialled *out, failure *f) {
    io_result result = advance(d, now, f);
    if (result == IO_WAIT && now >= phase_deadline(d)) return too_late(d, f);
    if (result != IO_DONE) return result;
    d->result.descriptor = d->descriptor;
    d->result.session = d->session;
    *out = d->result;
    d->descriptor = -1; /* both are the caller's now */
    d->session = NULL;
    return IO_DONE;
}

int dial_wait(const dial *d, struct pollfd *entries, int room, nanoseconds *deadline) {
    *deadline = phase_deadline(d);
    if (d->connecting != NULL) {
        *deadline = clock_earlier(*deadline, connecting_due(d->connecting));
        return connecting_entries(d->connecting, entries, room);
    }
    if (d->session == NULL || room < 1) return 0;
    short events = d->wants == IO_WRITE ? POLLOUT : POLLIN;
    entries[0] = (struct pollfd){.fd = d->descriptor, .events = events};
    return 1;
}

call_phase dial_phase(const dial *d) {
    return d->phase;
}

void dial_free(dial *d) {
    if (d == NULL) return;
    resolve_release(d->names);
    connecting_free(d->connecting);
    tls_free(d->session, false);
    if (d->descriptor >= 0) close(d->descriptor);
    free(d);
}
