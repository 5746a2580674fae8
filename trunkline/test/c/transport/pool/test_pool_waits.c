#define _GNU_SOURCE
#include "transport/pool/capacity.h"
#include "pool_ends.h"

/* Waiting for another call's dial, for a driver that is not running, and for a connection within
 * the limit of the process. */

static void drop(pool *p, pool_ticket *w) {
    pool_cancel(p, w);
    waker_drop(w->waker);
}

/* Two calls to an origin that may support HTTP/2: the first one dials, the second waits for it. */
static pool *with_a_dial(pool_ticket *first, pool_ticket *second, uint32_t limit) {
    pool *p = pool_new(8);
    call_options s = limited(limit);
    connection *out = NULL;
    *first = with_waker(), *second = with_waker();
    CHECK(pool_acquire(p, &maybe, &s, first, &out) == POOL_DIAL, "the first dials");
    CHECK(pool_acquire(p, &maybe, &s, second, &out) == POOL_WAIT, "the second waits for it");
    return p;
}

static bool woken_within(const pool_ticket *w, int milliseconds) {
    return wait_for_events(waker_descriptor(w->waker), POLLIN, milliseconds);
}

static void test_who_waited_long_enough_dials(void) {
    pool_ticket first, second;
    nanoseconds before = clock_now();
    pool *p = with_a_dial(&first, &second, 8);
    connection *out = NULL;
    CHECK(woken_within(&second, SOON_MILLISECONDS), "the second is woken");
    CHECK(milliseconds_since(before) >= 249, "not before its patience is over");
    CHECK(pool_turn(p, &second, &out) == POOL_DIAL, "and dials for itself");
    drop(p, &second);
    drop(p, &first);
    pool_release(p);
}

static void test_patience_does_not_pass_a_limit(void) {
    pool_ticket first, second;
    pool *p = with_a_dial(&first, &second, 1);
    connection *out = NULL;
    CHECK(!woken_within(&second, 400), "one connection is all that there may be");
    CHECK(pool_turn(p, &second, &out) == POOL_WAIT, "so it waits");
    drop(p, &first);
    CHECK(pool_turn(p, &second, &out) == POOL_DIAL, "until there is a place");
    drop(p, &second);
    pool_release(p);
}

static void test_nobody_waits_for_a_dial_whose_driver_is_away(void) {
    pool_ticket first, second;
    pool *p = with_a_dial(&first, &second, 8);
    connection *out = NULL;
    waker_depart(first.waker);
    pool_driver_left(p);
    CHECK(waker_clear(second.waker), "the second is woken at once");
    CHECK(pool_turn(p, &second, &out) == POOL_DIAL, "and dials for itself");
    drop(p, &second);
    drop(p, &first);
    pool_release(p);
}

static void test_those_whose_driver_is_away_are_passed_over(void) {
    pool *p = pool_new(8);
    call_options s = limited(1);
    connection *c = open_one(p, &here, &s, 1), *out = NULL;
    pool_ticket away = with_waker(), driven = with_waker(), late = with_waker();
    CHECK(pool_acquire(p, &here, &s, &away, &out) == POOL_WAIT, "one waits");
    CHECK(pool_acquire(p, &here, &s, &driven, &out) == POOL_WAIT, "another does");
    waker_depart(away.waker);
    give_back(p, c);
    CHECK(pool_turn(p, &driven, &out) == POOL_CONNECTION && out == c, "who is driven has it");
    give_back(p, c);
    CHECK(counts(p).idle == 1, "for who is not it lies there");
    CHECK(pool_acquire(p, &here, &s, &late, &out) == POOL_CONNECTION, "others may take it");
    give_back(p, c);
    waker_arrive(away.waker);
    CHECK(waker_clear(away.waker) && pool_turn_due(p, &away), "it was called meanwhile");
    CHECK(pool_turn(p, &away, &out) == POOL_CONNECTION && out == c, "and has it when it is back");
    pool_discard(p, c, false);
    waker_drop(away.waker);
    waker_drop(driven.waker);
    waker_drop(late.waker);
    pool_release(p);
    close_far_ends();
}

