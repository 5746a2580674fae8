#include "transport/fork.h"
#include "transport/events/waker.h"
#include "sockets.h"

#include <pthread.h>
#include <sys/resource.h>

static bool readable(waker *w) {
    return wait_for_events(waker_descriptor(w), POLLIN, 0);
}

static void test_it_is_readable_until_cleared(void) {
    waker *w = waker_take();
    CHECK(!readable(w), "a new waker is quiet");
    CHECK(!waker_clear(w), "there is nothing to clear");
    waker_wake(w);
    waker_wake(w);
    CHECK(readable(w), "a woken waker is readable");
    CHECK(readable(w), "it stays so");
    CHECK(waker_clear(w), "it was woken");
    CHECK(!readable(w), "it is quiet again");
    CHECK(!waker_clear(w), "it was cleared");
    waker_wake(w);
    CHECK(readable(w) && waker_clear(w), "it can be woken again");
    waker_drop(w);
}

static void test_it_is_taken_from_the_free_list_and_cleared(void) {
    waker *first = waker_take();
    waker_wake(first);
    waker_drop(first);
    waker *second = waker_take();
    CHECK(second == first, "a dropped waker is taken again");
    CHECK(!readable(second) && !waker_clear(second), "and it is quiet");
    waker_drop(second);
}

static void test_the_last_reference_returns_it(void) {
    waker *w = waker_take();
    waker_keep(w);
    waker_drop(w);
    waker *other = waker_take();
    CHECK(other != w, "a waker that is kept is not given to others");
    waker_wake(w);
    CHECK(readable(w) && !readable(other), "wakers are apart");
    waker_drop(w);
    waker_drop(other);
    waker_drop(NULL);
}

static void test_many_more_than_the_free_list_holds(void) {
    waker *all[200];
    bool made = true;
    for (int i = 0; i < 200; i++) {
        all[i] = waker_take();
        made = made && all[i] != NULL;
    }
    CHECK(made, "200 wakers are made");
    int highest = waker_descriptor(all[199]);
    for (int i = 0; i < 200; i++) waker_drop(all[i]);
    int open_descriptors = 0;
    for (int i = 0; i <= highest; i++) open_descriptors += fcntl(i, F_GETFD) >= 0;
    CHECK(open_descriptors < 200, "those beyond the free list are closed, %d are open",
          open_descriptors);
}

static int descriptors_open(void) {
    int count = 0;
    for (int i = 0; i < 1024; i++) count += fcntl(i, F_GETFD) >= 0;
    return count;
}

static void test_it_is_opened_when_it_is_needed(void) {
    waker_close_unused();
    int before = descriptors_open();
    waker *quiet = waker_take_unopened(), *polled = waker_take_unopened(),
          *woken = waker_take_unopened();
    CHECK(!waker_clear(quiet), "there is nothing to clear");
    CHECK(descriptors_open() == before, "without a descriptor");
    CHECK(!readable(polled), "it is opened to be polled, and quiet");
    CHECK(descriptors_open() > before, "it has one now");
    waker_wake(polled);
    CHECK(readable(polled) && waker_clear(polled) && !readable(polled), "it works as any");
    waker_wake(woken);
    CHECK(readable(woken) && waker_clear(woken), "what was woken before is readable");
    waker_drop(quiet);
    waker_drop(polled);
    waker_drop(woken);
    waker *next = waker_take_unopened();
    CHECK(next == woken, "an open one is taken from the free list");
    waker_drop(next);
    waker_close_unused();
    CHECK(descriptors_open() == before, "all are closed");
}

static void test_without_a_descriptor_left(void) {
    struct rlimit limit;
    waker_close_unused();
    waker *w = waker_take_unopened();
    getrlimit(RLIMIT_NOFILE, &limit);
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, limit.rlim_max});
    CHECK(waker_descriptor(w) == -1, "there is none");
    waker_wake(w);
    CHECK(waker_descriptor(w) == -1, "to wake it does no harm");
    setrlimit(RLIMIT_NOFILE, &limit);
    CHECK(readable(w) && waker_clear(w),
          "what was woken meanwhile is readable as soon as there is");
    waker_drop(w);
}

#define ROUNDS 20000
static waker *shared;
static int turns;

static void *wake_in_turn(void *unused) {
    for (int i = 0; i < ROUNDS; i++) {
        __atomic_add_fetch(&turns, 1, __ATOMIC_RELEASE);
        waker_wake(shared);
        while (i % 2 == 0 && __atomic_load_n(&turns, __ATOMIC_ACQUIRE) > 0) {
        }
    }
    return unused;
}

/* Two threads wake, one clears: in any order, no turn may remain without a wake-up. */
static void test_no_wake_is_lost(void) {
    pthread_t threads[2];
    int seen = 0;
    bool lost = false;
    shared = waker_take();
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, wake_in_turn, NULL);
    while (seen < 2 * ROUNDS && !lost) {
        lost = !wait_for_events(waker_descriptor(shared), POLLIN, SOON_MILLISECONDS);
        waker_clear(shared);
        seen += __atomic_exchange_n(&turns, 0, __ATOMIC_ACQ_REL);
    }
    CHECK(!lost, "a wake was lost after %d of %d turns", seen, 2 * ROUNDS);
    for (int i = 0; i < 2 && !lost; i++) pthread_join(threads[i], NULL);
    waker_drop(shared);
}

static int in_child(waker *of_parent, int descriptor) {
    if (fcntl(descriptor, F_GETFD) != -1) return 1;
    waker *own = waker_take();
    waker_wake(own);
    if (!readable(own)) return 2;
    waker_wake(of_parent);
    if (!readable(of_parent) || !waker_clear(of_parent) || readable(of_parent)) return 3;
    descriptor = waker_descriptor(of_parent);
    waker_drop(own);
    waker_drop(of_parent);
    return fcntl(descriptor, F_GETFD) == -1 ? 4 : 0; /* dropping must not close the descriptor: it
                                                      * is kept for reuse */
}

static void test_a_child_does_not_share_wakers_with_its_parent(void) {
    waker *w = waker_take();
    waker *spare = waker_take();
    waker_drop(spare);
    int descriptor = waker_descriptor(w);
    pid_t child = fork();
    if (child == 0) _exit(in_child(w, descriptor));
    int status = child_status(child);
    CHECK(status == 0, "the child has wakers of its own, and closes its parent's (%d)", status);
    spare = waker_take();
    CHECK(!readable(w) && !readable(spare), "none of the parent's was woken");
    waker_wake(w);
    CHECK(readable(w), "they work as before");
    waker_drop(w);
    waker_drop(spare);
}

int main(void) {
    if (fork_guard() != 0) give_up("pthread_atfork");
    RUN(test_it_is_readable_until_cleared());
    RUN(test_it_is_taken_from_the_free_list_and_cleared());
    RUN(test_the_last_reference_returns_it());
    RUN(test_many_more_than_the_free_list_holds());
    RUN(test_it_is_opened_when_it_is_needed());
    RUN(test_without_a_descriptor_left());
    RUN(test_no_wake_is_lost());
    RUN(test_a_child_does_not_share_wakers_with_its_parent());
    return check_report();
}
