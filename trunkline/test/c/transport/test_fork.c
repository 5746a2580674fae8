#define _GNU_SOURCE
#include "transport/events/descriptors.h"
#include "transport/dial/dial.h"
#include "transport/fork.h"
#include "transport/events/event_loop.h"
#include "transport/tls/tls_internal.h"
#include "tls_peer.h"

#include <dlfcn.h>

/* The state of a child that was forked while other threads were dialling, waiting, or inside
 * OpenSSL. */

static identity authority, good;
static tls_context *context;

/* ---- during a call of OpenSSL that holds one of its locks ---- */

static pthread_mutex_t lock_of_openssl = PTHREAD_MUTEX_INITIALIZER;
static int held_for; /* milliseconds; atomic, like the next two */
static bool inside, forked;

/* Replaces OpenSSL's function for transport/, and calls it. */
int SSL_read(SSL *ssl, void *bytes, int length) {
    int (*real)(SSL *, void *, int);
    *(void **)&real = dlsym(RTLD_NEXT, "SSL_read");
    int span = __atomic_load_n(&held_for, __ATOMIC_ACQUIRE);
    if (span > 0) {
        pthread_mutex_lock(&lock_of_openssl);
        __atomic_store_n(&inside, true, __ATOMIC_RELEASE);
        sleep_milliseconds(span);
        pthread_mutex_unlock(&lock_of_openssl);
    }
    return real(ssl, bytes, length);
}

static void *read_once(void *data) {
    tls_client *client = data;
    char byte;
    size_t count;
    failure f;
    bool failed = tls_read(client->session, &byte, 1, &count, &f) == IO_FAILED;
    /* A thread that ends takes locks of the sanitizer's allocator, which fork does not wait for. */
    while (!__atomic_load_n(&forked, __ATOMIC_ACQUIRE)) sleep_milliseconds(1);
    return failed ? client : NULL;
}

static int use_tls(uint16_t port, bool refused) {
    if (pthread_mutex_trylock(&lock_of_openssl) != 0 && !refused) return 1;
    tls_client own = client_connect(context, port, "localhost", "child");
    bool connected = own.result == IO_DONE;
    if (refused && strstr(own.why.detail, "forked while another thread was inside") == NULL)
        return 2;
    client_close(&own, false);
    return connected == !refused ? 0 : 3;
}

static void say_nothing(tls_peer *p, SSL *ssl, int descriptor) {
    (void)p, (void)ssl;
    serve_until_closed(descriptor);
}

/* Forks while another thread stays inside OpenSSL for `milliseconds`. */
static void fork_during_a_read(int milliseconds, bool refused) {
    tls_peer p = {.shows = &good, .serve = say_nothing};
    pthread_t reader;
    peer_start(&p);
    tls_client client = client_connect(context, p.port, "localhost", "parent");
    __atomic_store_n(&inside, false, __ATOMIC_RELEASE);
    __atomic_store_n(&forked, false, __ATOMIC_RELEASE);
    __atomic_store_n(&held_for, milliseconds, __ATOMIC_RELEASE);
    pthread_create(&reader, NULL, read_once, &client);
    while (!__atomic_load_n(&inside, __ATOMIC_ACQUIRE)) sleep_milliseconds(1);
    __atomic_store_n(&held_for, 0, __ATOMIC_RELEASE);
    nanoseconds start = clock_now();
    pid_t child = fork();
    if (child == 0) {
        client_close(&client, false); /* the peer serves one connection at a time */
        _exit(use_tls(p.port, refused));
    }
    __atomic_store_n(&forked, true, __ATOMIC_RELEASE);
    CHECK(milliseconds_since(start) < 1500, "fork took %ld ms", milliseconds_since(start));
    pthread_join(reader, NULL);
    client_close(&client, false);
    int status = child_status(child);
    CHECK(status == 0, "inside for %d ms: the child %s TLS (%d)", milliseconds,
          refused ? "is refused" : "can use", status);
    peer_stop(&p);
}

static void test_a_fork_waits_for_who_is_inside_openssl(void) {
    fork_during_a_read(100, false);
}

static void test_a_fork_does_not_wait_for_ever(void) {
    fork_during_a_read(2000, true);
}

static void *go_in_and_out(void *stop) {
    while (!__atomic_load_n((bool *)stop, __ATOMIC_ACQUIRE)) {
        tls_enter();
        tls_enter();
        tls_leave();
        tls_leave();
    }
    return NULL;
}

