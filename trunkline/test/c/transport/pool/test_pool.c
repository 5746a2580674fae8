#define _GNU_SOURCE
#include "transport/fork.h"
#include "pool_ends.h"

#include <pthread.h>

static void test_the_last_one_used_is_the_first_one_taken(void) {
    pool *p = pool_new(8);
    call_options s = limited(4);
    connection *first = open_one(p, &here, &s, 1), *second = open_one(p, &here, &s, 1);
    give_back(p, first);
    give_back(p, second);
    pool_ticket w = {0};
    connection *c = NULL;
    CHECK(pool_acquire(p, &here, &s, &w, &c) == POOL_CONNECTION && c == second,
          "last in, first out");
    CHECK(c->uses == 2, "it is counted as used again");
    pool_discard(p, c, false);
    CHECK(counts(p).idle == 1 && counts(p).closed == 1, "one is left");
    pool_release(p);
    CHECK(far_end_is_closed(0) && far_end_is_closed(1), "the last reference closes what is idle");
    close_far_ends();
}

static void test_keys_are_kept_apart(void) {
    pool *p = pool_new(8);
    call_options s = limited(4);
    give_back(p, open_one(p, &here, &s, 1));
    pool_ticket w = {0};
    connection *c = NULL;
    CHECK(pool_acquire(p, &there, &s, &w, &c) == POOL_DIAL, "another key, another connection");
    pool_cancel(p, &w);
    pool_release(p);
    close_far_ends();
}

static void test_those_who_wait_are_served_in_their_order(void) {
    pool *p = pool_new(8);
    call_options s = limited(1);
    connection *c = open_one(p, &here, &s, 1), *out = NULL;
    pool_ticket first = with_waker(), second = with_waker(), third = with_waker();
    CHECK(pool_acquire(p, &here, &s, &first, &out) == POOL_WAIT, "the first waits");
    CHECK(pool_acquire(p, &here, &s, &second, &out) == POOL_WAIT, "the second waits");
    CHECK(pool_acquire(p, &here, &s, &third, &out) == POOL_WAIT, "the third waits");
    CHECK(counts(p).waiting == 3, "three wait");
    give_back(p, c);
    CHECK(waker_clear(first.waker) && !waker_clear(second.waker), "the first is woken, alone");
    CHECK(pool_turn(p, &second, &out) == POOL_WAIT, "it is not the second's turn");
    pool_cancel(p, &first); /* gives up the connection that it was granted */
    CHECK(waker_clear(second.waker), "then the second is woken");
    CHECK(pool_turn(p, &second, &out) == POOL_CONNECTION && out == c, "and has the connection");
    pool_discard(p, c, false);
    CHECK(pool_turn(p, &third, &out) == POOL_DIAL, "a place that became free lets the third dial");
    pool_cancel(p, &third);
    CHECK(counts(p).waiting == 0 && counts(p).connections == 0, "nothing is left");
    waker_drop(first.waker);
    waker_drop(second.waker);
    waker_drop(third.waker);
    pool_release(p);
    close_far_ends();
}

static void test_nobody_jumps_the_queue(void) {
    pool *p = pool_new(8);
    call_options s = limited(1), generous = limited(10);
    connection *c = open_one(p, &here, &s, 1), *out = NULL;
    pool_ticket patient = with_waker(), pushy = with_waker();
    CHECK(pool_acquire(p, &here, &s, &patient, &out) == POOL_WAIT, "one waits");
    CHECK(pool_acquire(p, &here, &generous, &pushy, &out) == POOL_WAIT, "who comes later does too");
    give_back(p, c);
    CHECK(pool_turn(p, &patient, &out) == POOL_CONNECTION, "first come, first served");
    pool_discard(p, out, false);
    pool_cancel(p, &pushy);
    waker_drop(patient.waker);
    waker_drop(pushy.waker);
    pool_release(p);
    close_far_ends();
}

