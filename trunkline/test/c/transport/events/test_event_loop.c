#define _GNU_SOURCE
#include "transport/events/event_loop.h"
#include "sockets.h"

#include <fcntl.h>
#include <pthread.h>

/* Events that a loop reports, and events of descriptors that are in epoll but have no watcher. */

#define ID 7

static event_loop *told_by;
static int ours, theirs;
static int watcher; /* its address identifies the watcher */

static bool watch(void) {
    return event_loop_watch(told_by, ours, ID, POLLIN, &watcher);
}

static void set_up(void) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) != 0) give_up("socketpair");
    ours = ends[0];
    theirs = ends[1];
    told_by = event_loop_new();
    watch();
}

static void tear_down(void) {
    event_loop_free(told_by);
    close(ours);
    close(theirs);
}

/* Returns whether the watcher, and nothing else, gets an event without waiting. */
static bool reported(void) {
    void *user_data[4];
    int count = event_loop_wait(told_by, 0, user_data, 4);
    return count == 1 && user_data[0] == &watcher;
}

static void send_byte(void) {
    if (send(theirs, "x", 1, MSG_NOSIGNAL) != 1) give_up("send");
}

static void read_all(void) {
    char bytes[16];
    while (recv(ours, bytes, sizeof(bytes), 0) > 0) {
    }
}

static void leave_alone(void) {
    reported();
    event_loop_ignore(told_by, ours, &watcher);
}

static bool quiet(void) {
    return event_loop_quiet(told_by, ours, ID, clock_now());
}

static void test_an_edge_is_told_of_once_and_the_next_again(void) {
    set_up();
    reported(); /* consumes the event that the socket is writable */
    send_byte();
    CHECK(reported(), "a byte is told of");
    send_byte();
    CHECK(reported(), "and another, though the first was not read");
    tear_down();
}

static void test_an_end_is_told_of_until_nobody_watches(void) {
    set_up();
    send_byte();
    shutdown(theirs, SHUT_WR);
    CHECK(reported(), "a byte and the end behind it");
    watch();
    CHECK(reported(), "who read the byte alone is told of the end");
    tear_down();
}

static void test_bytes_that_were_read_leave_it_quiet(void) {
    set_up();
    leave_alone();
    send_byte();
    read_all();
    CHECK(!reported() && quiet(), "nothing is there any more");
    watch();
    send_byte();
    CHECK(reported(), "who watches it again is told");
    tear_down();
}

static void test_bytes_that_lie_there_are_not_quiet(void) {
    set_up();
    leave_alone();
    send_byte();
    CHECK(!reported() && !quiet(), "a byte that nobody asked for");
    watch();
    CHECK(reported(), "who watches it then is told");
    tear_down();
}

static void test_its_end_is_not_quiet(void) {
    set_up();
    leave_alone();
    shutdown(theirs, SHUT_WR);
    CHECK(!reported() && !quiet(), "its end");
    tear_down();
}

static void test_a_look_does_not_hold_for_long(void) {
    set_up();
    leave_alone();
    reported();
    CHECK(quiet(), "right after it");
    CHECK(!event_loop_quiet(told_by, ours, ID, clock_now() + MILLISECOND), "a millisecond later");
    tear_down();
}

/* More events may have occurred than the wait could return. */
static void test_a_look_that_took_not_all_events_does_not_count(void) {
    set_up();
    leave_alone();
    event_loop_watch(told_by, theirs, ID + 1, POLLIN, &watcher);
    void *user_data[1];
    int count = event_loop_wait(told_by, 0, user_data, 1);
    CHECK(count == 1 && !quiet(), "one event of as many as there was room for");
    tear_down();
}

/* Another driver may use the connection and read its data each time: then the loop must not trust
 * its own record of it. */
static void test_what_is_read_by_others_is_forgotten(void) {
    set_up();
    leave_alone();
    for (int times = 0; times < 2; times++) {
        send_byte();
        read_all();
        reported();
    }
    CHECK(!quiet(), "it was told of twice for nobody");
    send_byte();
    CHECK(watch() && reported(), "it can be watched again");
    tear_down();
}

static void *send_later(void *unused) {
    (void)unused;
    usleep(300 * 1000);
    send_byte();
    return NULL;
}

/* As a count of nanoseconds this wait would overflow an int. */
static void test_a_long_wait_lasts_until_something_comes(void) {
    set_up();
    reported();
    event_loop_watch(told_by, ours, 0, POLLIN, &watcher); /* once, to drop the watch for being
                                                           * writable */
    reported();
    event_loop_watch(told_by, ours, 0, POLLIN, &watcher);
    pthread_t sender;
    if (pthread_create(&sender, NULL, send_later, NULL) != 0) give_up("pthread_create");
    void *user_data[4];
    int count = event_loop_wait(told_by, clock_now() + 4400 * MILLISECOND, user_data, 4);
    CHECK(count == 1 && user_data[0] == &watcher, "what came after 0.3 s of 4.4 s is told of");
    pthread_join(sender, NULL);
    tear_down();
}

static void test_milliseconds_are_rounded_up_and_bounded(void) {
    CHECK(clock_milliseconds(NEVER) == -1, "without end");
    CHECK(clock_milliseconds(0) == 0 && clock_milliseconds(-5 * SECOND) == 0, "not at all");
    CHECK(clock_milliseconds(1) == 1, "no wait is cut to none");
    CHECK(clock_milliseconds(3 * SECOND) == 3000, "three seconds");
    CHECK(clock_milliseconds(3 * SECOND + 1) == 3001, "and a little more");
    CHECK(clock_milliseconds(NEVER - 1) == INT32_MAX, "300 years");
}

static void test_one_time_watches_are_told_of_once(void) {
    set_up();
    event_loop_watch(told_by, ours, 0, POLLIN, &watcher);
    send_byte();
    CHECK(reported(), "a byte is told of");
    CHECK(!reported(), "and no more, though it is there still");
    tear_down();
}

/* epoll refuses to watch regular files. */
static void test_what_cannot_be_watched_is_refused_each_time(void) {
    event_loop *l = event_loop_new();
    int file = open("/proc/self/exe", O_RDONLY);
    CHECK(!event_loop_watch(l, file, ID, POLLIN, &watcher), "a file cannot be watched");
    CHECK(!event_loop_watch(l, file, ID, POLLIN, &watcher), "nor when it is tried again");
    close(file);
    event_loop_free(l);
}

static void test_edges(void) {
    test_an_edge_is_told_of_once_and_the_next_again();
    test_an_end_is_told_of_until_nobody_watches();
    test_bytes_that_were_read_leave_it_quiet();
    test_bytes_that_lie_there_are_not_quiet();
    test_its_end_is_not_quiet();
    test_a_look_does_not_hold_for_long();
    test_a_look_that_took_not_all_events_does_not_count();
    test_what_is_read_by_others_is_forgotten();
    test_what_cannot_be_watched_is_refused_each_time();
}

int main(void) {
    RUN(test_a_long_wait_lasts_until_something_comes());
    RUN(test_milliseconds_are_rounded_up_and_bounded());
    RUN(test_one_time_watches_are_told_of_once());
    event_loop *l = event_loop_new();
    bool epoll = event_loop_descriptor(l) >= 0;
    event_loop_free(l);
    if (epoll) RUN(test_edges());
    return check_report();
}
