#define _GNU_SOURCE
#include "transport/exchange/exchange_loop.h"
#include "http2_peer.h"

/* Calls that share a connection. */

typedef struct {
    exchange *x;
    step_result step;
    member m;
} one_call;

static void test_calls_follow_each_other_on_one_connection(void) {
    begin_test("");
    call_options s = make_options(4);
    for (int i = 0; i < 3; i++) {
        exchange *x = call(&s);
        CHECK(succeeded(x), "call %d is answered", i);
        CHECK(x->reused == (i > 0), "call %d: the connection is used again", i);
        exchange_free(x);
    }
    CHECK(accepted == 1 && counts().idle == 1 && counts().in_use == 0, "on one connection");
    end_test();
}

static void *call_in_thread(void *argument) {
    return call(argument);
}

static void test_threads_share_a_connection(void) {
    pthread_t threads[CALLS];
    begin_test("");
    call_options s = make_options(4);
    exchange_free(call(&s));
    for (int i = 0; i < CALLS; i++) pthread_create(&threads[i], NULL, call_in_thread, &s);
    int well = 0;
    for (int i = 0; i < CALLS; i++) {
        void *x;
        pthread_join(threads[i], &x);
        well += succeeded(x);
        exchange_free(x);
    }
    CHECK(well == CALLS, "%d of %d are answered", well, CALLS);
    CHECK(accepted == 1, "on one connection, not %d", accepted);
    end_test();
}

static void test_a_follower_is_woken_by_what_the_leader_reads(void) {
    begin_test("all");
    call_options s = make_options(4);
    exchange_free(call(&s));
    waker *first_waker = waker_take(), *second_waker = waker_take();
    exchange *first = begin_call(&s, first_waker), *second = begin_call(&s, second_waker);
    CHECK(exchange_step(first, clock_now()) == STEP_WAIT, "the first waits");
    CHECK(exchange_step(second, clock_now()) == STEP_WAIT, "the second too");
    struct pollfd entries[DIAL_MAX_ATTEMPTS];
    nanoseconds due;
    CHECK(exchange_wait(first, entries, DIAL_MAX_ATTEMPTS, &due) == 1, "the first one leads");
    CHECK(exchange_wait(second, entries, DIAL_MAX_ATTEMPTS, &due) == 0, "the second follows");
    exchange_abort(first);
    CHECK(waker_clear(second_waker), "and is woken to lead when the first one goes");
    exchange_step(second, clock_now());
    CHECK(exchange_wait(second, entries, DIAL_MAX_ATTEMPTS, &due) == 1, "which it does");
    waker *third_waker = waker_take();
    exchange *third = begin_call(&s, third_waker);
    CHECK(exchange_step(third, clock_now()) == STEP_WAIT, "a third one waits");
    CHECK(exchange_wait(third, entries, DIAL_MAX_ATTEMPTS, &due) == 0, "and follows the second");
    stop_request stop = {0};
    exchange_drive(second, &stop);
    CHECK(succeeded(second), "the second one is answered");
    exchange_drive(third, &stop);
    CHECK(succeeded(third), "and the third");
    exchange_free(first);
    exchange_free(second);
    exchange_free(third);
    CHECK(accepted == 1, "all on one connection");
    waker_drop(first_waker);
    waker_drop(second_waker);
    waker_drop(third_waker);
    end_test();
}

static void test_a_refused_stream_moves(void) {
    begin_test("ra");
    call_options s = make_options(4);
    exchange *x = call(&s);
    CHECK(succeeded(x), "it is answered in the end");
    CHECK(x->attempt_count == 2 && x->attempts[1].reason == ATTEMPT_MOVED, "and says so");
    exchange_free(x);
    end_test();
}

static void test_what_the_server_may_have_does_not_move(void) {
    begin_test("ac");
    call_options s = make_options(4);
    exchange_free(call(&s));
    exchange *x = call(&s);
    CHECK(x->state == EXCHANGE_FAILED && x->why.code == FAILURE_CLOSED, "it fails: %d",
          (int)x->why.code);
    CHECK(x->attempt_count == 1 && x->attempts[0].sent == SENT_ALL, "and the server may have it");
    CHECK(counts().connections == 0, "the connection is gone");
    exchange_free(x);
    end_test();
}