/* Three calls to an origin that may support HTTP/2: the first one dials. */
static pool *with_one_dialling(pool_ticket *first, pool_ticket *second, pool_ticket *third) {
    pool *p = pool_new(8);
    call_options s = limited(8);
    connection *out = NULL;
    *first = with_waker(), *second = with_waker(), *third = with_waker();
    CHECK(pool_acquire(p, &maybe, &s, first, &out) == POOL_DIAL, "the first dials");
    CHECK(pool_acquire(p, &maybe, &s, second, &out) == POOL_WAIT, "the second waits for it");
    CHECK(pool_acquire(p, &maybe, &s, third, &out) == POOL_WAIT, "the third does too");
    return p;
}

static void without_them(pool *p, pool_ticket *first, pool_ticket *second, pool_ticket *third) {
    pool_ticket *all[] = {first, second, third};
    for (int i = 0; i < 3; i++) {
        pool_cancel(p, all[i]);
        waker_drop(all[i]->waker);
    }
    CHECK(counts(p).waiting == 0, "nobody waits");
    pool_release(p);
    close_far_ends();
}

static void test_all_dial_when_a_connection_cannot_be_shared(void) {
    pool_ticket first, second, third;
    pool *p = with_one_dialling(&first, &second, &third);
    connection *c = opened(&maybe, 1), *out = NULL;
    pool_add(p, &first, c);
    CHECK(pool_turn(p, &second, &out) == POOL_DIAL, "it speaks HTTP/1.1: the second dials");
    CHECK(pool_turn(p, &third, &out) == POOL_DIAL, "and the third");
    pool_discard(p, c, false);
    without_them(p, &first, &second, &third);
}

static void test_one_dials_after_another_was_given_up(void) {
    pool_ticket first, second, third;
    pool *p = with_one_dialling(&first, &second, &third);
    connection *out = NULL;
    pool_cancel(p, &first);
    CHECK(pool_turn(p, &second, &out) == POOL_DIAL, "the second dials");
    CHECK(pool_turn(p, &third, &out) == POOL_WAIT, "the third waits for it");
    without_them(p, &first, &second, &third);
}

static void test_all_dial_when_one_has_failed(void) {
    pool_ticket first, second, third;
    pool *p = with_one_dialling(&first, &second, &third);
    connection *out = NULL;
    first.dial_failed = true;
    pool_cancel(p, &first);
    CHECK(pool_turn(p, &second, &out) == POOL_DIAL, "the second dials");
    CHECK(pool_turn(p, &third, &out) == POOL_DIAL, "and the third");
    without_them(p, &first, &second, &third);
}

static void test_what_will_not_do_is_replaced(void) {
    pool *p = pool_new(8);
    call_options s = limited(2);
    connection *dead = open_one(p, &here, &s, 1), *good = open_one(p, &here, &s, 1);
    give_back(p, good);
    pool_ticket w = {0};
    connection *out = NULL;
    CHECK(pool_replace(p, &w, dead, false, &out) == POOL_CONNECTION && out == good,
          "by an idle one");
    CHECK(pool_replace(p, &w, out, true, &out) == POOL_DIAL, "or by the right to open one");
    CHECK(counts(p).connections == 0 && counts(p).closed == 2, "both are closed");
    pool_cancel(p, &w);
    pool_release(p);
    close_far_ends();
}

static void test_the_oldest_idle_ones_are_closed_beyond_the_limit(void) {
    pool *p = pool_new(2);
    call_options s = limited(8);
    connection *c[3];
    for (int i = 0; i < 3; i++) c[i] = open_one(p, i == 0 ? &there : &here, &s, 1);
    for (int i = 0; i < 3; i++) give_back(p, c[i]);
    CHECK(counts(p).idle == 2, "two may be idle");
    CHECK(far_end_is_closed(0) && !far_end_is_closed(1), "the oldest went, whatever its key");
    pool_release(p);
    close_far_ends();
}

