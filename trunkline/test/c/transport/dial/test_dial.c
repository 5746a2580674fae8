#define _GNU_SOURCE
#include "transport/dial/dial.h"
#include "tls_peer.h"

#include <netdb.h>
#include <sys/stat.h>
#include <sys/un.h>

/* Dialling a route: its phases, their timeouts, and the race of several addresses. */

static identity authority, good;
static tls_context *context;
static char socket_path[100];

typedef struct {
    io_result result;
    dialled got;
    failure why;
    long took; /* milliseconds */
} outcome;

static call_options make_options(void) {
    call_options s = {.total = NEVER,
                      .tls = context,
                      .sockets = {.keepalive_idle = 30, .keepalive_interval = 10}};
    for (int i = 0; i < PHASE_COUNT; i++) s.timeouts[i] = NEVER;
    return s;
}

/* Drives the dial like a caller: waits for the events of dial_wait, and steps only then. */
static io_result drive(dial *d, waker *w, outcome *o) {
    for (;;) {
        nanoseconds deadline, now = clock_now();
        struct pollfd entries[DIAL_MAX_ATTEMPTS + 1];
        io_result result = dial_step(d, now, &o->got, &o->why);
        if (result != IO_WAIT) return result;
        int count = dial_wait(d, entries, DIAL_MAX_ATTEMPTS, &deadline);
        entries[count] = (struct pollfd){.fd = waker_descriptor(w), .events = POLLIN};
        nanoseconds left =
            deadline == NEVER ? SOON_MILLISECONDS * MILLISECOND : deadline - clock_now();
        int milliseconds = left <= 0 ? 0 : (int)((left + MILLISECOND - 1) / MILLISECOND);
        if (poll(entries, (nfds_t)count + 1, milliseconds) == 0 && deadline == NEVER)
            return IO_WAIT;
        waker_clear(w);
    }
}

static outcome dial_to(const route *r, const call_options *s) {
    outcome o = {.got = {.descriptor = -1}};
    waker *w = waker_take();
    nanoseconds start = clock_now();
    dial *d = dial_new(r, s, w, start);
    o.result = drive(d, w, &o);
    o.took = milliseconds_since(start);
    dial_free(d);
    waker_drop(w);
    return o;
}

static void hang_up(outcome *o) {
    if (o->result == IO_DONE) {
        tls_free(o->got.session, false);
        close(o->got.descriptor);
    }
}

static route to(const char *host, uint16_t port) {
    return (route){
        .host = host, .port = port, .label = "the test's server", .key = "dial", .key_length = 4};
}

/* ---- the test's own resolver ---- */

static int slow_milliseconds;
static int lookups;
static int at_work; /* look-ups that are running, perhaps for a caller that has cancelled */
static const char *addresses[4];

static int make_addrinfos(struct addrinfo **link) {
    lookups++;
    sleep_milliseconds(slow_milliseconds);
    for (int i = 0; i < 4 && addresses[i] != NULL; i++) {
        struct addrinfo numeric = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
        if (getaddrinfo(addresses[i], NULL, &numeric, link) != 0) return EAI_FAIL;
        link = &(*link)->ai_next;
    }
    return 0;
}

static int look_up(const char *host, const char *service, const void *hints, void **result) {
    (void)host, (void)service, (void)hints;
    __atomic_add_fetch(&at_work, 1, __ATOMIC_ACQ_REL);
    int code = make_addrinfos((struct addrinfo **)result);
    __atomic_sub_fetch(&at_work, 1, __ATOMIC_ACQ_REL);
    return code;
}

static void release(void *result) {
    while (result != NULL) {
        struct addrinfo *next = ((struct addrinfo *)result)->ai_next;
        ((struct addrinfo *)result)->ai_next = NULL;
        freeaddrinfo(result);
        result = next;
    }
}

static void names_are(int slow, const char *first, const char *second, const char *third) {
    while (__atomic_load_n(&at_work, __ATOMIC_ACQUIRE) > 0) sleep_milliseconds(5);
    resolve_clear();
    resolve_set_lookup(look_up, release);
    slow_milliseconds = slow;
    lookups = 0;
    addresses[0] = first;
    addresses[1] = second;
    addresses[2] = third;
}

/* ---- connecting ---- */

static int option_of(int descriptor, int level, int option) {
    int value = -1;
    socklen_t size = sizeof(value);
    getsockopt(descriptor, level, option, &value, &size);
    return value;
}

