#include "dial.h"
#include "transport/events/descriptors.h"
#include "dial_connect_internal.h"
#include "egress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The stages of a dial, in this order; a route skips the stages that it does not need. */
typedef enum {
    STAGE_TARGET, /* look up the server's address, for a SOCKS 5 proxy */
    STAGE_NAMES,  /* look up the address to connect to: the server's, or the proxy's */
    STAGE_CONNECT,
    STAGE_PROXY_TLS,
    STAGE_TUNNEL,
    STAGE_TLS,
    STAGE_COUNT
} stage;

static const call_phase phases[STAGE_COUNT] = {
    [STAGE_TARGET] = PHASE_RESOLVE, [STAGE_NAMES] = PHASE_RESOLVE,  [STAGE_CONNECT] = PHASE_CONNECT,
    [STAGE_PROXY_TLS] = PHASE_TLS,  [STAGE_TUNNEL] = PHASE_CONNECT, [STAGE_TLS] = PHASE_TLS,
};

struct dial {
    const route *route;
    const call_options *options;
    waker *waker;
    stage stage;
    nanoseconds began;              /* when the stage began */
    nanoseconds spent[PHASE_COUNT]; /* time spent in earlier stages, by phase */
    resolution *names;
    bool lookup_started; /* a look-up was started */
    endpoint target;     /* set once STAGE_TARGET is over */
    connecting *connecting;
    int descriptor;    /* -1: not connected */
    tls *session;      /* the innermost session so far */
    bool in_handshake; /* the handshake of `session` is under way */
    tunnel *tunnel;
    io_result wants;     /* what to wait for on ->descriptor */
    unsigned generation; /* of the process that dials */
    dialled result;      /* filled in stage by stage */
};

dial *dial_new(const route *r, const call_options *options, waker *w, nanoseconds now) {
    dial *d = calloc(1, sizeof(*d));
    if (d == NULL) return NULL;
    d->route = r;
    d->options = options;
    d->waker = w;
    d->began = now;
    d->generation = descriptors_generation();
    d->descriptor = -1;
    d->result.descriptor = -1;
    d->result.resolved_in = d->result.secured_in = -1;
    return d;
}

call_phase dial_phase(const dial *d) {
    return phases[d->stage];
}

static nanoseconds phase_deadline(const dial *d) {
    call_phase phase = dial_phase(d);
    nanoseconds limit = d->options->timeouts[phase];
    return limit == NEVER ? NEVER : clock_after(d->began, limit - d->spent[phase]);
}

static void next_stage(dial *d) {
    nanoseconds now = clock_now();
    d->spent[dial_phase(d)] += now > d->began ? now - d->began : 0;
    if (d->stage != STAGE_TLS) d->stage++;
    d->began = now;
}

static io_result no_memory(const dial *d, failure *f) {
    failure_set(f, FAILURE_OUT_OF_MEMORY, dial_phase(d), 0, NULL);
    return IO_FAILED;
}

/* The host that the socket connects to. */
static const char *peer_host(const dial *d) {
    return d->route->proxy != NULL ? d->route->proxy->host : d->route->host;
}

static uint16_t peer_port(const dial *d) {
    return d->route->proxy != NULL ? d->route->proxy->port : d->route->port;
}

/* ---- resolve ---- */

/* After IO_DONE *list is valid until d->names is released. */
static io_result look_up(dial *d, const char *host, uint16_t port, const endpoint **list,
                         size_t *count, failure *f) {
    if (d->names == NULL) {
        io_result result = resolve_start(host, port, d->options->max_age, d->waker, &d->names, f);
        d->lookup_started |= result == IO_WAIT;
        if (result != IO_DONE) return result;
    }
    return resolve_result(d->names, list, count, f);
}

static void forget_names(dial *d) {
    resolve_release(d->names);
    d->names = NULL;
}

/* Prefers an IPv4 address, because a SOCKS proxy need not reach IPv6. */
static io_result step_target(dial *d, failure *f) {
    const proxy *p = d->route->proxy;
    if (p == NULL || p->kind != PROXY_SOCKS5) return IO_DONE;
    const endpoint *list;
    size_t count, chosen = 0;
    io_result result = look_up(d, d->route->host, d->route->port, &list, &count, f);
    if (result != IO_DONE) return result;
    if (!egress_permits(d->options->egress, list, count, f)) return IO_FAILED;
    for (size_t i = count; i-- > 0;)
        if (list[i].address.ss_family == AF_INET) chosen = i;
    d->target = list[chosen];
    forget_names(d);
    return IO_DONE;
}