static void test_the_reaper_closes_in_time(void) {
    pool *p = pool_new(8);
    call_options s = limited(8);
    connection *brief = open_one(p, &here, &s, 1), *lasting = open_one(p, &here, &s, 1);
    nanoseconds now = clock_now();
    give_back(p, lasting);
    pool_checkin(p, brief, now, now + 100 * MILLISECOND);
    CHECK(counts(p).idle == 2, "both lie idle");
    CHECK(wait_for_events(far_ends[0], POLLIN, SOON_MILLISECONDS), "the reaper comes");
    CHECK(far_end_is_closed(0) && !far_end_is_closed(1), "and closes what is due, alone");
    CHECK(milliseconds_since(now) >= 99, "not before its time");
    connection *out = NULL;
    pool_ticket w = {0};
    CHECK(pool_acquire(p, &here, &s, &w, &out) == POOL_CONNECTION && out == lasting,
          "the other is there");
    now = clock_now();
    pool_checkin(p, out, now, now);
    CHECK(counts(p).idle == 0, "one that may not lie idle at all is closed");
    pool_release(p);
    close_far_ends();
}

static void test_owners_close_their_own(void) {
    pool *p = pool_new(8);
    call_options s = limited(8);
    connection *mine = open_one(p, &here, &s, 1), *theirs = open_one(p, &here, &s, 2);
    give_back(p, mine);
    give_back(p, theirs);
    CHECK(pool_close_idle(p, 1) == 1 && far_end_is_closed(0) && !far_end_is_closed(1),
          "one owner's");
    CHECK(pool_close_idle(p, 0) == 1, "everyone's");
    pool_release(p);
    close_far_ends();

    p = pool_new(8);
    mine = open_one(p, &here, &s, 1);
    theirs = open_one(p, &here, &s, 2);
    CHECK(pool_close_idle(p, 1) == 0, "none is idle");
    give_back(p, mine);
    give_back(p, theirs);
    CHECK(far_end_is_closed(0) && !far_end_is_closed(1), "one that was in use, when it came back");
    pool_release(p);
    close_far_ends();
}

static void test_a_closed_pool_takes_no_calls(void) {
    pool *p = pool_new(8);
    call_options s = limited(1);
    connection *c = open_one(p, &here, &s, 1), *out = NULL;
    pool_ticket w = with_waker(), late = {0};
    CHECK(pool_acquire(p, &here, &s, &w, &out) == POOL_WAIT, "one waits");
    pool_close(p);
    CHECK(waker_clear(w.waker) && pool_turn(p, &w, &out) == POOL_CLOSED, "it is told");
    pool_cancel(p, &w);
    CHECK(pool_acquire(p, &here, &s, &late, &out) == POOL_CLOSED, "and so are others");
    give_back(p, c);
    CHECK(far_end_is_closed(0), "what comes back is closed");
    waker_drop(w.waker);
    pool_release(p);
    close_far_ends();
}

static void test_many_keys(void) {
    pool *p = pool_new(2000);
    call_options s = limited(1);
    char keys[500][16];
    pool_ticket w[500] = {0};
    for (int i = 0; i < 500; i++) {
        route r = here;
        connection *out = NULL;
        snprintf(keys[i], sizeof(keys[i]), "key %d", i);
        r.key = keys[i];
        r.key_length = (uint32_t)strlen(keys[i]);
        r.key_hash = (uint32_t)i * 16; /* many keys in one slot, until the table grows */
        CHECK(pool_acquire(p, &r, &s, &w[i], &out) == POOL_DIAL, "key %d has a place of its own",
              i);
    }
    for (int i = 0; i < 500; i++) pool_cancel(p, &w[i]);
    pool_release(p);
}

#define TURNS 2000

