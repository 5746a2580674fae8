#include "deadlines.h"

#include <stdlib.h>

static void put(deadlines *d, int index, member *m) {
    d->heap[index] = m;
    m->heap_index = index;
}

static void rise(deadlines *d, int index) {
    member *m = d->heap[index];
    while (index > 0 && d->heap[(index - 1) / 2]->heap_key > m->heap_key) {
        put(d, index, d->heap[(index - 1) / 2]);
        index = (index - 1) / 2;
    }
    put(d, index, m);
}

static void fall(deadlines *d, int index) {
    member *m = d->heap[index];
    for (;;) {
        int child = 2 * index + 1;
        if (child + 1 < d->count && d->heap[child + 1]->heap_key < d->heap[child]->heap_key)
            child++;
        if (child >= d->count || d->heap[child]->heap_key >= m->heap_key) break;
        put(d, index, d->heap[child]);
        index = child;
    }
    put(d, index, m);
}

bool deadlines_set(deadlines *d, member *m, nanoseconds when) {
    if (m->heap_index >= 0) {
        if (when < m->heap_key) {
            m->heap_key = when;
            rise(d, m->heap_index);
        }
        return true;
    }
    if (when == NEVER) return true;
    if (d->count == d->capacity) {
        int capacity = d->capacity ? d->capacity * 2 : 32;
        member **heap = realloc(d->heap, (size_t)capacity * sizeof(*heap));
        if (heap == NULL) return false;
        d->heap = heap;
        d->capacity = capacity;
    }
    m->heap_key = when;
    put(d, d->count++, m);
    rise(d, m->heap_index);
    return true;
}

void deadlines_remove(deadlines *d, member *m) {
    int index = m->heap_index;
    if (index < 0) return;
    m->heap_index = -1;
    member *last = d->heap[--d->count];
    if (last == m) return;
    put(d, index, last);
    rise(d, index);
    fall(d, last->heap_index);
}

nanoseconds deadlines_next(const deadlines *d) {
    return d->count > 0 ? d->heap[0]->heap_key : NEVER;
}

member *deadlines_expired(deadlines *d, nanoseconds now) {
    while (d->count > 0 && d->heap[0]->heap_key <= now) {
        member *m = d->heap[0];
        if (m->deadline <= now) {
            deadlines_remove(d, m);
            return m;
        }
        m->heap_key = m->deadline;
        fall(d, 0);
    }
    return NULL;
}

void deadlines_free(deadlines *d) {
    free(d->heap);
    *d = (deadlines){0};
}