static void test_goodbye_is_seen_before_the_next_call(void) {
    begin_test("g");
    call_options s = make_options(4);
    exchange_free(call(&s));
    sleep_milliseconds(50);
    exchange *x = call(&s);
    CHECK(succeeded(x) && x->attempt_count == 1, "the next call is none the worse");
    CHECK(accepted == 2 && counts().connections == 1, "and has a connection of its own");
    exchange_free(x);
    end_test();
}

static void test_a_call_given_up_leaves_the_connection_usable(void) {
    begin_test("ah");
    call_options s = make_options(4), hasty = make_options(4);
    hasty.timeouts[PHASE_FIRST_BYTE] = 60 * MILLISECOND;
    exchange_free(call(&s));
    exchange *x = call(&hasty);
    CHECK(x->why.code == FAILURE_FIRST_BYTE_TIMEOUT, "one is not answered in time: %d",
          (int)x->why.code);
    exchange_free(x);
    x = call(&s);
    CHECK(succeeded(x) && accepted == 1, "the next is, on the same connection");
    CHECK(__atomic_load_n(&resets, __ATOMIC_SEQ_CST) == 1, "whose server was told");
    exchange_free(x);
    end_test();
}

/* A request that waits for its batch to be written is serialised when frames for another are
 * read. */
static void test_a_composed_request_counts_as_sent(void) {
    begin_test("");
    call_options s = make_options(4);
    exchange_free(call(&s));
    waker *wakeup = waker_take();
    http2_batch *batch = http2_batch_new();
    exchange *first = begin_call(&s, wakeup), *second = begin_call(&s, wakeup);
    exchange_join(first, batch, NULL);
    exchange_join(second, batch, NULL);
    exchange_step(first, clock_now());
    http2_batch_flush(batch, wakeup);
    int descriptor = first->connection->descriptor;
    wait_for_events(descriptor, POLLIN, SOON_MILLISECONDS);
    exchange_step(second, clock_now());
    while (exchange_step(first, clock_now()) == STEP_WAIT)
        if (!wait_for_events(descriptor, POLLIN, SOON_MILLISECONDS)) break;
    CHECK(succeeded(first), "the first is answered");
    exchange_abort(second);
    CHECK(exchange_sent(second) == SENT_ALL, "of the second is sent: %d", exchange_sent(second));
    http2_batch_flush(batch, wakeup);
    await_requests(3);
    CHECK(requests == 3, "and the server has it");
    exchange_free(first);
    exchange_free(second);
    http2_batch_close(batch);
    waker_drop(wakeup);
    end_test();
}

/* The garbage collector may free a response together with the options of its call. */
static void test_a_call_outlives_its_settings_to_be_freed(void) {
    begin_test("h");
    call_options *own = malloc(sizeof(*own));
    *own = make_options(4);
    waker *wakeup = waker_take();
    exchange *x = begin_call(own, wakeup);
    for (int i = 0; i < 200 && x->state != EXCHANGE_TALKING; i++) {
        exchange_step(x, clock_now());
        sleep_milliseconds(5);
    }
    CHECK(x->state == EXCHANGE_TALKING, "it was not begun");
    memset(own, 0, sizeof(*own));
    free(own);
    exchange_free(x);
    CHECK(counts().idle == 1, "its connection stays, idle for as long as the settings said");
    waker_drop(wakeup);
    end_test();
}

/* When the leader belongs to an exchange loop that is not being driven, other threads must take
 * over the connection. */
