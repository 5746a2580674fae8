#include "resolve_queue_internal.h"

#include "protocol/hash.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS 256
#define OLDEST_EVERY 4

/* The queue of one domain, for names that were resolved before (->known) or for those that were
 * not. It exists while any of its names is queued or running. */
typedef struct domain domain;
struct domain {
    domain *chain;  /* next in the bucket */
    list_node node; /* in `turns`, while the domain has queued names */
    list queue;     /* of names, the oldest first */
    unsigned running;
    unsigned taken; /* how many names were taken from ->queue */
    bool known;
    nanoseconds next_start; /* when a look-up beyond RESOLVE_AT_ONCE may start */
    char name[];
};

static domain *buckets[BUCKETS];
static list turns[2]; /* by `known`: domains with queued names; the next to be served first */
static size_t length;
static unsigned running, running_unknown;

/* ---- domains ---- */

/* "a.example.com" is in "example.com"; "localhost" is its own domain. */
static const char *domain_name(const char *host) {
    const char *dot = strchr(host, '.');
    return dot != NULL && dot[1] != '\0' ? dot + 1 : host;
}

static domain **slot_of(const char *name, bool known) {
    domain **slot = &buckets[(hash_bytes(name, strlen(name)) ^ known) % BUCKETS];
    while (*slot != NULL && ((*slot)->known != known || strcmp((*slot)->name, name) != 0))
        slot = &(*slot)->chain;
    return slot;
}

static domain *find_or_make(const lookup *name) {
    const char *text = domain_name(name->host);
    domain **slot = slot_of(text, name->known);
    if (*slot != NULL) return *slot;
    size_t size = strlen(text) + 1;
    domain *d = calloc(1, sizeof(*d) + size);
    if (d == NULL) return NULL;
    d->known = name->known;
    memcpy(d->name, text, size);
    return *slot = d;
}

static void free_if_unused(domain *d) {
    if (d->queue.first != NULL || d->running > 0) return;
    *slot_of(d->name, d->known) = d->chain;
    free(d);
}

/* ---- names ---- */

bool lookup_queue_add(lookup *name) {
    domain *d = find_or_make(name);
    if (d == NULL) return false;
    if (d->queue.first == NULL) list_append(&turns[d->known], &d->node);
    name->domain = d;
    list_append(&d->queue, &name->queue_node);
    length++;
    return true;
}

static void dequeue(lookup *name) {
    domain *d = name->domain;
    list_remove(&d->queue, &name->queue_node);
    if (d->queue.first == NULL) list_remove(&turns[d->known], &d->node);
    length--;
}

void lookup_queue_remove(lookup *name) {
    domain *d = name->domain;
    dequeue(name);
    name->domain = NULL;
    free_if_unused(d);
}

lookup *lookup_queue_surplus(const lookup *newcomer) {
    const domain *d = newcomer->domain;
    if (d->queue.first == &newcomer->queue_node) {
        bool alone = turns[d->known].first == turns[d->known].last;
        d = LIST_FIRST(&turns[alone ? !d->known : d->known], domain, node);
    }
    return LIST_FIRST(&d->queue, lookup, queue_node);
}

/* Returns when the domain's next look-up may start; NEVER: not before one has finished. */
static nanoseconds start_of_next(const domain *d) {
    if (d->running >= RESOLVE_MAX_DOMAIN) return NEVER;
    return d->running < RESOLVE_AT_ONCE ? 0 : d->next_start;
}

/* Skips only domains that have RESOLVE_AT_ONCE look-ups or more: at most ten. */
static domain *next_domain(bool known, nanoseconds now, nanoseconds *when) {
    LIST_EACH (domain, d, &turns[known], node) {
        nanoseconds start = start_of_next(d);
        if (start <= now) return d;
        *when = clock_earlier(*when, start);
    }
    return NULL;
}

lookup *lookup_queue_take(nanoseconds now, nanoseconds *when) {
    if (running >= RESOLVE_MAX_THREADS) return NULL;
    domain *d = next_domain(true, now, when);
    if (d == NULL && running_unknown < RESOLVE_MAX_UNKNOWN) d = next_domain(false, now, when);
    if (d == NULL) return NULL;
    list_touch(&turns[d->known], &d->node);
    bool oldest = ++d->taken % OLDEST_EVERY == 0;
    lookup *name = LIST_ITEM(oldest ? d->queue.first : d->queue.last, lookup, queue_node);
    dequeue(name);
    name->state = LOOKUP_RUNNING;
    d->next_start = clock_after(now, RESOLVE_PACE);
    d->running++;
    running++;
    running_unknown += !d->known;
    return name;
}

void lookup_queue_finished(lookup *name) {
    domain *d = name->domain;
    name->domain = NULL;
    d->running--;
    running--;
    running_unknown -= !d->known;
    free_if_unused(d);
}

size_t lookup_queue_length(void) {
    return length;
}

unsigned lookup_queue_running(void) {
    return running;
}

void lookup_queue_reset(void) {
    for (int i = 0; i < BUCKETS; i++) {
        for (domain *d = buckets[i], *following; d != NULL; d = following) {
            following = d->chain;
            free(d);
        }
        buckets[i] = NULL;
    }
    turns[false] = turns[true] = (list){0};
    length = 0;
    running = running_unknown = 0;
}
