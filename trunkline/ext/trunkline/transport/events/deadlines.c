#include "deadlines.h"

#include <stdlib.h>

static void put(deadlines *d, int index, deadline *one) {
    d->heap[index] = one;
    one->index = index;
}

static void rise(deadlines *d, int index) {
    deadline *one = d->heap[index];
    while (index > 0 && d->heap[(index - 1) / 2]->sorted > one->sorted) {
        put(d, index, d->heap[(index - 1) / 2]);
        index = (index - 1) / 2;
    }
    put(d, index, one);
}

static void fall(deadlines *d, int index) {
    deadline *one = d->heap[index];
    for (;;) {
        int child = 2 * index + 1;
        if (child + 1 < d->count && d->heap[child + 1]->sorted < d->heap[child]->sorted) child++;
        if (child >= d->count || d->heap[child]->sorted >= one->sorted) break;
        put(d, index, d->heap[child]);
        index = child;
    }
    put(d, index, one);
}

bool deadlines_set(deadlines *d, deadline *one) {
    if (one->index >= 0) {
        if (one->when < one->sorted) {
            one->sorted = one->when;
            rise(d, one->index);
        }
        return true;
    }
    if (one->when == NEVER) return true;
    if (d->count == d->capacity) {
        int capacity = d->capacity ? d->capacity * 2 : 32;
        deadline **heap = realloc(d->heap, (size_t)capacity * sizeof(*heap));
        if (heap == NULL) return false;
        d->heap = heap;
        d->capacity = capacity;
    }
    one->sorted = one->when;
    put(d, d->count++, one);
    rise(d, one->index);
    return true;
}

void deadlines_remove(deadlines *d, deadline *one) {
    int index = one->index;
    if (index < 0) return;
    one->index = -1;
    deadline *last = d->heap[--d->count];
    if (last == one) return;
    put(d, index, last);
    rise(d, index);
    fall(d, last->index);
}

nanoseconds deadlines_next(const deadlines *d) {
    return d->count > 0 ? d->heap[0]->sorted : NEVER;
}

deadline *deadlines_expired(deadlines *d, nanoseconds now) {
    while (d->count > 0 && d->heap[0]->sorted <= now) {
        deadline *one = d->heap[0];
        if (one->when <= now) {
            deadlines_remove(d, one);
            return one;
        }
        one->sorted = one->when;
        fall(d, 0);
    }
    return NULL;
}

void deadlines_free(deadlines *d) {
    free(d->heap);
    *d = (deadlines){0};
}
