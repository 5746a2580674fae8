#include "reaper.h"

#include "transport/events/portable.h"

#include <signal.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static reaper_visit visit; /* written before the thread starts, and not while it runs */
static bool running;
static nanoseconds next_visit = NEVER; /* written under the lock, read without it as a hint */

static void sleep_until(nanoseconds when) {
    if (when == NEVER) {
        pthread_cond_wait(&changed, &lock);
        return;
    }
    portable_wait(&changed, &lock, when);
}

static void *reap(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    for (;;) {
        nanoseconds now = clock_now();
        if (next_visit > now) {
            sleep_until(next_visit);
            continue;
        }
        __atomic_store_n(&next_visit, NEVER, __ATOMIC_RELAXED);
        pthread_mutex_unlock(&lock);
        nanoseconds due = visit(now);
        pthread_mutex_lock(&lock);
        __atomic_store_n(&next_visit, clock_earlier(next_visit, due), __ATOMIC_RELAXED);
    }
    return NULL;
}

/* The caller holds the lock. If the thread cannot be started, idle connections are still limited in
 * number, and checked before they are used. */
static bool start(reaper_visit visitor) {
    visit = visitor;
    portable_condition(&changed);

    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&detached, 256 * 1024);
    pthread_t thread;
    running = pthread_create(&thread, &detached, reap, NULL) == 0;
    pthread_attr_destroy(&detached);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return running;
}

void reaper_expect(nanoseconds when, reaper_visit visitor) {
    if (__atomic_load_n(&next_visit, __ATOMIC_RELAXED) <= when) return;
    pthread_mutex_lock(&lock);
    if (next_visit > when) {
        __atomic_store_n(&next_visit, when, __ATOMIC_RELAXED);
        if (running)
            pthread_cond_signal(&changed);
        else if (!start(visitor))
            __atomic_store_n(&next_visit, NEVER, __ATOMIC_RELAXED); /* the next call tries again */
    }
    pthread_mutex_unlock(&lock);
}

void reaper_before_fork(void) {
    pthread_mutex_lock(&lock);
}

void reaper_after_fork(bool child) {
    if (child) {
        pthread_mutex_init(&lock, NULL);
        running = false;
        next_visit = NEVER;
        return;
    }
    pthread_mutex_unlock(&lock);
}
