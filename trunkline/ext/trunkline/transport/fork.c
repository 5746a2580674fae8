#include "fork.h"

#include "protocol/budget.h"
#include "transport/pool/capacity.h"
#include "transport/events/descriptors.h"
#include "transport/exchange/exchange.h"
#include "transport/pool/reaper.h"
#include "transport/names/resolve.h"
#include "transport/tls/tls.h"
#include "transport/events/waker.h"

#include <pthread.h>
#include <stdbool.h>

/* Takes the locks in the order in which all code takes them: name look-ups, reaper, pools, free
 * list of exchanges, wakers, descriptors. */
static void before(void) {
    resolve_before_fork();
    reaper_before_fork();
    pool_before_fork();
    exchange_before_fork();
    waker_before_fork();
    descriptors_before_fork();
    tls_before_fork();
}

static void in_parent(void) {
    tls_after_fork(false);
    descriptors_after_fork(false);
    waker_after_fork(false);
    exchange_after_fork(false);
    pool_after_fork(false);
    reaper_after_fork(false);
    resolve_after_fork(false);
}

/* Closes the inherited descriptors first, so that nothing is sent on them; then each module starts
 * empty. Later calls, and not this function, free cached wakers and TLS sessions: most children
 * only call exec, and some allocators (ASan's) cannot be used in the child of a process with
 * threads. */
static void in_child(void) {
    descriptors_after_fork(true);
    waker_after_fork(true);
    capacity_forked();
    budget_forked();
    exchange_after_fork(true);
    pool_after_fork(true);
    reaper_after_fork(true);
    resolve_after_fork(true);
    tls_after_fork(true);
}

int fork_guard(void) {
    return pthread_atfork(before, in_parent, in_child);
}
