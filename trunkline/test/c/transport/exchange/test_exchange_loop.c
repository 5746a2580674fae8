#define _GNU_SOURCE
#include "transport/exchange/exchange_loop.h"
#include "sockets.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#ifdef __linux__
#include <sys/epoll.h>
#include <sys/syscall.h>
#endif

/* Many exchanges in one exchange loop, against a server whose response depends on the path. */

#define CALLS 200

/* ---- the server: a thread for each connection ---- */

static uint16_t port;

static void respond(int descriptor, const char *path) {
    char text[256];
    if (strncmp(path, "/slow", 5) == 0) sleep_milliseconds(100);
    if (strncmp(path, "/hang", 5) == 0) {
        wait_for_events(descriptor, POLLIN, SOON_MILLISECONDS);
        return;
    }
    if (strncmp(path, "/close", 6) == 0) {
        send(descriptor, "HTTP/1.1 200 OK\r\n\r\nuntil the end", 32, MSG_NOSIGNAL);
        shutdown(descriptor, SHUT_WR);
        return;
    }
    if (strncmp(path, "/drip", 5) == 0) {
        const char *bytes = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        for (const char *at = bytes; *at != '\0'; at++) {
            send(descriptor, at, 1, MSG_NOSIGNAL);
            sleep_milliseconds(1);
        }
        return;
    }
    int length = snprintf(text, sizeof(text), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s",
                          strlen(path), path);
    send(descriptor, text, (size_t)length, MSG_NOSIGNAL);
}

static void *serve(void *argument) {
    int descriptor = (int)(intptr_t)argument;
    char bytes[8192], path[64];
    size_t had = 0;
    ssize_t got;
    while ((got = recv(descriptor, bytes + had, sizeof(bytes) - 1 - had, 0)) > 0) {
        had += (size_t)got;
        bytes[had] = '\0';
        if (strstr(bytes, "\r\n\r\n") == NULL) continue;
        if (sscanf(bytes, "%*s %63s", path) == 1) respond(descriptor, path);
        had = 0;
    }
    close(descriptor);
    return NULL;
}

static void *accept_all(void *argument) {
    int listener = (int)(intptr_t)argument, descriptor;
    while ((descriptor = accept(listener, NULL, NULL)) >= 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, serve, (void *)(intptr_t)descriptor);
        pthread_detach(thread);
    }
    return NULL;
}

/* ---- calls ---- */

typedef struct {
    char head[128];
    exchange *x;
    member m;
    bool over;
    step_result step;
} one_call;

static pool *connections;
static waker *loop_waker;
static exchange_loop *driver;
static route to = {.host = "127.0.0.1", .label = "test", .key = "key", .key_length = 3};

static call_options make_options(uint32_t limit) {
    call_options s = {.total = 10 * SECOND,
                      .limits = http1_default_limits,
                      .max_connections = limit,
                      .idle_timeout = 60 * SECOND};
    for (int i = 0; i < PHASE_COUNT; i++) s.timeouts[i] = NEVER;
    return s;
}

