#define _GNU_SOURCE
#include "transport/fork.h"
#include "transport/names/resolve.h"
#include "sockets.h"

#include <dirent.h>
#include <netdb.h>
#include <pthread.h>

/* The test's own resolver, in place of getaddrinfo: the name determines the result. */
static int lookups;
static int at_once, most_at_once;
static int delay_milliseconds;
static int blocked_signals;

static struct addrinfo *make_addrinfo(const char *address, int family) {
    struct addrinfo *a = calloc(1, sizeof(*a) + sizeof(struct sockaddr_in6));
    a->ai_family = family;
    a->ai_addr = (struct sockaddr *)(a + 1);
    a->ai_addr->sa_family = family;
    if (family == AF_INET) {
        inet_pton(family, address, &((struct sockaddr_in *)a->ai_addr)->sin_addr);
        a->ai_addrlen = sizeof(struct sockaddr_in);
    } else {
        inet_pton(family, address, &((struct sockaddr_in6 *)a->ai_addr)->sin6_addr);
        a->ai_addrlen = sizeof(struct sockaddr_in6);
    }
    return a;
}

static int find_addrinfos(const char *host, struct addrinfo **found) {
    if (strncmp(host, "unknown", 7) == 0) return EAI_NONAME;
    if (strncmp(host, "system", 6) == 0) {
        errno = EMFILE;
        return EAI_SYSTEM;
    }
    if (strncmp(host, "empty", 5) == 0) return 0;
    *found = make_addrinfo("::1", AF_INET6);
    (*found)->ai_next = make_addrinfo("127.0.0.1", AF_INET);
    return 0;
}

static void count_in(void) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    int now = __atomic_add_fetch(&at_once, 1, __ATOMIC_ACQ_REL);
    pthread_mutex_lock(&lock);
    most_at_once = now > most_at_once ? now : most_at_once;
    pthread_mutex_unlock(&lock);
}

static int look_up(const char *host, const char *service, const void *hints, void **result) {
    (void)service, (void)hints;
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    __atomic_store_n(&blocked_signals, sigismember(&mask, SIGINT) && sigismember(&mask, SIGVTALRM),
                     __ATOMIC_RELEASE);
    __atomic_add_fetch(&lookups, 1, __ATOMIC_ACQ_REL);
    count_in();
    sleep_milliseconds(__atomic_load_n(&delay_milliseconds, __ATOMIC_ACQUIRE));
    int code = find_addrinfos(host, (struct addrinfo **)result);
    int error = errno;
    __atomic_sub_fetch(&at_once, 1, __ATOMIC_ACQ_REL);
    errno = error;
    return code;
}

static void release(void *result) {
    for (struct addrinfo *a = result; a != NULL;) {
        struct addrinfo *next = a->ai_next;
        free(a);
        a = next;
    }
}

static void begin(int delay) {
    resolve_clear();
    resolve_set_lookup(look_up, release);
    __atomic_store_n(&lookups, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&delay_milliseconds, delay, __ATOMIC_RELEASE);
}

static int lookups_made(void) {
    return __atomic_load_n(&lookups, __ATOMIC_ACQUIRE);
}

/* Waits for the result like a driver. */
static io_result wait_for_result(resolution *r, waker *w, const endpoint **list, size_t *count,
                                 failure *f) {
    for (;;) {
        io_result result = resolve_result(r, list, count, f);
        if (result != IO_WAIT) return result;
        if (!wait_for_events(waker_descriptor(w), POLLIN, SOON_MILLISECONDS)) return IO_WAIT;
        waker_clear(w);
    }
}

static io_result ask(const char *host, failure *f) {
    const endpoint *list;
    size_t count;
    resolution *r;
    waker *w = waker_take();
    io_result result = resolve_start(host, 80, 0, w, &r, f);
    if (result == IO_WAIT) result = wait_for_result(r, w, &list, &count, f);
    resolve_release(r);
    waker_drop(w);
    return result;
}

static void check_literal(const char *host, int family) {
    const endpoint *list = NULL;
    size_t count = 0;
    resolution *r = NULL;
    failure f;
    waker *w = waker_take();
    CHECK(resolve_start(host, 8080, 0, w, &r, &f) == IO_DONE, "%s is answered at once", host);
    CHECK(resolve_result(r, &list, &count, &f) == IO_DONE && count == 1, "%s is one address", host);
    CHECK(list != NULL && list[0].address.ss_family == family, "%s has its family", host);
    CHECK(list != NULL && ((struct sockaddr_in *)&list[0].address)->sin_port == htons(8080),
          "%s has the port", host);
    resolve_release(r);
    waker_drop(w);
}

