#include "exchange.h"

#include "transport/events/descriptors.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>

/* Exchanges that have ended are kept with their buffers for the next call: allocating these again
 * costs a tenth of a whole call. */
#define FREE_LIST_SIZE 64
#define KEPT_BUFFER_BYTES (16 * 1024) /* larger buffers are freed */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static exchange *free_list[FREE_LIST_SIZE]; /* owned */
static int free_count;
static int under_way;  /* exchanges in use; changed under the lock, read without it */
static int held_count; /* atomic; those among them that are ->held_by_caller */

static void count_under_way(int more) {
    __atomic_store_n(&under_way, under_way + more, __ATOMIC_RELAXED);
}

exchange *exchange_new(void) {
    pthread_mutex_lock(&lock);
    exchange *x = free_count > 0 ? free_list[--free_count] : calloc(1, sizeof(*x));
    if (x != NULL) count_under_way(1);
    pthread_mutex_unlock(&lock);
    return x;
}

bool exchange_is_only_one(void) {
    return __atomic_load_n(&under_way, __ATOMIC_RELAXED) == 1;
}

void hints_free(hint *h) {
    for (hint *following; h != NULL; h = following) {
        following = h->next;
        free(h->bytes);
        free(h->fields);
        free(h);
    }
}

static void empty(buffer *b) {
    if (b->capacity > KEPT_BUFFER_BYTES) buffer_free(b);
    buffer_clear(b);
}

/* Frees all but the read buffers, which the next call uses. */
static void strip(exchange *x) {
    hints_free(x->hints);
    inflater_free(x->inflater);
    refusal_free(x->refused);
    buffer_free(&x->frame);
    buffer_free(&x->undecoded);
    waker_drop(x->waker);
    http2_batch_drop(x->batch);
    if (x->pool != NULL) pool_release(x->pool);
    empty(&x->input);
    empty(&x->head_bytes);
    empty(&x->body);
    memset(x, 0, offsetof(exchange, response));
}

void exchange_set_held_by_caller(exchange *x, bool held) {
    if (x->held_by_caller != held) {
        x->held_by_caller = held;
        __atomic_add_fetch(&held_count, held ? 1 : -1, __ATOMIC_RELAXED);
    }
}

bool exchange_any_held_by_caller(void) {
    return __atomic_load_n(&held_count, __ATOMIC_RELAXED) > 0;
}

void exchange_free(exchange *x) {
    if (x == NULL || (x->pool != NULL && x->generation != descriptors_generation()))
        return; /* a thread of the parent may have been stepping it */
    exchange_set_held_by_caller(x, false);
    exchange_abort(x);
    strip(x);
    pthread_mutex_lock(&lock);
    count_under_way(-1);
    bool kept = free_count < FREE_LIST_SIZE;
    if (kept) free_list[free_count++] = x;
    pthread_mutex_unlock(&lock);
    if (!kept) {
        http1_free(&x->response);
        buffer_free(&x->input);
        buffer_free(&x->head_bytes);
        buffer_free(&x->body);
        free(x);
    }
}

void exchange_before_fork(void) {
    pthread_mutex_lock(&lock);
}

void exchange_after_fork(bool child) {
    if (child) {
        free_count = under_way = 0;
        pthread_mutex_init(&lock, NULL);
        return;
    }
    pthread_mutex_unlock(&lock);
}
