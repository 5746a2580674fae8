#define _GNU_SOURCE
#include "transport/exchange/exchange.h"
#include "sockets.h"

#include <pthread.h>

/* One call and its driver: when the driver polls without sleeping, and what ends that. */

#define LONG (10 * SECOND) /* for busy_poll; every test is shorter */

static route to = {.host = "127.0.0.1", .label = "test", .key = "key", .key_length = 3};
static call_options options;
static pool *connections;
static int listener;

/* ---- the server: responds to all requests of one connection, each after a delay ---- */

static int response_delay; /* milliseconds; -1: never */

static void *serve(void *argument) {
    static const char text[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    char bytes[4096];
    int descriptor = accept(listener, NULL, NULL);
    while (recv(descriptor, bytes, sizeof(bytes), 0) > 0) {
        int after = __atomic_load_n(&response_delay, __ATOMIC_ACQUIRE);
        if (after > 0) sleep_milliseconds(after);
        if (after >= 0) send(descriptor, text, sizeof(text) - 1, MSG_NOSIGNAL);
    }
    close(descriptor);
    return argument;
}

/* ---- calls ---- */

static exchange *begin(void) {
    static const char head[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    exchange_request out = {
        .to = &to, .options = &options, .head = head, .head_length = sizeof(head) - 1};
    exchange *x = exchange_new();
    waker *w = waker_take();
    exchange_begin(x, &out, connections, w, NEVER);
    waker_drop(w);
    return x;
}

/* Begins a call and steps it until the request is sent. */
static exchange *begin_and_send(void) {
    exchange *x = begin();
    for (int i = 0; i < 1000 && !x->request_done; i++) {
        struct pollfd entries[DIAL_MAX_ATTEMPTS];
        nanoseconds due;
        exchange_step(x, clock_now());
        int count = exchange_wait(x, entries, DIAL_MAX_ATTEMPTS, &due);
        if (!x->request_done) poll(entries, (nfds_t)count, 10);
    }
    CHECK(x->request_done, "the request was not sent");
    return x;
}

static void finish(exchange *x) {
    stop_request stop = {0};
    CHECK(exchange_drive(x, &stop) == STEP_DONE, "the call failed");
    exchange_free(x);
}

static void respond_after(int milliseconds) {
    __atomic_store_n(&response_delay, milliseconds, __ATOMIC_RELEASE);
}

/* ---- tests ---- */

static void test_who_may_poll_awake(void) {
    respond_after(0);
    options.busy_poll = MILLISECOND;
    exchange *x = begin();
    CHECK(exchange_busy_poll_until(x) == 0, "awake before there is a connection");
    exchange_free(x);

    x = begin_and_send();
    CHECK(exchange_busy_poll_until(x) == 0, "awake though the connection never answered");
    x->connection->last_first_byte = options.busy_poll;
    CHECK(exchange_busy_poll_until(x) == x->sent_at + MILLISECOND, "not awake though it was quick");
    x->connection->last_first_byte = options.busy_poll + 1;
    CHECK(exchange_busy_poll_until(x) == 0, "awake though it was slow");
    x->connection->last_first_byte = 1;
    exchange *other = exchange_new();
    CHECK(exchange_busy_poll_until(x) == 0, "awake beside another call");
    exchange_free(other);
    CHECK(exchange_busy_poll_until(x) != 0, "not awake though alone again");
    x->deadline = x->sent_at + 1;
    CHECK(exchange_busy_poll_until(x) == x->deadline, "awake beyond the deadline");
    x->deadline = NEVER;
    options.busy_poll = 0;
    CHECK(exchange_busy_poll_until(x) == 0, "awake though not wanted");
    finish(x);
}

static void test_a_late_answer_ends_it(void) {
    respond_after(50);
    options.busy_poll = 5 * MILLISECOND;
    exchange *x = begin_and_send();
    CHECK(x->reused, "the connection was not kept");
    x->connection->last_first_byte = 1;
    finish(x);
    x = begin_and_send();
    CHECK(exchange_busy_poll_until(x) == 0, "awake after an answer that took 50 ms");
    finish(x);
}

/* Returns how many quick responses it takes until the connection counts as quick again. */
static int responses_until_quick(connection *c) {
    int responses = 0;
    for (; responses < 5000 && !connection_is_quick(c, MILLISECOND); responses++)
        connection_note_response(c, 1);
    return responses;
}

static void test_the_pace_of_a_connection(void) {
    connection c = {.last_first_byte = NEVER};
    CHECK(!connection_is_quick(&c, MILLISECOND), "quick before it answered");
    CHECK(responses_until_quick(&c) == 1, "a quick answer is not enough");
    connection_note_response(&c, 8 * MILLISECOND);
    CHECK(responses_until_quick(&c) == 1, "a slow answer is not forgotten");
    for (int next = 8; next < 4096; next *= 2) {
        connection_note_busy_poll(&c, true);
        int responses = responses_until_quick(&c);
        CHECK(responses == (next < 1024 ? next : 1024), "in vain: tried again after %d", responses);
    }
    connection_note_busy_poll(&c, false);
    connection_note_busy_poll(&c, true);
    CHECK(responses_until_quick(&c) == 8, "it was not in vain, and is not forgotten");
}

static void test_an_answer_is_seen_awake(void) {
    respond_after(50);
    options.busy_poll = LONG;
    exchange *x = begin_and_send();
    x->connection->last_first_byte = 1;
    finish(x);
}

/* ---- a blocking read ---- */

#if defined(__linux__) && !defined(TRUNKLINE_POLL)
#define READS_CAN_WAIT true /* portable_let_recv_wait */
#else
#define READS_CAN_WAIT false
#endif

static void test_who_may_wait_in_its_read(void) {
    respond_after(0);
    options.busy_poll = 0;
    exchange *x = begin();
    CHECK(!exchange_may_wait_in_read(x, clock_now()), "waits before there is a connection");
    exchange_free(x);

    x = begin_and_send();
    nanoseconds sent = x->sent_at;
    x->connection->last_first_byte = NEVER;
    CHECK(!exchange_may_wait_in_read(x, sent), "waits though the connection never answered");
    x->connection->last_first_byte = CONNECTION_READ_WAIT + 1;
    CHECK(!exchange_may_wait_in_read(x, sent), "waits though it was slow");
    x->connection->last_first_byte = CONNECTION_READ_WAIT;
    CHECK(exchange_may_wait_in_read(x, sent), "does not wait though it was quick");
    CHECK(!exchange_may_wait_in_read(x, sent + CONNECTION_READ_WAIT), "waits again");
    x->deadline = sent + 2 * CONNECTION_READ_WAIT;
    CHECK(!exchange_may_wait_in_read(x, sent), "waits though its deadline is near");
    x->deadline = NEVER;
    options.busy_poll = MILLISECOND;
    CHECK(!exchange_may_wait_in_read(x, sent), "waits though it is to poll awake");
    options.busy_poll = 0;
    x->events = POLLIN | POLLOUT;
    CHECK(!exchange_may_wait_in_read(x, sent), "waits though it has something to write");
    x->events = POLLIN;
    finish(x);
}

/* A response that arrives after the time limit of the read is waited for by polling. */
static void test_a_late_answer_is_polled_for(void) {
    respond_after(50);
    options.busy_poll = 0;
    exchange *x = begin_and_send();
    CHECK(x->reused, "the connection was not kept");
    x->connection->last_first_byte = 1;
    CHECK(exchange_may_wait_in_read(x, x->sent_at), "does not wait in its read");
    const connection *used = x->connection; /* the connection is back in the pool when the call is
                                             * over */
    stop_request stop = {0};
    CHECK(exchange_drive(x, &stop) == STEP_DONE, "the call failed");
    CHECK(x->timings.first_byte >= 40 * MILLISECOND, "first byte after %ld ms",
          (long)(x->timings.first_byte / MILLISECOND));
    CHECK(used->recv_may_wait == READS_CAN_WAIT, "its read waited: %d", used->recv_may_wait);
    exchange_free(x);
}

typedef struct {
    exchange *x, *other;
    stop_request *stop;
} disturbance;

static void *interrupt(void *argument) {
    disturbance *d = argument;
    sleep_milliseconds(50);
    stop_set(d->stop);
    waker_wake(d->x->waker);
    return NULL;
}

static void test_an_interrupt_is_heard_awake(void) {
    respond_after(-1);
    options.busy_poll = LONG;
    exchange *x = begin_and_send();
    x->connection->last_first_byte = 1;
    stop_request stop = {0};
    disturbance d = {.x = x, .stop = &stop};
    pthread_t thread;
    nanoseconds start = clock_now();
    pthread_create(&thread, NULL, interrupt, &d);
    CHECK(exchange_drive(x, &stop) == STEP_WAIT, "not interrupted");
    CHECK(milliseconds_since(start) < 5000, "interrupted late");
    pthread_join(thread, NULL);
    exchange_free(x);
}

/* The waker does not interrupt a blocking read; the time limit of the read does. */
static void test_an_interrupt_is_heard_in_a_read(void) {
    respond_after(-1);
    options.busy_poll = 0;
    exchange *x = begin_and_send();
    x->connection->last_first_byte = 1;
    CHECK(exchange_may_wait_in_read(x, x->sent_at), "does not wait in its read");
    stop_request stop = {0};
    disturbance d = {.x = x, .stop = &stop};
    stop_set(&stop);
    CHECK(exchange_drive(x, &stop) == STEP_WAIT, "not stopped before it waits");
    stop_clear(&stop);
    pthread_t thread;
    nanoseconds start = clock_now();
    pthread_create(&thread, NULL, interrupt, &d);
    CHECK(exchange_drive(x, &stop) == STEP_WAIT, "not interrupted");
    CHECK(milliseconds_since(start) < 5000, "interrupted late");
    pthread_join(thread, NULL);
    exchange_free(x);
}

static void *begin_other(void *argument) {
    disturbance *d = argument;
    sleep_milliseconds(50);
    d->other = exchange_new();
    return NULL;
}

static void test_another_call_sends_it_to_sleep(void) {
    respond_after(1000);
    options.busy_poll = LONG;
    exchange *x = begin_and_send();
    x->connection->last_first_byte = 1;
    disturbance d = {.x = x};
    pthread_t thread;
    struct timespec before, after;
    pthread_create(&thread, NULL, begin_other, &d);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
    finish(x);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
    pthread_join(thread, NULL);
    exchange_free(d.other);
    nanoseconds spent = (after.tv_sec - before.tv_sec) * SECOND + after.tv_nsec - before.tv_nsec;
    CHECK(spent < 500 * MILLISECOND, "%ld ms of CPU time", (long)(spent / MILLISECOND));
}

/* The kernel may wake late by five thousandths of the requested time. */
static void test_a_long_wait_is_slept_in_parts(void) {
    nanoseconds now = clock_now(), until = now + 60 * SECOND;
    int naps = 0;
    for (nanoseconds left; (left = clock_nap(until, now)) > 0; naps++) now += left + left / 200;
    CHECK(now - until < 50 * MILLISECOND, "%ld ms late", (long)((now - until) / MILLISECOND));
    CHECK(naps > 1 && naps < 10, "%d naps", naps);
    CHECK(clock_nap(SECOND + 1, 1) == SECOND, "a short wait is slept at once");
}

int main(void) {
    options = (call_options){.total = LONG,
                             .limits = http1_default_limits,
                             .max_connections = 8,
                             .idle_timeout = 60 * SECOND};
    for (int i = 0; i < PHASE_COUNT; i++) options.timeouts[i] = NEVER;
    listener = listen_on_loopback(8, &to.port);
    connections = pool_new(8);
    pthread_t servers[3];
    for (int i = 0; i < 3; i++) pthread_create(&servers[i], NULL, serve, NULL);
    RUN(test_who_may_poll_awake());
    RUN(test_who_may_wait_in_its_read());
    RUN(test_a_late_answer_is_polled_for());
    RUN(test_the_pace_of_a_connection());
    RUN(test_a_late_answer_ends_it());
    RUN(test_an_answer_is_seen_awake());
    RUN(test_an_interrupt_is_heard_awake());
    RUN(test_an_interrupt_is_heard_in_a_read());
    RUN(test_another_call_sends_it_to_sleep());
    RUN(test_a_long_wait_is_slept_in_parts());
    pool_close(connections);
    pool_release(connections);
    shutdown(listener, SHUT_RDWR);
    for (int i = 0; i < 3; i++) pthread_join(servers[i], NULL);
    close(listener);
    return check_report();
}