static void test_literals_need_no_look_up(void) {
    begin(0);
    check_literal("127.0.0.1", AF_INET);
    check_literal("::1", AF_INET6);
    check_literal("fe80::1%lo", AF_INET6);
    CHECK(lookups_made() == 0, "nobody was asked");
}

static void test_an_answer_keeps_its_order_and_gets_the_port(void) {
    const endpoint *list = NULL;
    size_t count = 0;
    resolution *r;
    failure f;
    waker *w = waker_take();
    begin(0);
    CHECK(resolve_start("two.test", 443, 0, w, &r, &f) == IO_WAIT, "a name is asked for");
    CHECK(wait_for_result(r, w, &list, &count, &f) == IO_DONE, "it is answered");
    CHECK(count == 2 && list[0].address.ss_family == AF_INET6, "the order is the resolver's");
    CHECK(count == 2 && ((struct sockaddr_in *)&list[1].address)->sin_port == htons(443),
          "the port is the caller's");
    CHECK(blocked_signals, "signals are blocked in the resolver's threads");
    resolve_release(r);
    CHECK(resolve_start("two.test", 80, 0, w, &r, &f) == IO_DONE, "the second time it is cached");
    resolve_result(r, &list, &count, &f);
    CHECK(((struct sockaddr_in *)&list[1].address)->sin_port == htons(80), "with its own port");
    CHECK(lookups_made() == 1, "and asked for once");
    resolve_release(r);
    resolve_forget("two.test");
    CHECK(ask("two.test", &f) == IO_DONE && lookups_made() == 2, "a forgotten name is asked anew");
    waker_drop(w);
}

static void test_many_callers_share_one_look_up(void) {
    resolution *all[20];
    waker *wakers[20];
    failure f;
    const endpoint *list;
    size_t count;
    begin(100);
    for (int i = 0; i < 20; i++) {
        wakers[i] = waker_take();
        resolve_start("shared.test", 80, 0, wakers[i], &all[i], &f);
    }
    bool all_resolved = true;
    for (int i = 0; i < 20; i++) {
        all_resolved =
            all_resolved && wait_for_result(all[i], wakers[i], &list, &count, &f) == IO_DONE;
        resolve_release(all[i]);
        waker_drop(wakers[i]);
    }
    CHECK(all_resolved, "every caller was woken and answered");
    CHECK(lookups_made() == 1, "one look-up for 20 callers, not %d", lookups_made());
}

static void test_failures_have_words_and_are_kept_for_a_moment(void) {
    failure f;
    begin(0);
    CHECK(ask("unknown.test", &f) == IO_FAILED, "an unknown name fails");
    CHECK(f.code == FAILURE_RESOLVE && f.phase == PHASE_RESOLVE, "as a failure to resolve");
    CHECK(strstr(f.detail, "unknown.test: ") != NULL && strlen(f.detail) > 14, "in words: %s",
          f.detail);
    CHECK(ask("unknown.test", &f) == IO_FAILED && lookups_made() == 1, "the failure is cached");
    sleep_milliseconds(1100);
    CHECK(ask("unknown.test", &f) == IO_FAILED && lookups_made() == 2, "for a second");
    CHECK(ask("system.test", &f) == IO_FAILED && f.system_error == EMFILE, "errno is told");
    CHECK(strstr(f.detail, strerror(EMFILE)) != NULL, "in words: %s", f.detail);
    CHECK(ask("system.test", &f) == IO_FAILED && lookups_made() == 4, "and is not cached");
    CHECK(ask("empty.test", &f) == IO_FAILED, "a name without addresses fails");
    CHECK(ask("", &f) == IO_FAILED && strstr(f.detail, "1 to 255") != NULL, "no name: %s",
          f.detail);
    char name[300];
    memset(name, 'a', 299);
    name[299] = '\0';
    CHECK(ask(name, &f) == IO_FAILED && strstr(f.detail, "299") != NULL, "too long: %s", f.detail);
}

static void test_a_caller_that_leaves_gives_its_answer_to_the_cache(void) {
    resolution *r;
    failure f;
    begin(100);
    waker *w = waker_take();
    CHECK(resolve_start("left.test", 80, 0, w, &r, &f) == IO_WAIT, "it is asked for");
    while (lookups_made() == 0) sleep_milliseconds(1);
    resolve_release(r);
    waker_drop(w);
    sleep_milliseconds(300);
    w = waker_take();
    CHECK(!waker_clear(w), "nobody wakes one who has left");
    CHECK(resolve_start("left.test", 80, 0, w, &r, &f) == IO_DONE, "the answer was kept");
    CHECK(lookups_made() == 1, "it was asked for once");
    resolve_release(r);
    waker_drop(w);
}

/* Returns 0 where /proc does not show the threads. */
static int threads_of_this_process(void) {
    DIR *tasks = opendir("/proc/self/task");
    int count = 0;
    if (tasks == NULL) return 0;
    while (readdir(tasks) != NULL) count++;
    closedir(tasks);
    return count;
}