static io_result step_names(dial *d, failure *f) {
    endpoint path;
    const endpoint *list = &path;
    size_t count = 1;
    if (d->route->unix_path != NULL) {
        if (!unix_endpoint(d->route->unix_path, &path, f)) return IO_FAILED;
    } else {
        io_result result = look_up(d, peer_host(d), peer_port(d), &list, &count, f);
        if (result != IO_DONE) return result;
        if (d->route->proxy == NULL && !egress_permits(d->options->egress, list, count, f))
            return IO_FAILED;
    }
    d->connecting = connecting_new(list, count, &d->options->sockets);
    forget_names(d);
    return d->connecting != NULL ? IO_DONE : no_memory(d, f);
}

/* ---- connect ---- */

static void forget_address(const dial *d) {
    if (d->route->unix_path == NULL) resolve_forget(peer_host(d));
}

static io_result step_connect(dial *d, nanoseconds now, failure *f) {
    const endpoint *peer;
    io_result result = connecting_step(d->connecting, now, &d->descriptor, &peer, f);
    if (result == IO_FAILED && !descriptors_scarce(f->system_error)) forget_address(d);
    if (result != IO_DONE) return result;
    memcpy(&d->result.peer, &peer->address, peer->length);
    d->result.peer_length = peer->length;
    connecting_free(d->connecting); /* closes the slower attempts */
    d->connecting = NULL;
    return IO_DONE;
}

/* ---- TLS, with the server or with the proxy ---- */

static bool start_tls(dial *d, tls_context *context, const char *name, const void *key,
                      size_t key_length, failure *f) {
    if (context == NULL)
        return failure_set(f, FAILURE_TLS, PHASE_TLS, 0, "these settings have no TLS");
    tls *session = tls_new(context, d->descriptor, name, key, key_length, f);
    if (session == NULL) return false;
    if (d->session != NULL) tls_nest(session, d->session);
    d->session = session;
    return d->in_handshake = true;
}

static io_result run_handshake(dial *d, failure *f) {
    d->wants = tls_handshake(d->session, f);
    if (d->wants == IO_FAILED) return IO_FAILED;
    if (d->wants != IO_DONE) return IO_WAIT;
    d->in_handshake = false;
    return IO_DONE;
}

static io_result step_tls(dial *d, failure *f) {
    const route *r = d->route;
    if (r->tls_name == NULL) return IO_DONE;
    if (!d->in_handshake && !start_tls(d, d->options->tls, r->tls_name, r->key, r->key_length, f))
        return IO_FAILED;
    return run_handshake(d, f);
}

/* The proxy's label is the key of the TLS session, so that it is resumed for every server behind
 * the proxy. */
static io_result step_proxy_tls(dial *d, failure *f) {
    const proxy *p = d->route->proxy;
    if (p == NULL || p->tls_name == NULL) return IO_DONE;
    if (!d->in_handshake &&
        !start_tls(d, d->options->proxy_tls, p->tls_name, p->label, strlen(p->label), f))
        return IO_FAILED;
    return run_handshake(d, f);
}

/* ---- the tunnel through a proxy ---- */

static io_result step_tunnel(dial *d, failure *f) {
    const proxy *p = d->route->proxy;
    if (p == NULL || !p->tunnel) return IO_DONE;
    if (d->tunnel == NULL) {
        socket_io socket = {d->descriptor, d->session, false, NULL};
        d->tunnel = tunnel_new(d->route, d->options, socket,
                               p->kind == PROXY_SOCKS5 ? &d->target : NULL, f);
        if (d->tunnel == NULL) return IO_FAILED;
    }
    d->wants = tunnel_step(d->tunnel, f);
    return d->wants == IO_READ || d->wants == IO_WRITE ? IO_WAIT : d->wants;
}

/* Names the proxy in a failure before the tunnel, because the route's label names only the
 * server. */
static io_result name_proxy(const dial *d, failure *f) {
    failure original = *f;
    if (d->route->proxy != NULL &&
        (d->stage == STAGE_NAMES || d->stage == STAGE_CONNECT || d->stage == STAGE_PROXY_TLS))
        failure_set(f, original.code, original.phase, original.system_error, "proxy %.60s: %.240s",
                    d->route->proxy->label, original.detail);
    return IO_FAILED;
}