static void test_a_plain_connection(void) {
    call_options s = make_options();
    uint16_t port;
    int listener = listen_on_loopback(4, &port);
    route r = to("127.0.0.1", port);
    outcome o = dial_to(&r, &s);
    CHECK(o.result == IO_DONE && o.got.session == NULL, "it is connected: %s", o.why.detail);
    CHECK(o.got.peer.ss_family == AF_INET &&
              ((struct sockaddr_in *)&o.got.peer)->sin_port == htons(port),
          "the peer is told");
    CHECK(o.got.resolved_in == -1 && o.got.secured_in == -1, "it took no look-up and no TLS");
    CHECK(o.got.connected_in > 0 && o.got.connected_in < SECOND, "connecting took its time");
    int flags = fcntl(o.got.descriptor, F_GETFL);
    CHECK((flags & O_NONBLOCK) != 0 && fcntl(o.got.descriptor, F_GETFD) == FD_CLOEXEC,
          "the descriptor does not block and is not inherited");
    CHECK(option_of(o.got.descriptor, IPPROTO_TCP, 1 /* TCP_NODELAY */) == 1, "small writes leave");
    CHECK(option_of(o.got.descriptor, SOL_SOCKET, SO_KEEPALIVE) == 1, "a dead peer is noticed");
    hang_up(&o);
    close(listener);
}

static uint16_t dead_port(void) {
    uint16_t port;
    close(listen_on_loopback(1, &port));
    return port;
}

static void test_a_refused_connection_says_where_and_why(void) {
    call_options s = make_options();
    char where[32];
    route r = to("127.0.0.1", dead_port());
    outcome o = dial_to(&r, &s);
    snprintf(where, sizeof(where), "127.0.0.1:%u: %s", r.port, strerror(ECONNREFUSED));
    CHECK(o.result == IO_FAILED && o.why.code == FAILURE_CONNECT, "it fails");
    CHECK(o.why.system_error == ECONNREFUSED && o.why.phase == PHASE_CONNECT,
          "with errno and phase");
    CHECK(strstr(o.why.detail, where) != NULL, "in words: %s", o.why.detail);
}

static void test_the_next_address_is_tried_at_once(void) {
    call_options s = make_options();
    uint16_t port;
    int listener = listen_on_loopback(4, &port);
    names_are(0, "127.0.0.2", "::1", "127.0.0.1");
    route r = to("three.test", port);
    outcome o = dial_to(&r, &s);
    CHECK(o.result == IO_DONE, "the third address answers: %s", o.why.detail);
    CHECK(((struct sockaddr_in *)&o.got.peer)->sin_addr.s_addr == htonl(INADDR_LOOPBACK),
          "it is the one");
    CHECK(o.took < 450, "nobody waited: %ld ms", o.took);
    CHECK(o.got.resolved_in >= 0, "there was a look-up");
    hang_up(&o);
    close(listener);
}

static void test_when_all_addresses_fail_each_is_named_and_the_name_forgotten(void) {
    call_options s = make_options();
    names_are(0, "127.0.0.2", "127.0.0.3", NULL);
    route r = to("dead.test", dead_port());
    outcome o = dial_to(&r, &s);
    CHECK(o.result == IO_FAILED && strstr(o.why.detail, "127.0.0.2:") != NULL &&
              strstr(o.why.detail, "; 127.0.0.3:") != NULL,
          "both are named: %s", o.why.detail);
    dial_to(&r, &s);
    CHECK(lookups == 2, "the name is asked for anew, %d", lookups);
}

/* A listener whose backlog is full: the kernel drops the SYN packets of further connections. */
typedef struct {
    int listener, fillers[8];
    uint16_t port;
} black_hole;

