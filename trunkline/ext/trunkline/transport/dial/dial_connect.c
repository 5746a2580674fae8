#define _GNU_SOURCE
#include "dial_connect_internal.h"
#include "transport/events/descriptors.h"
#include "transport/events/portable.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* For a Unix socket whose backlog is full connect returns EAGAIN, and no event reports that it has
 * room again. */
#define RETRY_DELAY (5 * MILLISECOND)

typedef struct {
    int descriptor;
    const endpoint *peer;
} attempt;

struct connecting {
    const socket_options *options;
    nanoseconds due;  /* when the next attempt starts */
    int system_error; /* errno of the attempt that failed last */
    attempt attempts[DIAL_MAX_ATTEMPTS];
    int under_way;
    char errors[300]; /* "127.0.0.1:81: Connection refused; ..." */
    size_t count, next;
    endpoint list[]; /* in the order in which they are tried */
};

/* ---- addresses ---- */

bool unix_endpoint(const char *path, endpoint *e, failure *f) {
    struct sockaddr_un *address = (struct sockaddr_un *)&e->address;
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof(address->sun_path))
        return failure_set(f, FAILURE_CONNECT, PHASE_CONNECT, ENAMETOOLONG,
                           "the path of a Unix socket has 1 to %zu bytes; this one has %zu",
                           sizeof(address->sun_path) - 1, length);
    memset(e, 0, sizeof(*e));
    address->sun_family = AF_UNIX;
    memcpy(address->sun_path, path, length + 1);
    e->length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + 1);
    return true;
}

void endpoint_words(const endpoint *e, char *text, size_t size) {
    char address[INET6_ADDRSTRLEN] = "";
    if (e->address.ss_family == AF_UNIX) {
        snprintf(text, size, "%s", ((const struct sockaddr_un *)&e->address)->sun_path);
    } else if (e->address.ss_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&e->address;
        inet_ntop(AF_INET6, &v6->sin6_addr, address, sizeof(address));
        snprintf(text, size, "[%s]:%u", address, ntohs(v6->sin6_port));
    } else {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)&e->address;
        inet_ntop(AF_INET, &v4->sin_addr, address, sizeof(address));
        snprintf(text, size, "%s:%u", address, ntohs(v4->sin_port));
    }
}

/* Alternates the address families, beginning with that of the first address; keeps the order within
 * a family. */
static void interleave(endpoint *out, const endpoint *list, size_t count) {
    sa_family_t first = list[0].address.ss_family;
    size_t same = 0, other = 0, used = 0;
    while (used < count) {
        while (same < count && list[same].address.ss_family != first) same++;
        if (same < count) out[used++] = list[same++];
        while (other < count && list[other].address.ss_family == first) other++;
        if (other < count) out[used++] = list[other++];
    }
}

connecting *connecting_new(const endpoint *list, size_t count, const socket_options *options) {
    connecting *c = calloc(1, sizeof(*c) + count * sizeof(*list));
    if (c == NULL) return NULL;
    c->options = options;
    c->count = count;
    c->due = INT64_MIN;
    interleave(c->list, list, count);
    return c;
}

/* ---- one attempt ---- */

static void set_option(int descriptor, int level, int option, int value) {
    setsockopt(descriptor, level, option, &value, sizeof(value));
}

/* Sets TCP_NODELAY for small requests; keepalive probes and the user timeout detect a peer that is
 * gone. */
