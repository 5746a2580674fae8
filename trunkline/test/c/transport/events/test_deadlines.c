#include "check.h"
#include "transport/events/deadlines.h"

#define COUNT 100

static deadline all[COUNT];

/* Adds COUNT deadlines, in an order that is not that of their times (1 to COUNT). */
static void add_all(deadlines *d) {
    for (int i = 0; i < COUNT; i++) {
        all[i] = (deadline){.when = i * 37 % COUNT + 1, .index = -1};
        CHECK(deadlines_set(d, &all[i]), "no memory");
    }
}

static void test_the_soonest_is_first(void) {
    deadlines d = {0};
    add_all(&d);
    CHECK(deadlines_next(&d) == 1, "next: %lld", (long long)deadlines_next(&d));
    CHECK(deadlines_expired(&d, 0) == NULL, "one is over before its time");
    for (nanoseconds now = 1; now <= COUNT; now++) {
        deadline *one = deadlines_expired(&d, now);
        CHECK(one != NULL && one->when == now && one->index == -1, "at %lld", (long long)now);
        CHECK(deadlines_expired(&d, now) == NULL, "two at %lld", (long long)now);
    }
    CHECK(deadlines_next(&d) == NEVER, "one is left");
    deadlines_free(&d);
}

/* A later time takes effect without deadlines_set, a sooner one with it. */
static void test_moved_deadlines(void) {
    static const struct {
        const char *title;
        nanoseconds when;
        bool set;
        nanoseconds over_at; /* 0: never, up to COUNT */
    } rows[] = {
        {"later", 90, false, 90},
        {"later, and set", 90, true, 90},
        {"sooner, and set", 5, true, 5},
        {"to NEVER", NEVER, false, 0},
        {"to NEVER, and set", NEVER, true, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        check_case("%s", rows[i].title);
        deadlines d = {0};
        add_all(&d);
        deadline moved = {.when = 50, .index = -1};
        CHECK(deadlines_set(&d, &moved), "no memory");
        moved.when = rows[i].when;
        if (rows[i].set) CHECK(deadlines_set(&d, &moved), "no memory");
        nanoseconds over_at = 0;
        int over = 0;
        for (nanoseconds now = 1; now <= COUNT; now++) {
            for (deadline *one; (one = deadlines_expired(&d, now)) != NULL; over++)
                if (one == &moved) over_at = now;
        }
        CHECK(over_at == rows[i].over_at, "over at %lld", (long long)over_at);
        CHECK(over == COUNT + (rows[i].over_at > 0), "%d are over", over);
        deadlines_free(&d);
    }
}

static void test_removed_deadlines(void) {
    deadlines d = {0};
    add_all(&d);
    for (int i = 0; i < COUNT; i += 2) deadlines_remove(&d, &all[i]);
    deadlines_remove(&d, &all[0]);
    CHECK(d.count == COUNT / 2, "%d are left", d.count);
    nanoseconds before = 0;
    int over = 0;
    for (deadline *one; (one = deadlines_expired(&d, COUNT)) != NULL; over++) {
        CHECK((one - all) % 2 == 1 && one->when > before, "%lld", (long long)one->when);
        before = one->when;
    }
    CHECK(over == COUNT / 2, "%d are over", over);
    deadlines_free(&d);
}

static void test_never(void) {
    deadlines d = {0};
    deadline never = {.when = NEVER, .index = -1};
    CHECK(deadlines_set(&d, &never) && never.index == -1, "it is not in the heap");
    CHECK(deadlines_next(&d) == NEVER, "there is none");
    deadlines_free(&d);
}

int main(void) {
    RUN(test_the_soonest_is_first());
    RUN(test_moved_deadlines());
    RUN(test_removed_deadlines());
    RUN(test_never());
    return check_report();
}