static black_hole dig(void) {
    black_hole h;
    h.listener = listen_on_loopback(0, &h.port);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(h.port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (int i = 0; i < 8; i++) {
        h.fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        connect(h.fillers[i], (struct sockaddr *)&address, sizeof(address));
    }
    sleep_milliseconds(50);
    return h;
}

static void fill_in(black_hole *h) {
    for (int i = 0; i < 8; i++) close(h->fillers[i]);
    close(h->listener);
}

static void test_connecting_ends_in_time(void) {
    call_options s = make_options();
    s.timeouts[PHASE_CONNECT] = 300 * MILLISECOND;
    black_hole h = dig();
    route r = to("127.0.0.1", h.port);
    outcome o = dial_to(&r, &s);
    CHECK(o.result == IO_FAILED && o.why.code == FAILURE_CONNECT_TIMEOUT, "it fails");
    CHECK(o.why.phase == PHASE_CONNECT && strstr(o.why.detail, "127.0.0.1:") != NULL &&
              strstr(o.why.detail, "within 0.3 s") != NULL,
          "it says who and when: %s", o.why.detail);
    CHECK(o.took >= 300 && o.took < 1300, "in time: %ld ms", o.took);
    fill_in(&h);
}

/* The first address does not respond: the second starts after 250 ms and wins. */
static void test_a_silent_address_is_overtaken(void) {
    call_options s = make_options();
    black_hole h = dig();
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons(h.port)};
    address.sin6_addr = in6addr_loopback;
    int only = 1, other = socket(AF_INET6, SOCK_STREAM, 0);
    setsockopt(other, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof(only));
    if (bind(other, (struct sockaddr *)&address, sizeof(address)) != 0 || listen(other, 4) != 0)
        give_up("listen on ::1");
    /* Address families alternate: the third address is tried second, since it is IPv6. */
    names_are(0, "127.0.0.1", "127.0.0.1", "::1");
    route r = to("silent.test", h.port);
    outcome o = dial_to(&r, &s);
    CHECK(o.result == IO_DONE && o.got.peer.ss_family == AF_INET6, "the second wins: %s",
          o.why.detail);
    CHECK(o.took >= 240 && o.took < 1300, "after a moment: %ld ms", o.took);
    hang_up(&o);
    close(other);
    fill_in(&h);
}

/* ---- resolving ---- */

static void test_resolving_ends_in_time(void) {
    call_options s = make_options();
    s.timeouts[PHASE_RESOLVE] = 100 * MILLISECOND;
    names_are(400, "127.0.0.1", NULL, NULL);
    route r = to("slow.test", 80);
    outcome o = dial_to(&r, &s);
    CHECK(o.result == IO_FAILED && o.why.code == FAILURE_RESOLVE_TIMEOUT, "it fails");
    CHECK(strstr(o.why.detail, "slow.test") != NULL && strstr(o.why.detail, "within 0.1 s") != NULL,
          "it says who and when: %s", o.why.detail);
    CHECK(o.took >= 100 && o.took < 390, "in time: %ld ms", o.took);
}

static void test_a_slow_name_is_waited_for(void) {
    call_options s = make_options();
    uint16_t port;
    int listener = listen_on_loopback(4, &port);
    names_are(100, "127.0.0.1", NULL, NULL);
    route r = to("late.test", port);
    outcome o = dial_to(&r, &s);
    CHECK(o.result == IO_DONE && o.got.resolved_in >= 90 * MILLISECOND,
          "the look-up's time is told");
    hang_up(&o);
    o = dial_to(&r, &s);
    CHECK(o.result == IO_DONE && o.got.resolved_in == -1, "the second time it is known");
    hang_up(&o);
    close(listener);
}

static void test_leaving_in_the_middle(void) {
    call_options s = make_options();
    black_hole h = dig();
    dialled got;
    failure f;
    names_are(200, "127.0.0.1", NULL, NULL);
    route routes[] = {to("left.test", 80), to("127.0.0.1", h.port)};
    for (int i = 0; i < 2; i++) {
        waker *w = waker_take();
        dial *d = dial_new(&routes[i], &s, w, clock_now());
        CHECK(dial_step(d, clock_now(), &got, &f) == IO_WAIT, "it is under way");
        CHECK(dial_phase(d) == (i == 0 ? PHASE_RESOLVE : PHASE_CONNECT), "in its phase");
        dial_free(d);
        waker_drop(w);
    }
    dial_free(NULL);
    fill_in(&h);
}

/* ---- Unix sockets ---- */

static int listen_on_path(int backlog) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", socket_path);
    int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(descriptor, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(descriptor, backlog) != 0)
        give_up("listen on a path");
    return descriptor;
}

static void test_unix_sockets(void) {
    call_options s = make_options();
    s.timeouts[PHASE_CONNECT] = 200 * MILLISECOND;
    route r = {.unix_path = socket_path, .label = "unix", .key = "u", .key_length = 1};
    outcome o = dial_to(&r, &s);
    CHECK(o.result == IO_FAILED && o.why.system_error == ENOENT, "nobody listens: %s",
          o.why.detail);
    CHECK(strstr(o.why.detail, socket_path) != NULL, "the path is named");
    int listener = listen_on_path(0);
    o = dial_to(&r, &s);
    CHECK(o.result == IO_DONE && o.got.peer.ss_family == AF_UNIX, "it is connected: %s",
          o.why.detail);
    outcome second = dial_to(&r, &s);
    CHECK(second.result == IO_FAILED && second.why.code == FAILURE_CONNECT_TIMEOUT,
          "a full backlog is waited for, but not for ever");
    CHECK(second.took >= 200 && second.took < 1200, "in time: %ld ms", second.took);
    hang_up(&o);
    close(listener);
    unlink(socket_path);
}