static void tune(int descriptor, const socket_options *options) {
    set_option(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
    if (options->keepalive_idle > 0) {
        set_option(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
#if defined(TCP_KEEPIDLE)
        set_option(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, options->keepalive_idle);
#elif defined(TCP_KEEPALIVE)
        set_option(descriptor, IPPROTO_TCP, TCP_KEEPALIVE, options->keepalive_idle); /* macOS */
#endif
#ifdef TCP_KEEPINTVL
        set_option(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, options->keepalive_interval);
#endif
    }
#ifdef TCP_USER_TIMEOUT
    if (options->user_timeout > 0)
        set_option(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, options->user_timeout);
#endif
}

/* Binds the socket to the interface and address of the options. Returns 0 or an errno. */
static int bind_local(int descriptor, int family, const socket_options *options) {
    if (family == AF_UNIX) return 0;
    if (options->interface[0] != '\0') {
#ifdef SO_BINDTODEVICE
        if (setsockopt(descriptor, SOL_SOCKET, SO_BINDTODEVICE, options->interface,
                       (socklen_t)strlen(options->interface)) != 0)
            return errno;
#else
        return ENOTSUP;
#endif
    }
    if (options->local_length == 0) return 0;
    if (options->local.ss_family != family) return EADDRNOTAVAIL;
#ifdef IP_BIND_ADDRESS_NO_PORT
    /* Lets connect choose the port, so that one port can serve several destinations. */
    if (family == AF_INET) set_option(descriptor, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
#endif
    const struct sockaddr *local = (const struct sockaddr *)&options->local;
    return bind(descriptor, local, options->local_length) == 0 ? 0 : errno;
}

static int open_socket(int family, const socket_options *options) {
    descriptors_lock();
    int descriptor = descriptors_note(portable_socket(family));
    descriptors_unlock();
    if (descriptor < 0) return -1;
    if (family != AF_UNIX) tune(descriptor, options);
#ifdef SO_NOSIGPIPE
    set_option(descriptor, SOL_SOCKET, SO_NOSIGPIPE, 1);
#endif
    return descriptor;
}

static void note_error(connecting *c, const endpoint *peer, int error) {
    char words[128];
    size_t used = strlen(c->errors);
    endpoint_words(peer, words, sizeof(words));
    c->system_error = error;
    snprintf(c->errors + used, sizeof(c->errors) - used, "%s%s: %s", used > 0 ? "; " : "", words,
             strerror(error));
}

/* Starts the next attempt; when it fails at once, the attempt after it is due at once. */
static void start_next(connecting *c, nanoseconds now) {
    const endpoint *peer = &c->list[c->next];
    int family = peer->address.ss_family;
    int descriptor = open_socket(family, c->options);
    int error = descriptor < 0 ? errno : bind_local(descriptor, family, c->options);
    if (error == 0 &&
        connect(descriptor, (const struct sockaddr *)&peer->address, peer->length) != 0)
        error = errno;
    if (error == EAGAIN && family == AF_UNIX) {
        descriptors_close(descriptor);
        c->due = clock_after(now, RETRY_DELAY);
        return;
    }
    c->next++;
    if (error == 0 || error == EINPROGRESS || (error == EINTR && descriptor >= 0)) {
        c->attempts[c->under_way++] = (attempt){descriptor, peer};
        c->due = clock_after(now, ATTEMPT_DELAY);
        return;
    }
    descriptors_close(descriptor);
    note_error(c, peer, error);
    c->due = now;
}

/* ---- all attempts ---- */

static bool may_start(const connecting *c) {
    return c->next < c->count && c->under_way < DIAL_MAX_ATTEMPTS;
}

static void start_due(connecting *c, nanoseconds now) {
    while (may_start(c) && now >= c->due) start_next(c, now);
}

int connecting_entries(const connecting *c, struct pollfd *entries, int room) {
    int count = c->under_way < room ? c->under_way : room;
    for (int i = 0; i < count; i++)
        entries[i] = (struct pollfd){.fd = c->attempts[i].descriptor, .events = POLLOUT};
    return count;
}

static int socket_error(int descriptor) {
    int error = 0;
    socklen_t size = sizeof(error);
    if (getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
    return error;
}

/* Removes the attempts that have failed, and the first one that has connected: returns true with
 * *winner. */
static bool collect(connecting *c, nanoseconds now, attempt *winner) {
    struct pollfd entries[DIAL_MAX_ATTEMPTS];
    int count = connecting_entries(c, entries, DIAL_MAX_ATTEMPTS);
    if (count <= 0 || poll(entries, (nfds_t)count, 0) <= 0) return false;
    bool won = false;
    c->under_way = 0;
    for (int i = 0; i < count; i++) {
        attempt a = c->attempts[i];
        int error = entries[i].revents != 0 ? socket_error(a.descriptor) : 0;
        if (error != 0) {
            note_error(c, a.peer, error);
            descriptors_close(a.descriptor);
            c->due = now;
        } else if (entries[i].revents != 0 && !won) {
            *winner = a;
            won = true;
        } else {
            c->attempts[c->under_way++] = a;
        }
    }
    return won;
}

io_result connecting_step(connecting *c, nanoseconds now, int *descriptor, const endpoint **peer,
                          failure *f) {
    attempt winner;
    bool won = collect(c, now, &winner);
    if (!won) {
        start_due(c, now);
        won = collect(c, now, &winner); /* over loopback the attempt has connected by now */
        if (!won) start_due(c, now);
    }
    if (won) {
        *descriptor = winner.descriptor;
        *peer = winner.peer;
        return IO_DONE;
    }
    if (c->under_way > 0 || c->next < c->count) return IO_WAIT;
    failure_set(f, FAILURE_CONNECT, PHASE_CONNECT, c->system_error, "%s", c->errors);
    return IO_FAILED;
}

nanoseconds connecting_due(const connecting *c) {
    return may_start(c) ? c->due : NEVER;
}

void connecting_timed_out(const connecting *c, const char *limit, failure *f) {
    char names[160] = "", one[128];
    for (int i = 0; i < c->under_way; i++) {
        size_t used = strlen(names);
        endpoint_words(c->attempts[i].peer, one, sizeof(one));
        snprintf(names + used, sizeof(names) - used, "%s%s", used > 0 ? ", " : "", one);
    }
    if (names[0] == '\0') endpoint_words(&c->list[c->next], names, sizeof(names));
    failure_set(f, FAILURE_CONNECT_TIMEOUT, PHASE_CONNECT, c->system_error,
                "%s did not answer %s%s%s", names, limit, c->errors[0] != '\0' ? "; " : "",
                c->errors);
}

void connecting_disown(connecting *c) {
    c->under_way = 0;
}

void connecting_free(connecting *c) {
    if (c == NULL) return;
    for (int i = 0; i < c->under_way; i++) descriptors_close(c->attempts[i].descriptor);
    free(c);
}