static void test_who_is_not_called_need_not_look(void) {
    pool *p = pool_new(8);
    call_options s = limited(1);
    connection *c = open_one(p, &here, &s, 1), *out = NULL;
    waker *shared = waker_take();
    pool_ticket first = {.waker = shared}, second = {.waker = shared};
    CHECK(pool_acquire(p, &here, &s, &first, &out) == POOL_WAIT, "one waits");
    CHECK(pool_acquire(p, &here, &s, &second, &out) == POOL_WAIT, "another does");
    CHECK(!pool_turn_due(p, &first) && !pool_turn_due(p, &second), "nothing is there for either");
    give_back(p, c);
    CHECK(pool_turn_due(p, &first) && !pool_turn_due(p, &second), "then for the first alone");
    pool_cancel(p, &first);
    CHECK(pool_turn_due(p, &second), "then for the second");
    pool_cancel(p, &second);
    waker_drop(shared);
    pool_release(p);
    close_far_ends();
}

/* The pool remembers some hundred origins that speak only HTTP/1.1, also without connections to
 * them. */
static void test_what_speaks_http1_is_remembered(void) {
    pool *p = pool_new(8);
    call_options s = limited(8);
    connection *out = NULL;
    pool_discard(p, open_one(p, &maybe, &s, 1), false);
    CHECK(counts(p).connections == 0, "no connection is left");
    pool_ticket first = with_waker(), second = with_waker();
    CHECK(pool_acquire(p, &maybe, &s, &first, &out) == POOL_DIAL, "one dials");
    CHECK(pool_acquire(p, &maybe, &s, &second, &out) == POOL_DIAL, "and nobody waits for it");
    pool_cancel(p, &first);
    pool_cancel(p, &second);
    for (uint32_t i = 0; i < 600; i++) {
        route r = maybe;
        r.key = (const char *)&i;
        r.key_length = sizeof(i);
        r.key_hash = i * 7919;
        pool_discard(p, open_one(p, &r, &s, 1), false);
        close_far_ends();
    }
    CHECK(pool_acquire(p, &maybe, &s, &first, &out) == POOL_DIAL, "one dials");
    CHECK(pool_acquire(p, &maybe, &s, &second, &out) == POOL_WAIT, "it is forgotten for others");
    drop(p, &first);
    drop(p, &second);
    pool_release(p);
}

static void test_what_failed_is_not_remembered(void) {
    pool_ticket first, second;
    pool *p = with_a_dial(&first, &second, 8);
    connection *out = NULL;
    first.dial_failed = true;
    pool_cancel(p, &first);
    CHECK(pool_turn(p, &second, &out) == POOL_DIAL, "the second dials for itself");
    pool_cancel(p, &second);
    call_options s = limited(8);
    CHECK(pool_acquire(p, &maybe, &s, &first, &out) == POOL_DIAL, "later one dials");
    CHECK(pool_acquire(p, &maybe, &s, &second, &out) == POOL_WAIT, "and another waits again");
    drop(p, &first);
    drop(p, &second);
    pool_release(p);
}

/* ---- the process's limit ---- */

