#define _GNU_SOURCE
#include "transport/names/resolve.h"
#include "transport/names/resolve_queue_internal.h"
#include "sockets.h"

#include <netdb.h>
#include <pthread.h>

/* Look-ups that do not end ("dead...", until the test permits it), at the same time as look-ups
 * that succeed. */

#define DEAD 8000

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
static bool silent;
static int lookups, at_once, most_at_once;

static struct addrinfo *loopback(void) {
    struct addrinfo *a = calloc(1, sizeof(*a) + sizeof(struct sockaddr_in));
    a->ai_family = AF_INET;
    a->ai_addr = (struct sockaddr *)(a + 1);
    a->ai_addr->sa_family = AF_INET;
    a->ai_addrlen = sizeof(struct sockaddr_in);
    return a;
}

static int look_up(const char *host, const char *service, const void *hints, void **result) {
    (void)service, (void)hints;
    bool dead = strncmp(host, "dead", 4) == 0;
    pthread_mutex_lock(&gate);
    lookups++;
    at_once++;
    most_at_once = at_once > most_at_once ? at_once : most_at_once;
    while (dead && silent) pthread_cond_wait(&opened, &gate);
    at_once--;
    pthread_mutex_unlock(&gate);
    *result = dead ? NULL : loopback();
    return dead ? EAI_AGAIN : 0;
}

static void release(void *result) {
    free(result);
}

static void keep_silent(void) {
    resolve_set_lookup(look_up, release);
    resolve_clear();
    pthread_mutex_lock(&gate);
    silent = true;
    lookups = most_at_once = 0;
    pthread_mutex_unlock(&gate);
}

/* Ends every running look-up; later look-ups end at once. */
static void speak(void) {
    pthread_mutex_lock(&gate);
    silent = false;
    pthread_cond_broadcast(&opened);
    while (at_once > 0) {
        pthread_mutex_unlock(&gate);
        sleep_milliseconds(1);
        pthread_mutex_lock(&gate);
    }
    pthread_mutex_unlock(&gate);
}

static int lookups_made(void) {
    pthread_mutex_lock(&gate);
    int times = lookups;
    pthread_mutex_unlock(&gate);
    return times;
}

static resolution *all[DEAD];
static waker *shared;

/* Returns how many of the look-ups failed at once. */
static int ask_for_dead_ones(const char *format, int count) {
    int failed = 0;
    for (int i = 0; i < count; i++) {
        char host[64];
        failure f;
        snprintf(host, sizeof(host), format, i);
        failed += resolve_start(host, 80, 0, shared, &all[i], &f) == IO_FAILED;
    }
    return failed;
}

static void leave_all(int count) {
    for (int i = 0; i < count; i++) {
        resolve_release(all[i]);
        all[i] = NULL;
    }
}

/* Returns whether the name is resolved while the look-ups of the others have not ended. */
static bool resolves(const char *host) {
    resolution *r;
    failure f;
    const endpoint *list;
    size_t count;
    waker *w = waker_take();
    io_result result = resolve_start(host, 80, 0, w, &r, &f);
    while (result == IO_WAIT) {
        if (!wait_for_events(waker_descriptor(w), POLLIN, SOON_MILLISECONDS)) break;
        waker_clear(w);
        result = resolve_result(r, &list, &count, &f);
    }
    resolve_release(r);
    waker_drop(w);
    return result == IO_DONE;
}

static void test_dead_names_hold_up_no_good_one(int count) {
    keep_silent();
    ask_for_dead_ones("dead%d.test", count);
    nanoseconds start = clock_now();
    CHECK(resolves("other"), "%d dead ones: a good name of another domain is answered", count);
    CHECK(resolves("good.test"), "%d dead ones: a good name beside them is answered", count);
    printf("%d dead names: two good ones took %ld ms\n", count, milliseconds_since(start));
    leave_all(count);
    speak();
}

static void test_a_name_leaves_the_queue_with_its_last_caller(void) {
    resolution *twice;
    failure f;
    keep_silent();
    ask_for_dead_ones("dead-left%d.test", DEAD / 2);
    resolve_start("dead-left50.test", 80, 0, shared, &twice, &f);
    leave_all(DEAD / 2);
    CHECK(lookups_made() < DEAD / 4, "%d look-ups were begun", lookups_made());
    sleep_milliseconds(100); /* a thread may have taken a name before its callers left */
    int before = lookups_made();
    speak();
    CHECK(resolves("after.left.test"), "a name is answered");
    sleep_milliseconds(100);
    CHECK(lookups_made() <= before + 2, "of those whose callers left none was begun, but %d were",
          lookups_made() - before - 1);
    const endpoint *list;
    size_t count;
    CHECK(resolve_result(twice, &list, &count, &f) == IO_FAILED, "who stayed was answered");
    resolve_release(twice);
}

static void test_queue_and_threads_are_bounded(void) {
    failure f = {0};
    const endpoint *list;
    size_t count;
    int given_up = 0;
    keep_silent();
    ask_for_dead_ones("dead-bound%d.test", DEAD);
    for (int i = 0; i < DEAD; i++)
        given_up += resolve_result(all[i], &list, &count, &f) == IO_FAILED;
    CHECK(given_up >= DEAD - RESOLVE_MAX_QUEUED - RESOLVE_MAX_THREADS && given_up < DEAD / 2,
          "%d were given up", given_up);
    for (int i = 0; i < DEAD && f.code == FAILURE_NONE; i++)
        resolve_result(all[i], &list, &count, &f);
    CHECK(f.code == FAILURE_RESOLVE && strstr(f.detail, "more than 4096 names wait") != NULL,
          "in words: %s", f.detail);
    pthread_mutex_lock(&gate);
    CHECK(most_at_once <= RESOLVE_MAX_THREADS, "%d threads", most_at_once);
    pthread_mutex_unlock(&gate);
    leave_all(DEAD);
    speak();
}

int main(void) {
    shared = waker_take();
    RUN(test_dead_names_hold_up_no_good_one(24));
    RUN(test_dead_names_hold_up_no_good_one(400));
    RUN(test_dead_names_hold_up_no_good_one(DEAD));
    RUN(test_a_name_leaves_the_queue_with_its_last_caller());
    RUN(test_queue_and_threads_are_bounded());
    waker_drop(shared);
    return check_report();
}
