#define _GNU_SOURCE
#include "transport/events/portable.h"
#include "sockets.h"

/* Functions that wrap differences between systems must behave the same on each. */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition;
static bool signalled;

static void *signal_later(void *unused) {
    (void)unused;
    usleep(100 * 1000);
    pthread_mutex_lock(&lock);
    signalled = true;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void test_a_condition_waits_until_its_time_is_over(void) {
    portable_condition(&condition);
    pthread_mutex_lock(&lock);
    nanoseconds until = clock_now() + 1200 * MILLISECOND; /* longer than one wait of the
                                                           * implementation */
    while (portable_wait(&condition, &lock, until)) {
    }
    CHECK(clock_now() >= until, "not before");
    CHECK(!portable_wait(&condition, &lock, clock_now() - SECOND), "of what was, nothing is left");
    pthread_mutex_unlock(&lock);
}

static void test_a_condition_is_signalled(void) {
    portable_condition(&condition);
    pthread_t thread;
    pthread_mutex_lock(&lock);
    if (pthread_create(&thread, NULL, signal_later, NULL) != 0) give_up("pthread_create");
    nanoseconds until = clock_now() + 20 * SECOND;
    while (!signalled && portable_wait(&condition, &lock, until)) {
    }
    CHECK(signalled && clock_now() < until, "who is signalled does not wait any longer");
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
}

static bool quiet(int descriptor) {
    return (fcntl(descriptor, F_GETFD) & FD_CLOEXEC) && (fcntl(descriptor, F_GETFL) & O_NONBLOCK);
}

static void test_descriptors_neither_block_nor_outlive_an_exec(void) {
    int ends[2], socket = portable_socket(AF_INET);
    if (!portable_pipe(ends)) give_up("pipe");
    CHECK(socket >= 0 && quiet(socket), "a socket");
    CHECK(quiet(ends[0]) && quiet(ends[1]), "both ends of a pipe");
    struct pollfd entry = {.fd = ends[0], .events = POLLIN};
    nanoseconds began = clock_now();
    CHECK(portable_poll(&entry, 1, 100 * MILLISECOND) == 0, "nothing comes");
    CHECK(clock_now() - began >= 100 * MILLISECOND, "for as long as was asked");
    CHECK(write(ends[1], "x", 1) == 1 && portable_poll(&entry, 1, NEVER) == 1, "then it does");
    close(socket);
    close(ends[0]);
    close(ends[1]);
}

int main(void) {
    RUN(test_a_condition_waits_until_its_time_is_over());
    RUN(test_a_condition_is_signalled());
    RUN(test_descriptors_neither_block_nor_outlive_an_exec());
    return check_report();
}