static void test_threads_go_on_after_a_fork(void) {
    pthread_t threads[4];
    bool stop = false;
    int failed = 0;
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, go_in_and_out, &stop);
    for (int i = 0; i < 50; i++) {
        pid_t child = fork();
        if (child == 0) {
            tls_enter();
            tls_leave();
            failure f;
            _exit(tls_refused(&f));
        }
        failed += child_status(child) != 0;
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELEASE);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    CHECK(failed == 0, "%d of 50 children could not use TLS", failed);
}

/* ---- dialling ---- */

static call_options make_options(void) {
    call_options s = {.total = NEVER, .tls = context, .max_connections = 4};
    for (int i = 0; i < PHASE_COUNT; i++) s.timeouts[i] = NEVER;
    return s;
}

static bool receives_end(int descriptor) {
    char byte;
    while (wait_for_events(descriptor, POLLIN, SOON_MILLISECONDS))
        if (recv(descriptor, &byte, 1, 0) <= 0) return true;
    return false;
}

/* The descriptors of the parent's connections are not the child's: it must neither use nor close
 * them. */
static int go_on_dialling(dial *d, dialled *out, int until) {
    char byte;
    failure f = {0};
    if (read(until, &byte, 1) != 0) return 1;
    int reused = open("/dev/null", O_RDONLY);
    if (dial_step(d, clock_now(), out, &f) != IO_FAILED || f.code != FAILURE_FORKED) return 2;
    dial_free(d);
    return fcntl(reused, F_GETFD) == -1 ? 3 : 0;
}

static void test_the_server_sees_the_end_of_a_dial_though_a_child_lives(void) {
    route here = {.host = "127.0.0.1", .tls_name = "localhost", .label = "localhost", .key = ""};
    call_options s = make_options();
    dialled out;
    failure f;
    int ends[2];
    int listener = listen_on_loopback(4, &here.port);
    waker *w = waker_take();
    dial *d = dial_new(&here, &s, w, clock_now());
    while (dial_phase(d) != PHASE_TLS) dial_step(d, clock_now(), &out, &f);
    dial_step(d, clock_now(), &out, &f);
    int far_end = accept(listener, NULL, NULL);
    if (pipe(ends) != 0) give_up("pipe");
    pid_t child = fork();
    if (child == 0) {
        close(far_end);
        close(ends[1]);
        _exit(go_on_dialling(d, &out, ends[0]));
    }
    dial_free(d);
    CHECK(receives_end(far_end), "the server hears of it while the child lives");
    close(ends[1]);
    int status = child_status(child);
    CHECK(status == 0, "the child leaves it to the parent (%d)", status);
    close(ends[0]);
    close(far_end);
    close(listener);
    waker_drop(w);
}

/* ---- waiting ---- */

static int wait_in_child(event_loop *l, int own) {
    void *events[4];
    if (!event_loop_inherited(l) || !event_loop_renew(l) || event_loop_inherited(l)) return 1;
    if (!event_loop_watch(l, own, 0, POLLOUT, &events)) return 2;
    if (event_loop_wait(l, clock_now() + SECOND, events, 4) != 1 || events[0] != &events) return 3;
    event_loop_free(l);
    return 0;
}

static void test_a_child_waits_for_events_of_its_own(void) {
    int theirs[2], own[2];
    void *events[4];
    if (pipe(theirs) != 0 || pipe(own) != 0) give_up("pipe");
    event_loop *l = event_loop_new();
    event_loop_watch(l, theirs[0], 0, POLLIN, theirs);
    CHECK(write(theirs[1], "x", 1) == 1, "there is something to be told of");
    pid_t child = fork();
    if (child == 0) _exit(wait_in_child(l, own[1]));
    int status = child_status(child);
    CHECK(status == 0, "the child has a loop of its own (%d)", status);
    CHECK(event_loop_wait(l, clock_now() + SECOND, events, 4) == 1 && events[0] == theirs,
          "and the parent is told of what it watches");
    event_loop_free(l);
    for (int i = 0; i < 2; i++) {
        close(theirs[i]);
        close(own[i]);
    }
}

int main(void) {
    if (fork_guard() != 0) give_up("pthread_atfork");
    authority = make_authority("Test CA");
    good = make_named("localhost", "DNS:localhost", &authority);
    failure f;
    context = tls_context_obtain(&(tls_options){.min_version = TLS1_2_VERSION}, &f);
    RUN(test_a_fork_waits_for_who_is_inside_openssl());
    RUN(test_threads_go_on_after_a_fork());
    RUN(test_the_server_sees_the_end_of_a_dial_though_a_child_lives());
    RUN(test_a_child_waits_for_events_of_its_own());
    RUN(test_a_fork_does_not_wait_for_ever());
    tls_context_release(context);
    free_identity(&authority);
    free_identity(&good);
    return check_report();
}