static void test_names_are_looked_up_side_by_side(void) {
    resolution *all[30];
    waker *w = waker_take();
    failure f;
    char name[32];
    begin(60);
    most_at_once = 0;
    int before = threads_of_this_process();
    for (int i = 0; i < 30; i++) {
        snprintf(name, sizeof(name), "n%d.test", i);
        resolve_start(name, 80, 0, w, &all[i], &f);
    }
    const endpoint *list;
    size_t count;
    bool all_resolved = true;
    for (int i = 0; i < 30; i++) {
        all_resolved = all_resolved && wait_for_result(all[i], w, &list, &count, &f) == IO_DONE;
        resolve_release(all[i]);
    }
    CHECK(all_resolved && lookups_made() == 30, "all are answered");
    CHECK(most_at_once > 1 && most_at_once <= 30, "%d at once", most_at_once);
    int started = threads_of_this_process() - before;
    CHECK(started <= 30, "no more threads than names: %d", started);
    waker_drop(w);
}

static void test_the_cache_is_bounded(void) {
    failure f;
    char name[32];
    begin(0);
    for (int i = 0; i < 1100; i++) {
        snprintf(name, sizeof(name), "c%d.test", i);
        if (ask(name, &f) != IO_DONE) break;
    }
    int before = lookups_made();
    CHECK(before == 1100, "1100 names are asked for, not %d", before);
    ask("c1099.test", &f);
    CHECK(lookups_made() == before, "the newest is there");
    ask("c0.test", &f);
    CHECK(lookups_made() == before + 1, "the oldest is not");
}

static int in_child(resolution *of_parent) {
    failure f;
    const endpoint *list;
    size_t count;
    if (resolve_result(of_parent, &list, &count, &f) == IO_WAIT) return 1;
    resolve_release(of_parent);
    __atomic_store_n(&delay_milliseconds, 0, __ATOMIC_RELEASE);
    return ask("child.test", &f) == IO_DONE ? 0 : 2;
}

/* The fork waits 50 ms at most; a busy machine may add to that. */
static void fork_during(const char *host, int delay) {
    resolution *r;
    failure f;
    const endpoint *list;
    size_t count;
    waker *w = waker_take();
    begin(delay);
    resolve_start(host, 80, 0, w, &r, &f);
    while (lookups_made() == 0) sleep_milliseconds(1);
    nanoseconds start = clock_now();
    pid_t child = fork();
    if (child == 0) _exit(in_child(r));
    long waited = milliseconds_since(start);
    CHECK(waited <= 500, "%s: fork waited %ld ms", host, waited);
    CHECK(child_status(child) == 0, "%s: the child resolves", host);
    CHECK(wait_for_result(r, w, &list, &count, &f) == IO_DONE, "%s: the parent gets its answer",
          host);
    resolve_release(r);
    waker_drop(w);
}

static void test_fork_waits_a_moment_for_look_ups_that_have_just_begun(void) {
    fork_during("short.test", 30);
    fork_during("long.test", 2500);
}

static void test_an_answer_that_is_too_old_is_asked_for_anew(void) {
    resolution *r;
    failure f;
    waker *w = waker_take();
    begin(0);
    CHECK(ask("moved.test", &f) == IO_DONE && lookups_made() == 1, "it is asked for");
    sleep_milliseconds(120);
    CHECK(resolve_start("moved.test", 80, 60 * SECOND, w, &r, &f) == IO_DONE, "young enough");
    resolve_release(r);
    CHECK(resolve_start("moved.test", 80, 100 * MILLISECOND, w, &r, &f) == IO_WAIT, "too old");
    resolve_release(r);
    waker_drop(w);
}

static void test_localhost_by_the_system(void) {
    failure f;
    resolve_clear();
    resolve_set_lookup(NULL, NULL);
    CHECK(ask("localhost", &f) == IO_DONE, "localhost is known: %s", f.detail);
}

int main(void) {
    if (fork_guard() != 0) give_up("pthread_atfork");
    RUN(test_literals_need_no_look_up());
    RUN(test_an_answer_keeps_its_order_and_gets_the_port());
    RUN(test_many_callers_share_one_look_up());
    RUN(test_failures_have_words_and_are_kept_for_a_moment());
    RUN(test_a_caller_that_leaves_gives_its_answer_to_the_cache());
    RUN(test_names_are_looked_up_side_by_side());
    RUN(test_the_cache_is_bounded());
    RUN(test_fork_waits_a_moment_for_look_ups_that_have_just_begun());
    RUN(test_an_answer_that_is_too_old_is_asked_for_anew());
    RUN(test_localhost_by_the_system());
    return check_report();
}
