#include "transport/names/resolve_queue_internal.h"
#include "sockets.h"

/* The queue without any look-up; the test sets the time. */

static nanoseconds now = SECOND;

static lookup *name_of(const char *format, int number, bool known) {
    char host[64];
    snprintf(host, sizeof(host), format, number);
    return lookup_add(host, known);
}

static void queue_up(const char *format, int first, int count, bool known) {
    for (int i = first; i < first + count; i++) lookup_queue_add(name_of(format, i, known));
}

static bool is(const lookup *name, const char *host) {
    return name != NULL && strcmp(name->host, host) == 0;
}

/* Takes all look-ups that may start while the clock advances by `span`; returns their number. */
static int take_all(nanoseconds span) {
    int taken = 0;
    for (nanoseconds end = now + span;;) {
        nanoseconds when = NEVER;
        if (lookup_queue_take(now, &when) != NULL) {
            taken++;
        } else if (when > end) {
            now = end;
            return taken;
        } else {
            now = when;
        }
    }
}

static void drop_one(void *unused, lookup *name) {
    (void)unused;
    lookup_unlist(name);
}

/* Empties the queue, like in a child after fork. */
static void begin(void) {
    lookup_queue_reset();
    lookup_each(drop_one, NULL);
}

static void test_names_that_do_not_answer_leave_a_thread_for_the_next(void) {
    nanoseconds when = NEVER;
    begin();
    queue_up("d%d.dead.test", 0, 1000, false);
    CHECK(take_all(0) == RESOLVE_AT_ONCE, "some start at once");
    lookup_queue_add(name_of("good.dead.test", 0, false));
    CHECK(lookup_queue_take(now, &when) == NULL, "then they are spaced out");
    CHECK(when - now <= RESOLVE_PACE, "the next one's turn is soon");
    now = when;
    CHECK(is(lookup_queue_take(now, &when), "good.dead.test"), "and the newest one's");
    int spaced = take_all(SECOND);
    CHECK(spaced == SECOND / RESOLVE_PACE, "%d more in a second", spaced);
}

static void test_a_domain_never_has_all_threads(void) {
    nanoseconds when = NEVER;
    begin();
    queue_up("d%d.dead.test", 0, 1000, false);
    int taken = take_all(60 * SECOND);
    CHECK(taken == RESOLVE_MAX_DOMAIN, "one domain has %d threads", taken);
    lookup_queue_add(name_of("other.test", 0, false));
    CHECK(is(lookup_queue_take(now, &when), "other.test"), "another one's name starts at once");
    queue_up("e%d.dead2.test", 0, 1000, false);
    taken += 1 + take_all(60 * SECOND);
    CHECK(taken == RESOLVE_MAX_UNKNOWN, "all domains of unknown names have %d", taken);
    lookup_queue_add(name_of("known.test", 0, true));
    CHECK(is(lookup_queue_take(now, &when), "known.test"), "a known name starts all the same");
    queue_up("k%d.known.test", 0, 1000, true);
    taken += 1 + take_all(60 * SECOND);
    CHECK(taken == RESOLVE_MAX_THREADS, "there are %d threads for all", taken);
    CHECK(lookup_queue_running() == RESOLVE_MAX_THREADS, "and so many run");
}

static void test_domains_take_turns(void) {
    nanoseconds when = NEVER;
    begin();
    queue_up("a%d.one.test", 1, 2, false);
    lookup_queue_add(name_of("b.two.test", 0, false));
    lookup_queue_add(name_of("localhost", 0, false));
    CHECK(is(lookup_queue_take(now, &when), "a2.one.test"), "the newest of the first domain");
    CHECK(is(lookup_queue_take(now, &when), "b.two.test"), "the second domain");
    CHECK(is(lookup_queue_take(now, &when), "localhost"), "the third, which is a name alone");
    CHECK(is(lookup_queue_take(now, &when), "a1.one.test"), "the first again");
    CHECK(lookup_queue_take(now, &when) == NULL && when == NEVER, "and that was all");
}

static void test_each_fourth_turn_is_the_oldest_names(void) {
    nanoseconds when = NEVER;
    begin();
    queue_up("n%d.dead.test", 1, 6, false);
    const char *const order[] = {"n6.dead.test", "n5.dead.test", "n4.dead.test",
                                 "n1.dead.test", "n3.dead.test", "n2.dead.test"};
    for (int i = 0; i < 6; i++) {
        const lookup *name = lookup_queue_take(now, &when);
        CHECK(is(name, order[i]), "%s is taken, not %s", order[i], name ? name->host : "none");
    }
}

static void test_a_finished_look_up_makes_room(void) {
    nanoseconds when = NEVER;
    begin();
    queue_up("d%d.dead.test", 0, RESOLVE_AT_ONCE + 1, false);
    lookup *running = lookup_queue_take(now, &when);
    CHECK(take_all(0) == RESOLVE_AT_ONCE - 1, "all but one start");
    lookup_queue_finished(running);
    CHECK(lookup_queue_take(now, &when) != NULL, "one has finished, and the last starts at once");
    CHECK(lookup_queue_running() == RESOLVE_AT_ONCE, "so many run");
}

static void test_who_leaves_and_who_is_one_too_many(void) {
    nanoseconds when = NEVER;
    begin();
    lookup *first = name_of("x%d.one.test", 1, false), *second = name_of("x%d.one.test", 2, false),
           *alone = name_of("alone.test", 0, false);
    lookup_queue_add(first);
    lookup_queue_add(second);
    lookup_queue_add(alone);
    CHECK(lookup_queue_surplus(second) == first, "the oldest of the newcomer's domain goes");
    CHECK(lookup_queue_surplus(alone) == first, "or of another, when it is alone in its own");
    lookup_queue_remove(first);
    CHECK(lookup_queue_length() == 2, "one has left");
    CHECK(is(lookup_queue_take(now, &when), "x2.one.test"), "and is not taken");
    lookup_queue_remove(alone);
    CHECK(lookup_queue_length() == 0 && lookup_queue_take(now, &when) == NULL, "none is left");
    begin();
}

int main(void) {
    RUN(test_names_that_do_not_answer_leave_a_thread_for_the_next());
    RUN(test_a_domain_never_has_all_threads());
    RUN(test_domains_take_turns());
    RUN(test_each_fourth_turn_is_the_oldest_names());
    RUN(test_a_finished_look_up_makes_room());
    RUN(test_who_leaves_and_who_is_one_too_many());
    return check_report();
}