/* ---- the whole dial ---- */

static io_result timed_out(dial *d, failure *f) {
    char limit[48];
    double seconds = (double)d->options->timeouts[dial_phase(d)] / (double)SECOND;
    snprintf(limit, sizeof(limit), "within %g s", seconds);
    switch (d->stage) {
    case STAGE_TARGET:
    case STAGE_NAMES:
        failure_set(f, FAILURE_RESOLVE_TIMEOUT, PHASE_RESOLVE, 0, "no address of %s was found %s",
                    d->stage == STAGE_TARGET ? d->route->host : peer_host(d), limit);
        break;
    case STAGE_CONNECT:
        connecting_timed_out(d->connecting, limit, f);
        forget_address(d);
        break;
    case STAGE_TUNNEL: tunnel_timed_out(d->tunnel, limit, f); break;
    default:
        failure_set(f, FAILURE_TLS_TIMEOUT, PHASE_TLS, 0,
                    "%s did not complete the TLS handshake %s",
                    d->stage == STAGE_TLS ? d->route->label : d->route->proxy->label, limit);
    }
    return name_proxy(d, f);
}

static io_result step(dial *d, nanoseconds now, failure *f) {
    switch (d->stage) {
    case STAGE_TARGET: return step_target(d, f);
    case STAGE_NAMES: return step_names(d, f);
    case STAGE_CONNECT: return step_connect(d, now, f);
    case STAGE_PROXY_TLS: return step_proxy_tls(d, f);
    case STAGE_TUNNEL: return step_tunnel(d, f);
    default: return step_tls(d, f);
    }
}

/* Runs as many stages as possible without waiting. */
static io_result advance(dial *d, nanoseconds now, failure *f) {
    for (;;) {
        io_result result = step(d, now, f);
        if (result == IO_FAILED) return name_proxy(d, f);
        if (result != IO_DONE) return result;
        bool last = d->stage == STAGE_TLS;
        next_stage(d);
        if (last) return IO_DONE;
    }
}

/* In a forked child, drops the descriptor, which is closed and whose number may be used again, and
 * the TLS session, which is never used or freed. Returns whether this is a forked child. */
static bool disown(dial *d) {
    if (d->generation == descriptors_generation()) return false;
    if (d->connecting != NULL) connecting_disown(d->connecting);
    d->descriptor = -1;
    d->session = NULL;
    return true;
}

io_result dial_step(dial *d, nanoseconds now, dialled *out, failure *f) {
    if (disown(d)) {
        failure_set(f, FAILURE_FORKED, dial_phase(d), 0, NULL);
        return IO_FAILED;
    }
    io_result result = advance(d, now, f);
    if (result == IO_WAIT && now >= phase_deadline(d)) return timed_out(d, f);
    if (result != IO_DONE) return result;
    d->result.descriptor = d->descriptor;
    d->result.session = d->session;
    if (d->lookup_started) d->result.resolved_in = d->spent[PHASE_RESOLVE];
    d->result.connected_in = d->spent[PHASE_CONNECT];
    if (d->session != NULL) d->result.secured_in = d->spent[PHASE_TLS];
    *out = d->result;
    d->descriptor = -1; /* the caller owns both now */
    d->session = NULL;
    return IO_DONE;
}

int dial_wait(const dial *d, struct pollfd *entries, int room, nanoseconds *deadline) {
    *deadline = phase_deadline(d);
    if (d->connecting != NULL) {
        *deadline = clock_earlier(*deadline, connecting_due(d->connecting));
        return connecting_entries(d->connecting, entries, room);
    }
    if (d->descriptor < 0 || room < 1) return 0;
    short events = d->wants == IO_WRITE ? POLLOUT : POLLIN;
    entries[0] = (struct pollfd){.fd = d->descriptor, .events = events};
    return 1;
}

refusal *dial_refusal(dial *d) {
    return d->tunnel != NULL ? tunnel_refusal(d->tunnel) : NULL;
}

bool dial_is_resolving(const dial *d) {
    return d->names != NULL;
}

void dial_free(dial *d) {
    if (d == NULL) return;
    disown(d);
    resolve_release(d->names);
    connecting_free(d->connecting);
    tunnel_free(d->tunnel);
    tls_free(d->session, false);
    descriptors_close(d->descriptor);
    free(d);
}
