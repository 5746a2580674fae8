#include "tls_internal.h"

#include "transport/events/clock.h"

#include <pthread.h>
#include <sched.h>

/*
 * A fork while another thread is inside OpenSSL would leave OpenSSL's locks locked in the child. So
 * threads count when they enter and leave OpenSSL; before a fork no more may enter, and the fork
 * waits for those inside, which only compute. There are several counters, so that threads do not
 * contend for one.
 */
#define COUNTERS 16
#define PAUSE (50 * 1000) /* nanoseconds between two checks */
#define YIELDS 20         /* checks before the first pause */

static struct {
    unsigned inside; /* atomic */
    char padding[60];
} counters[COUNTERS];
static unsigned next_counter;
static bool closed;  /* atomic; a fork is under way */
static bool drained; /* no thread was inside at the fork */
static bool refused; /* in a child: a thread was inside, so that TLS cannot be used */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t reopened = PTHREAD_COND_INITIALIZER;

/* The state of each thread. */
static __thread struct {
    unsigned depth;    /* number of nested tls_enter calls */
    unsigned *counter; /* one of the counters; NULL: none yet */
} own;

static unsigned *choose_counter(void) {
    unsigned number = __atomic_add_fetch(&next_counter, 1, __ATOMIC_RELAXED);
    return own.counter = &counters[number % COUNTERS].inside;
}

static void wait_until_reopened(void) {
    pthread_mutex_lock(&lock);
    while (__atomic_load_n(&closed, __ATOMIC_SEQ_CST)) pthread_cond_wait(&reopened, &lock);
    pthread_mutex_unlock(&lock);
}

void tls_enter(void) {
    if (own.depth++ > 0) return;
    unsigned *counter = own.counter != NULL ? own.counter : choose_counter();
    /* This function counts first and then reads `closed`; tls_before_fork sets `closed` first and
     * then reads the counters. */
    while (__atomic_add_fetch(counter, 1, __ATOMIC_SEQ_CST),
           __atomic_load_n(&closed, __ATOMIC_SEQ_CST)) {
        __atomic_sub_fetch(counter, 1, __ATOMIC_SEQ_CST);
        wait_until_reopened();
    }
}

void tls_leave(void) {
    if (--own.depth == 0) __atomic_sub_fetch(own.counter, 1, __ATOMIC_RELEASE);
}

bool tls_refused(failure *f) {
    if (!refused) return false;
    failure_set(f, FAILURE_TLS, PHASE_TLS, 0,
                "this process was forked while another thread was inside OpenSSL for more than "
                "%d ms, and cannot use TLS: fork it anew",
                (int)(TLS_FORK_TIMEOUT / MILLISECOND));
    return true;
}

static bool nobody_inside(void) {
    unsigned inside = 0;
    for (int i = 0; i < COUNTERS; i++)
        inside += __atomic_load_n(&counters[i].inside, __ATOMIC_SEQ_CST);
    return inside == 0;
}

void tls_before_fork(void) {
    const struct timespec pause = {.tv_nsec = PAUSE};
    pthread_mutex_lock(&lock);
    __atomic_store_n(&closed, true, __ATOMIC_SEQ_CST);
    nanoseconds deadline = clock_after(clock_now(), TLS_FORK_TIMEOUT);
    for (int checks = 0; !(drained = nobody_inside()) && clock_now() < deadline; checks++)
        if (checks < YIELDS)
            sched_yield();
        else
            nanosleep(&pause, NULL);
}

void tls_after_fork(bool child) {
    if (child) {
        refused |= !drained;
        for (int i = 0; i < COUNTERS; i++) counters[i].inside = 0;
        pthread_mutex_init(&lock, NULL);
        pthread_cond_init(&reopened, NULL);
        closed = false;
        if (!refused) tls_session_forget_all();
        return;
    }
    __atomic_store_n(&closed, false, __ATOMIC_SEQ_CST);
    pthread_cond_broadcast(&reopened);
    pthread_mutex_unlock(&lock);
}