static void test_a_path_must_fit(void) {
    call_options s = make_options();
    char path[200];
    memset(path, 'p', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    route r = {.unix_path = path, .label = "unix", .key = "u", .key_length = 1};
    outcome o = dial_to(&r, &s);
    CHECK(o.result == IO_FAILED && o.why.code == FAILURE_CONNECT, "it fails");
    CHECK(strstr(o.why.detail, "199") != NULL && strstr(o.why.detail, "107") != NULL,
          "it says why: %s", o.why.detail);
}

/* ---- TLS ---- */

static route securely_to(uint16_t port, const char *name) {
    route r = to("127.0.0.1", port);
    r.tls_name = name;
    return r;
}

static void test_a_secure_connection(void) {
    call_options s = make_options();
    tls_peer p = {.shows = &good, .serve = serve_echo};
    peer_start(&p);
    route r = securely_to(p.port, "localhost");
    outcome o = dial_to(&r, &s);
    CHECK(o.result == IO_DONE && o.got.session != NULL, "it is secure: %s", o.why.detail);
    CHECK(o.got.secured_in > 0, "which took its time");
    hang_up(&o);
    r.tls_name = "other.test";
    o = dial_to(&r, &s);
    CHECK(o.result == IO_FAILED && o.why.code == FAILURE_CERTIFICATE, "another name is refused");
    s.tls = NULL;
    o = dial_to(&r, &s);
    CHECK(o.result == IO_FAILED && o.why.code == FAILURE_TLS, "there must be a context");
    peer_stop(&p);
}

static void raw_stall(tls_peer *p, int descriptor) {
    (void)p;
    serve_until_closed(descriptor);
}

static void raw_stall_halfway(tls_peer *p, int descriptor) {
    static const char start[] = "\x16\x03\x03\x01\x00";
    send(descriptor, start, sizeof(start) - 1, MSG_NOSIGNAL);
    raw_stall(p, descriptor);
}

static void check_handshake_timeout(void (*raw)(tls_peer *, int)) {
    call_options s = make_options();
    s.timeouts[PHASE_TLS] = 150 * MILLISECOND;
    s.timeouts[PHASE_CONNECT] = 50 * MILLISECOND; /* must not apply to the TLS phase */
    tls_peer p = {.shows = &good, .raw = raw};
    peer_start(&p);
    route r = securely_to(p.port, "localhost");
    outcome o = dial_to(&r, &s);
    CHECK(o.result == IO_FAILED && o.why.code == FAILURE_TLS_TIMEOUT, "it fails");
    CHECK(o.why.phase == PHASE_TLS && strstr(o.why.detail, "the test's server") != NULL,
          "it says who: %s", o.why.detail);
    CHECK(o.took >= 150 && o.took < 1150, "in time: %ld ms", o.took);
    peer_stop(&p);
}

static void test_a_handshake_ends_in_time(void) {
    check_handshake_timeout(raw_stall);
    check_handshake_timeout(raw_stall_halfway);
}

static void set_up(void) {
    char path[256];
    failure f;
    make_folder();
    in_folder("s", socket_path, sizeof(socket_path));
    authority = make_authority("Test CA");
    good = make_named("localhost", "DNS:localhost", &authority);
    write_pem("ca.pem", &authority, true, false);
    tls_options options = {.verify = true,
                           .min_version = TLS1_2_VERSION,
                           .ca_file = in_folder("ca.pem", path, sizeof(path))};
    context = tls_context_obtain(&options, &f);
}

int main(void) {
    set_up();
    RUN(test_a_plain_connection());
    RUN(test_a_refused_connection_says_where_and_why());
    RUN(test_the_next_address_is_tried_at_once());
    RUN(test_when_all_addresses_fail_each_is_named_and_the_name_forgotten());
    RUN(test_connecting_ends_in_time());
    RUN(test_a_silent_address_is_overtaken());
    RUN(test_resolving_ends_in_time());
    RUN(test_a_slow_name_is_waited_for());
    RUN(test_leaving_in_the_middle());
    RUN(test_unix_sockets());
    RUN(test_a_path_must_fit());
    RUN(test_a_secure_connection());
    RUN(test_a_handshake_ends_in_time());
    tls_context_release(context);
    free_identity(&authority);
    free_identity(&good);
    remove_folder((const char *const[]){"ca.pem", NULL});
    return check_report();
}