static void test_the_limit_of_the_process_holds_over_all_pools(void) {
    uint32_t usual = capacity_limit();
    CHECK(usual > 0 && capacity_used() == 0, "by default there is one, and nothing is in use");
    capacity_set(2);
    pool *one = pool_new(8), *other = pool_new(8);
    call_options s = limited(8);
    connection *out = NULL, *a = open_one(one, &here, &s, 1), *b = open_one(one, &there, &s, 1);
    pool_ticket first = with_waker(), second = with_waker(), third = with_waker();
    CHECK(pool_acquire(other, &here, &s, &first, &out) == POOL_WAIT, "a third waits");
    CHECK(pool_acquire(one, &here, &s, &second, &out) == POOL_WAIT, "a fourth does");
    CHECK(pool_acquire(one, &here, &s, &third, &out) == POOL_WAIT, "and a fifth, behind it");
    CHECK(strstr(pool_why_waiting(one, &second), "max_connections ") != NULL, "and is told why");
    give_back(one, a);
    CHECK(waker_clear(first.waker) && !waker_clear(second.waker), "the first in line is woken");
    CHECK(pool_turn(one, &second, &out) == POOL_WAIT, "nobody goes before it");
    CHECK(pool_turn_due(other, &first) && pool_turn(other, &first, &out) == POOL_DIAL, "it has it");
    pool_discard(one, b, false);
    CHECK(waker_clear(second.waker) && pool_turn(one, &second, &out) == POOL_CONNECTION,
          "then the second, which finds one that is idle");
    CHECK(capacity_used() == 2, "two are in use");
    pool_cancel(other, &first);
    CHECK(waker_clear(third.waker) && pool_turn(one, &third, &out) == POOL_DIAL, "then the third");
    pool_cancel(one, &third);
    pool_discard(one, a, false);
    CHECK(capacity_used() == 0, "and none is");
    waker_drop(first.waker);
    waker_drop(second.waker);
    waker_drop(third.waker);
    pool_release(one);
    pool_release(other);
    close_far_ends();
    capacity_set(usual);
}

static void test_a_place_granted_to_one_who_leaves_goes_on(void) {
    uint32_t usual = capacity_limit();
    capacity_set(1);
    pool *p = pool_new(8);
    call_options s = limited(8);
    connection *out = NULL, *c = open_one(p, &here, &s, 1);
    pool_ticket first = with_waker(), second = with_waker(), third = with_waker();
    CHECK(pool_acquire(p, &there, &s, &first, &out) == POOL_WAIT, "one waits");
    CHECK(pool_acquire(p, &there, &s, &second, &out) == POOL_WAIT, "one waits behind it");
    CHECK(pool_acquire(p, &maybe, &s, &third, &out) == POOL_WAIT, "one waits elsewhere");
    pool_discard(p, c, false);
    CHECK(waker_clear(first.waker), "the first has a place");
    drop(p, &first);
    CHECK(pool_turn(p, &second, &out) == POOL_DIAL, "and leaves it to the one behind");
    drop(p, &second);
    CHECK(pool_turn(p, &third, &out) == POOL_DIAL, "which leaves it to the third");
    drop(p, &third);
    CHECK(capacity_used() == 0, "nothing is in use");
    pool_release(p);
    close_far_ends();
    capacity_set(usual);
}

static void test_room_is_made_by_closing_the_oldest_idle_ones(void) {
    pool *p = pool_new(MOST);
    call_options s = limited(MOST);
    connection *c[10];
    for (int i = 0; i < 10; i++) c[i] = open_one(p, &here, &s, 1);
    while (pool_make_room()) continue;
    CHECK(counts(p).connections == 10, "none is idle");
    waker_drop(waker_take());
    CHECK(pool_make_room() && !pool_make_room(), "but a waker may be");
    for (int i = 0; i < 10; i++) give_back(p, c[i]);
    CHECK(pool_make_room(), "some are closed");
    CHECK(far_end_is_closed(0) && !far_end_is_closed(9), "the oldest of them");
    CHECK(pool_make_room() && counts(p).idle == 0, "and then the others");
    CHECK(!pool_make_room(), "then there is nothing to be had");
    pool_release(p);
    close_far_ends();
}

int main(void) {
    RUN(test_who_waited_long_enough_dials());
    RUN(test_patience_does_not_pass_a_limit());
    RUN(test_nobody_waits_for_a_dial_whose_driver_is_away());
    RUN(test_those_whose_driver_is_away_are_passed_over());
    RUN(test_who_is_not_called_need_not_look());
    RUN(test_what_speaks_http1_is_remembered());
    RUN(test_what_failed_is_not_remembered());
    RUN(test_the_limit_of_the_process_holds_over_all_pools());
    RUN(test_a_place_granted_to_one_who_leaves_goes_on());
    RUN(test_room_is_made_by_closing_the_oldest_idle_ones());
    return check_report();
}