static void *take_and_give(void *argument) {
    pool *p = argument;
    call_options s = limited(2);
    waker *own = waker_take();
    for (int i = 0; i < TURNS; i++) {
        pool_ticket w = {.waker = own};
        connection *c = NULL;
        pool_result result = pool_acquire(p, &here, &s, &w, &c);
        while (result == POOL_WAIT) {
            wait_for_events(waker_descriptor(own), POLLIN, SOON_MILLISECONDS);
            waker_clear(own);
            result = pool_turn(p, &w, &c);
        }
        if (result != POOL_CONNECTION) return "no connection";
        if (__atomic_exchange_n(&c->owner_id, 99, __ATOMIC_ACQ_REL) == 99)
            return "two had it at once";
        __atomic_store_n(&c->owner_id, 1, __ATOMIC_RELEASE);
        give_back(p, c);
    }
    waker_drop(own);
    return NULL;
}

static void test_threads_never_share_a_connection(void) {
    pool *p = pool_new(8);
    call_options s = limited(2);
    connection *first = open_one(p, &here, &s, 1), *second = open_one(p, &here, &s, 1);
    give_back(p, first);
    give_back(p, second);
    pthread_t threads[6];
    for (int i = 0; i < 6; i++) pthread_create(&threads[i], NULL, take_and_give, p);
    for (int i = 0; i < 6; i++) {
        void *certificate_error = NULL;
        pthread_join(threads[i], &certificate_error);
        CHECK(certificate_error == NULL, "thread %d: %s", i, (char *)certificate_error);
    }
    CHECK(counts(p).reused == 6 * TURNS && counts(p).opened == 2, "every turn had one of the two");
    pool_release(p);
    close_far_ends();
}

static int in_the_child(pool *p, connection *used) {
    call_options s = limited(8);
    pool_ticket w = {0};
    connection *out = NULL;
    failure f;
    size_t count;
    char byte;
    if (counts(p).connections != 0 || counts(p).idle != 0) return 10;
    if (used->descriptor != -1) return 11;
    if (connection_read(used, &byte, 1, &count, &f) != IO_FAILED || f.code != FAILURE_FORKED)
        return 12;
    if (pool_acquire(p, &here, &s, &w, &out) != POOL_DIAL) return 13;
    pool_cancel(p, &w);
    pool_discard(p, used, true);
    return 0;
}

static void test_the_child_starts_empty_and_says_nothing(void) {
    pool *p = pool_new(8);
    call_options s = limited(8);
    connection *used = open_one(p, &here, &s, 1), *idle = open_one(p, &here, &s, 1), *out = NULL;
    give_back(p, idle);
    pid_t child = fork();
    if (child == 0) _exit(in_the_child(p, used));
    int status = child_status(child);
    CHECK(status == 0, "the child starts anew: %d", status);
    CHECK(!wait_for_events(far_ends[0], POLLIN, 0) && !wait_for_events(far_ends[1], POLLIN, 0),
          "the peers have heard nothing");
    pool_ticket w = {0};
    CHECK(pool_acquire(p, &here, &s, &w, &out) == POOL_CONNECTION && out == idle,
          "the parent goes on");
    pool_discard(p, out, false);
    pool_discard(p, used, false);
    pool_release(p);
    close_far_ends();
}

int main(void) {
    if (fork_guard() != 0) give_up("pthread_atfork");
    RUN(test_the_last_one_used_is_the_first_one_taken());
    RUN(test_keys_are_kept_apart());
    RUN(test_those_who_wait_are_served_in_their_order());
    RUN(test_nobody_jumps_the_queue());
    RUN(test_what_will_not_do_is_replaced());
    RUN(test_all_dial_when_a_connection_cannot_be_shared());
    RUN(test_one_dials_after_another_was_given_up());
    RUN(test_all_dial_when_one_has_failed());
    RUN(test_the_oldest_idle_ones_are_closed_beyond_the_limit());
    RUN(test_the_reaper_closes_in_time());
    RUN(test_owners_close_their_own());
    RUN(test_a_closed_pool_takes_no_calls());
    RUN(test_many_keys());
    RUN(test_threads_never_share_a_connection());
    RUN(test_the_child_starts_empty_and_says_nothing());
    return check_report();
}
