#include "capacity.h"

#include "protocol/guard.h"

#include <pthread.h>
#include <sys/resource.h>

#define LEAST 16 /* the default's lower bound, however few descriptors there are */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t most;   /* atomic; 0: not known yet */
static uint32_t used;   /* atomic; includes slots that are granted and not taken yet */
static uint32_t length; /* length of ->queue; atomic, changed under the lock */
static list queue;      /* claims; guarded by the lock */

static uint32_t by_descriptors(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT32_MAX;
    rlim_t half = limit.rlim_cur / 2;
    return half < LEAST ? LEAST : half > UINT32_MAX ? UINT32_MAX : (uint32_t)half;
}

uint32_t capacity_limit(void) {
    uint32_t known = __atomic_load_n(&most, __ATOMIC_SEQ_CST);
    if (known == 0) {
        uint32_t usual = by_descriptors();
        if (__atomic_compare_exchange_n(&most, &known, usual, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST))
            known = usual;
    }
    return known;
}

uint32_t capacity_used(void) {
    return __atomic_load_n(&used, __ATOMIC_SEQ_CST);
}

static bool take_one(void) {
    uint32_t limit = capacity_limit();
    uint32_t seen = __atomic_load_n(&used, __ATOMIC_SEQ_CST);
    while (seen < limit || !GUARD(MAX_CONNECTIONS))
        if (__atomic_compare_exchange_n(&used, &seen, seen + 1, true, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST))
            return true;
    return false;
}

/* ---- the queue; the caller holds the lock ---- */

static claim_state state_of(const capacity_claim *c) {
    return __atomic_load_n(&c->state, __ATOMIC_ACQUIRE);
}

static void set_state(capacity_claim *c, claim_state state) {
    __atomic_store_n(&c->state, state, __ATOMIC_RELEASE);
}

static void enqueue(capacity_claim *c) {
    set_state(c, CLAIM_WAITING);
    list_append(&queue, &c->node);
    __atomic_add_fetch(&length, 1, __ATOMIC_SEQ_CST);
}

static void dequeue(capacity_claim *c, claim_state state) {
    list_remove(&queue, &c->node);
    __atomic_sub_fetch(&length, 1, __ATOMIC_SEQ_CST);
    set_state(c, state);
}

static void serve_queue(void) {
    LIST_EACH (capacity_claim, c, &queue, node) {
        if (!waker_away(c->waker)) {
            if (!take_one()) return;
            dequeue(c, CLAIM_GRANTED);
        }
        waker_wake(c->waker);
    }
}

/* ---- public functions ---- */

/* capacity_release checks the queue after it has released the slot; this function checks for a slot
 * after it has joined the queue: one of the two sees the other's change. */
bool capacity_take(capacity_claim *c, waker *w) {
    if (state_of(c) == CLAIM_NONE && take_one()) return true;
    pthread_mutex_lock(&lock);
    c->waker = w;
    if (state_of(c) == CLAIM_NONE) enqueue(c);
    bool taken = state_of(c) == CLAIM_GRANTED;
    if (taken) {
        set_state(c, CLAIM_NONE);
    } else if (take_one()) {
        taken = true;
        dequeue(c, CLAIM_NONE);
    }
    pthread_mutex_unlock(&lock);
    return taken;
}

bool capacity_granted(const capacity_claim *c) {
    return state_of(c) == CLAIM_GRANTED;
}

void capacity_hand_over(capacity_claim *c, waker *w) {
    pthread_mutex_lock(&lock);
    c->waker = w;
    if (state_of(c) == CLAIM_GRANTED) waker_wake(w);
    pthread_mutex_unlock(&lock);
}

void capacity_cancel(capacity_claim *c) {
    if (state_of(c) == CLAIM_NONE) return;
    pthread_mutex_lock(&lock);
    bool granted = state_of(c) == CLAIM_GRANTED;
    if (granted)
        set_state(c, CLAIM_NONE);
    else
        dequeue(c, CLAIM_NONE);
    pthread_mutex_unlock(&lock);
    if (granted) capacity_release();
}

void capacity_release(void) {
    __atomic_sub_fetch(&used, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&length, __ATOMIC_SEQ_CST) > 0) {
        pthread_mutex_lock(&lock);
        serve_queue();
        pthread_mutex_unlock(&lock);
    }
}

void capacity_set(uint32_t limit) {
    __atomic_store_n(&most, limit, __ATOMIC_SEQ_CST);
    pthread_mutex_lock(&lock);
    serve_queue();
    pthread_mutex_unlock(&lock);
}

void capacity_forked(void) {
    pthread_mutex_init(&lock, NULL);
    used = length = 0;
    queue = (list){0};
}