static void test_a_leader_away_holds_nobody_up(void) {
    begin_test("al");
    call_options s = make_options(4);
    exchange_free(call(&s));
    waker *wakeup = waker_take();
    exchange_loop *p = exchange_loop_new(wakeup);
    one_call c = {.x = begin_call(&s, wakeup)};
    stop_request stop = {0};
    exchange_loop_add(p, &c.m, c.x, &c);
    exchange_loop_drive(p, 0, &stop);
    exchange_loop_depart(p);
    exchange *x = call(&s);
    CHECK(succeeded(x), "a thread's call is answered meanwhile");
    exchange_free(x);
    exchange_loop_arrive(p);
    exchange_loop_drive(p, clock_now() + 5 * SECOND, &stop);
    CHECK(exchange_loop_next(p) == &c.m && succeeded(c.x), "and then the exchange loop's own");
    exchange_loop_remove(p, &c.m);
    exchange_free(c.x);
    exchange_loop_free(p);
    waker_drop(wakeup);
    end_test();
}

static void test_a_loop_keeps_to_the_stream_limit(void) {
    static one_call calls[CALLS];
    most_streams = 8;
    begin_test("");
    call_options s = make_options(1);
    waker *wakeup = waker_take();
    exchange_loop *p = exchange_loop_new(wakeup);
    stop_request stop = {0};
    for (int i = 0; i < CALLS; i++) {
        calls[i] = (one_call){.x = begin_call(&s, wakeup)};
        exchange_loop_add(p, &calls[i].m, calls[i].x, &calls[i]);
    }
    nanoseconds until = clock_now() + 20 * SECOND;
    int well = 0;
    for (int over = 0; over < CALLS && clock_now() < until;) {
        exchange_loop_drive(p, until, &stop);
        for (member *m; (m = exchange_loop_next(p)) != NULL; over++) {
            one_call *c = m->owner;
            well += succeeded(c->x);
            exchange_loop_remove(p, m);
        }
    }
    CHECK(well == CALLS, "%d of %d are answered", well, CALLS);
    CHECK(accepted == 1 && counts().waiting == 0 && counts().idle == 1,
          "one connection serves all");
    for (int i = 0; i < CALLS; i++) exchange_free(calls[i].x);
    exchange_loop_free(p);
    waker_drop(wakeup);
    end_test();
    most_streams = 100;
}

static int in_the_child(exchange *streaming, const call_options *s) {
    if (exchange_step(streaming, clock_now()) != STEP_FAILED) return 1;
    if (streaming->why.code != FAILURE_FORKED) return 2;
    exchange_free(streaming);
    exchange *x = call(s);
    if (!succeeded(x)) return 3;
    return x->reused ? 4 : 0;
}

static void test_a_child_has_connections_of_its_own(void) {
    begin_test("ah");
    call_options s = make_options(4);
    exchange_free(call(&s));
    waker *wakeup = waker_take();
    exchange *hanging = begin_call(&s, wakeup);
    exchange_step(hanging, clock_now());
    await_requests(2);
    pid_t child = fork();
    if (child == 0) _exit(in_the_child(hanging, &s));
    int status = child_status(child);
    CHECK(status == 0, "the child makes its own (%d)", status);
    exchange_free(hanging);
    exchange *x = call(&s);
    CHECK(succeeded(x) && x->reused, "the parent's goes on");
    exchange_free(x);
    waker_drop(wakeup);
    end_test();
}

int main(void) {
    peer_start();
    RUN(test_calls_follow_each_other_on_one_connection());
    RUN(test_threads_share_a_connection());
    RUN(test_a_follower_is_woken_by_what_the_leader_reads());
    RUN(test_a_refused_stream_moves());
    RUN(test_what_the_server_may_have_does_not_move());
    RUN(test_goodbye_is_seen_before_the_next_call());
    RUN(test_a_call_given_up_leaves_the_connection_usable());
    RUN(test_a_composed_request_counts_as_sent());
    RUN(test_a_call_outlives_its_settings_to_be_freed());
    RUN(test_a_leader_away_holds_nobody_up());
    RUN(test_a_loop_keeps_to_the_stream_limit());
    RUN(test_a_child_has_connections_of_its_own());
    peer_stop();
    return check_report();
}
