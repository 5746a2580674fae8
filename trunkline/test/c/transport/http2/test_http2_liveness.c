#define _GNU_SOURCE
#include "transport/http2/http2_connection_internal.h"
#include "transport/pool/pool_internal.h"
#include "http2_peer.h"

/* Detection of a dead server by PINGs on a silent connection. The tests pass the time to the
 * reaper, so that they need not wait. */

/* Waits until the server has received `count` PINGs; returns how many it has received. */
static int pings_of(int count) {
    int seen = 0;
    for (int waited = 0; waited < SOON_MILLISECONDS; waited += 10) {
        seen = __atomic_load_n(&pings, __ATOMIC_SEQ_CST);
        if (seen >= count) break;
        sleep_milliseconds(10);
    }
    return seen;
}

/* Begins a call on the connection that the call before it opened. */
static exchange *under_way(const call_options *s, waker *w, http2_connection **m) {
    exchange_free(call(s));
    exchange *x = begin_call(s, w);
    if (exchange_step(x, clock_now()) != STEP_WAIT) give_up("a call should wait");
    *m = http2_connection_keep(x->call.http2);
    return x;
}

/* Returns the HTTP/2 connection of a pooled connection that has carried two calls and is idle. */
static http2_connection *idle_connection(const call_options *s) {
    waker *wakeup = waker_take();
    http2_connection *h;
    exchange *x = under_way(s, wakeup, &h);
    drive_to_end(x);
    CHECK(succeeded(x), "the call before is answered");
    exchange_free(x);
    waker_drop(wakeup);
    return h;
}

static void test_an_idle_server_is_not_asked_before_it_is_used_again(void) {
    begin_test("");
    call_options s = make_options(4);
    http2_connection *h = idle_connection(&s);
    nanoseconds now = clock_now();
    for (int minute = 1; minute <= 5; minute++) pool_reap_all(now + minute * 60 * SECOND);
    sleep_milliseconds(50);
    CHECK(pings_of(0) == 0 && !http2_connection_closing(h), "nobody asks while nobody needs it");
    h->received_at -= 29 * SECOND;
    exchange *x = call(&s);
    CHECK(succeeded(x) && x->reused && pings_of(0) == 0, "nor after less than 30 seconds");
    exchange_free(x);
    h->received_at -= 31 * SECOND;
    x = call(&s);
    CHECK(succeeded(x) && x->reused && pings_of(1) == 1, "then it is, before the call");
    exchange_free(x);
    x = call(&s);
    CHECK(succeeded(x) && x->reused && accepted == 1, "the next call has the same connection");
    CHECK(pings_of(1) == 1 && !http2_connection_closing(h), "and it is not asked again");
    exchange_free(x);
    http2_connection_release(h);
    end_test();
}

/* The call leads the connection and is not driven: PING acknowledgements must be read all the
 * same. */
static void test_a_call_waits_on_while_its_silent_server_answers_pings(void) {
    begin_test("ah");
    call_options s = make_options(4);
    waker *wakeup = waker_take();
    http2_connection *h;
    exchange *x = under_way(&s, wakeup, &h);
    nanoseconds now = clock_now();
    for (int round = 1; round <= 3; round++) {
        now += 29 * SECOND;
        pool_reap_all(now);
        sleep_milliseconds(50);
        CHECK(pings_of(0) == round - 1, "it is not asked often (%d)", round);
        now += 2 * SECOND;
        pool_reap_all(now);
        CHECK(pings_of(round) == round, "it is asked (%d)", round);
        now += 6 * SECOND;
        pool_reap_all(now);
        CHECK(!http2_connection_closing(h) && http2_connection_why(h)->code == FAILURE_NONE,
              "and believed");
    }
    CHECK(exchange_step(x, clock_now()) == STEP_WAIT, "the call goes on waiting");
    exchange_free(x);
    http2_connection_release(h);
    waker_drop(wakeup);
    end_test();
}

/* Sends a PING that is not acknowledged; returns the time of the PING. */
static nanoseconds ask_in_vain(const http2_connection *h) {
    nanoseconds asked_at = clock_now() + 31 * SECOND;
    mute = true;
    pool_reap_all(asked_at);
    CHECK(pings_of(1) == 1, "it is asked");
    pool_reap_all(asked_at + 5 * SECOND);
    CHECK(http2_connection_closing(h), "a server that does not answer gets no new calls");
    return asked_at;
}

static void test_a_server_that_was_too_busy_for_a_ping_can_still_answer(void) {
    begin_test("al");
    call_options s = make_options(4);
    waker *wakeup = waker_take();
    http2_connection *h;
    exchange *x = under_way(&s, wakeup, &h);
    ask_in_vain(h);
    drive_to_end(x);
    CHECK(succeeded(x) && x->attempt_count == 1, "but its answer is taken");
    CHECK(counts().connections == 0, "and then the connection ends");
    exchange_free(x);
    http2_connection_release(h);
    waker_drop(wakeup);
    end_test();
}

static void test_a_call_on_a_connection_gone_dead_waits_as_long_as_its_caller_said(void) {
    begin_test("ah");
    call_options s = make_options(1);
    waker *wakeup = waker_take();
    http2_connection *h;
    exchange *x = under_way(&s, wakeup, &h);
    nanoseconds asked_at = ask_in_vain(h);
    exchange *other = call(&s);
    CHECK(succeeded(other) && other->attempt_count == 1 && accepted == 2,
          "which have a new connection");
    exchange_free(other);
    for (int minute = 1; minute <= 10; minute++) pool_reap_all(asked_at + minute * 60 * SECOND);
    CHECK(exchange_step(x, clock_now()) == STEP_WAIT, "the one that waits is not failed");
    exchange_free(x);
    CHECK(counts().connections == 0, "the dead connection goes with it");
    http2_connection_release(h);
    waker_drop(wakeup);
    end_test();
}

int main(void) {
    peer_start();
    RUN(test_an_idle_server_is_not_asked_before_it_is_used_again());
    RUN(test_a_call_waits_on_while_its_silent_server_answers_pings());
    RUN(test_a_server_that_was_too_busy_for_a_ping_can_still_answer());
    RUN(test_a_call_on_a_connection_gone_dead_waits_as_long_as_its_caller_said());
    peer_stop();
    return check_report();
}