static void begin(one_call *c, const call_options *s, const char *path) {
    *c = (one_call){0};
    int length = snprintf(c->head, sizeof(c->head), "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);
    exchange_request out = {.to = &to,
                            .options = s,
                            .head = c->head,
                            .head_length = (size_t)length,
                            .safe_method = true};
    c->x = exchange_new();
    exchange_begin(c->x, &out, connections, loop_waker, NEVER);
    exchange_loop_add(driver, &c->m, c->x, c);
}

static void end(one_call *c) {
    if (!c->over) exchange_loop_remove(driver, &c->m);
    exchange_free(c->x);
}

/* Drives the exchange loop and removes the exchanges that have ended; returns their number. */
static int drive(nanoseconds until) {
    stop_request stop = {0};
    int count = 0;
    exchange_loop_drive(driver, until, &stop);
    for (member *m; (m = exchange_loop_next(driver)) != NULL; count++) {
        one_call *c = m->owner;
        c->over = true;
        c->step = m->step;
        exchange_loop_remove(driver, m);
    }
    return count;
}

static void drive_all(int count) {
    nanoseconds until = clock_now() + 20 * SECOND;
    while (count > 0 && clock_now() < until) count -= drive(until);
    CHECK(count == 0, "%d calls never ended", count);
}

static bool body_is(const one_call *c, const char *text) {
    return c->step == STEP_DONE && buffer_length(&c->x->body) == strlen(text) &&
           memcmp(buffer_head(&c->x->body), text, strlen(text)) == 0;
}

static void test_each_call_gets_its_own_answer(uint32_t limit) {
    static one_call calls[CALLS];
    call_options s = make_options(limit);
    char path[CALLS][32];
    for (int i = 0; i < CALLS; i++) {
        snprintf(path[i], sizeof(path[i]), "/answer/%d", i);
        begin(&calls[i], &s, path[i]);
    }
    drive_all(CALLS);
    for (int i = 0; i < CALLS; i++) {
        CHECK(body_is(&calls[i], path[i]), "call %d of %d at once", i, (int)limit);
        end(&calls[i]);
    }
    pool_stats stats;
    pool_count(connections, &stats);
    CHECK(stats.connections <= limit && stats.in_use == 0, "all connections are back");
}

/* Data and end of file may arrive with one edge-triggered event: both must be processed. */
static void test_bodies_that_end_with_the_connection(void) {
    static one_call calls[50];
    call_options s = make_options(8);
    for (int i = 0; i < 50; i++) begin(&calls[i], &s, "/close");
    drive_all(50);
    for (int i = 0; i < 50; i++) {
        CHECK(body_is(&calls[i], "until the end"), "call %d ends with its connection", i);
        end(&calls[i]);
    }
}

static void test_answers_in_many_pieces(void) {
    static one_call calls[20];
    call_options s = make_options(20);
    for (int i = 0; i < 20; i++) begin(&calls[i], &s, "/drip");
    drive_all(20);
    for (int i = 0; i < 20; i++) {
        CHECK(body_is(&calls[i], "hello"), "call %d comes byte by byte", i);
        end(&calls[i]);
    }
}

static void test_those_that_hang_hold_up_nobody(void) {
    one_call hanging[3], quick;
    call_options s = make_options(20), brief = make_options(20);
    brief.timeouts[PHASE_FIRST_BYTE] = 300 * MILLISECOND;
    nanoseconds start = clock_now();
    for (int i = 0; i < 3; i++) begin(&hanging[i], &brief, "/hang");
    begin(&quick, &s, "/quick");
    while (!quick.over) drive(clock_now() + SECOND);
    CHECK(body_is(&quick, "/quick"), "a quick one overtakes those that hang");
    drive_all(3);
    CHECK(milliseconds_since(start) >= 299, "the others wait their time");
    for (int i = 0; i < 3; i++) {
        CHECK(hanging[i].step == STEP_FAILED &&
                  hanging[i].x->why.code == FAILURE_FIRST_BYTE_TIMEOUT,
              "%d: %s", i, failure_words(hanging[i].x->why.code));
        end(&hanging[i]);
    }
    end(&quick);
}

static void test_one_that_is_taken_out_is_forgotten(void) {
    one_call gone, stays;
    call_options s = make_options(20);
    begin(&gone, &s, "/slow/gone");
    begin(&stays, &s, "/slow/stays");
    drive(clock_now() + 20 * MILLISECOND);
    end(&gone);
    drive_all(1);
    CHECK(body_is(&stays, "/slow/stays"), "the other goes on");
    end(&stays);
}

static void *wake_later(void *argument) {
    stop_request *stop = argument;
    sleep_milliseconds(50);
    stop_set(stop);
    waker_wake(loop_waker);
    return NULL;
}

static void drive_and_stop_later(nanoseconds until, stop_request *stop) {
    pthread_t thread;
    pthread_create(&thread, NULL, wake_later, (void *)stop);
    exchange_loop_drive(driver, until, stop);
    pthread_join(thread, NULL);
}

static void test_it_comes_back_when_it_is_interrupted(void) {
    one_call hanging;
    call_options s = make_options(20);
    stop_request stop = {0};
    begin(&hanging, &s, "/hang");
    drive_and_stop_later(NEVER, &stop);
    CHECK(stop_is_set(&stop) && !exchange_loop_has_ready(driver), "it comes back with nothing");
    end(&hanging);
}

#ifdef __linux__
static int refusals; /* how often epoll still refuses to watch the waker */

int epoll_ctl(int epoll, int what, int descriptor, struct epoll_event *event) {
    if (refusals > 0 && descriptor == waker_descriptor(loop_waker)) {
        refusals--;
        errno = ENOMEM;
        return -1;
    }
    return (int)syscall(SYS_epoll_ctl, epoll, what, descriptor, event);
}

/* The waker's first event ends its watch, and epoll refuses to watch it the next two times. */
static void test_a_waker_that_epoll_refused_is_heard_again(void) {
    one_call hanging;
    call_options s = make_options(20);
    stop_request stop = {0};
    begin(&hanging, &s, "/hang");
    drive(clock_now() + 50 * MILLISECOND);
    refusals = 2;
    waker_wake(loop_waker);
    nanoseconds start = clock_now();
    drive_and_stop_later(start + 5 * SECOND, &stop);
    CHECK(milliseconds_since(start) < 4000, "it comes back when it is woken");
    CHECK(refusals == 0, "epoll was not asked again: %d", refusals);
    end(&hanging);
}
#endif

/* A connection that the loop watches is used by another driver meanwhile: the loop must ignore the
 * events of that driver's responses. */
static void test_a_connection_that_went_to_another_driver(void) {
    one_call first, second;
    call_options s = make_options(1);
    stop_request stop = {0};
    begin(&first, &s, "/first");
    drive_all(1);
    end(&first);
    const char head[] = "GET /elsewhere HTTP/1.1\r\nHost: x\r\n\r\n";
    exchange_request out = {
        .to = &to, .options = &s, .head = head, .head_length = sizeof(head) - 1};
    exchange *alone = exchange_new();
    waker *own = waker_take();
    exchange_begin(alone, &out, connections, own, NEVER);
    step_result step = exchange_step(alone, clock_now());
    if (step == STEP_WAIT) step = exchange_drive(alone, &stop);
    CHECK(step == STEP_DONE && alone->reused, "it carries a call elsewhere");
    exchange_free(alone);
    waker_drop(own);
    begin(&second, &s, "/second");
    drive_all(1);
    CHECK(body_is(&second, "/second") && second.x->reused, "and then one of ours again");
    end(&second);
}

int main(void) {
    int listener = listen_on_loopback(512, &port);
    pthread_t thread;
    pthread_create(&thread, NULL, accept_all, (void *)(intptr_t)listener);
    to.port = port;
    connections = pool_new(64);
    loop_waker = waker_take();
    driver = exchange_loop_new(loop_waker);
    RUN(test_each_call_gets_its_own_answer(1));
    RUN(test_each_call_gets_its_own_answer(10));
    RUN(test_each_call_gets_its_own_answer(64));
    RUN(test_bodies_that_end_with_the_connection());
    RUN(test_answers_in_many_pieces());
    RUN(test_those_that_hang_hold_up_nobody());
    RUN(test_one_that_is_taken_out_is_forgotten());
    RUN(test_it_comes_back_when_it_is_interrupted());
#ifdef __linux__
    if (exchange_loop_descriptor(driver) >= 0)
        RUN(test_a_waker_that_epoll_refused_is_heard_again());
#endif
    RUN(test_a_connection_that_went_to_another_driver());
    exchange_loop_free(driver);
    waker_drop(loop_waker);
    pool_release(connections);
    shutdown(listener, SHUT_RDWR);
    pthread_join(thread, NULL);
    close(listener);
    return check_report();
}
