#include "resolve_queue.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS 256
#define OLDEST_EVERY 4

/* The names of one domain; of those that had an answer before and those that had not, a domain
 * each. It lives while any of its names is queued or running. */
typedef struct domain domain;
struct domain {
    domain *chain;           /* next in the bucket */
    domain *previous, *next; /* among the domains that have queued names, in a ring */
    lookup *oldest, *newest; /* its queue */
    unsigned running;
    unsigned taken; /* how many were taken off its queue */
    bool known;
    nanoseconds next_start; /* of one beyond RESOLVE_AT_ONCE */
    char name[];
};

static domain *buckets[BUCKETS];
static domain *rings[2]; /* by `known`: whose turn it is; NULL: nobody is queued */
static size_t length;
static unsigned running, running_unknown;

/* ---- domains ---- */

/* "a.example.com" is in "example.com", and "localhost" in a domain of its own. */
static const char *domain_name(const char *host) {
    const char *dot = strchr(host, '.');
    return dot != NULL && dot[1] != '\0' ? dot + 1 : host;
}

static domain **slot_of(const char *name, bool known) {
    uint32_t hash = 2166136261u ^ known;
    for (const char *c = name; *c != '\0'; c++) hash = (hash ^ (unsigned char)*c) * 16777619u;
    domain **slot = &buckets[hash % BUCKETS];
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
    if (d->oldest != NULL || d->running > 0) return;
    *slot_of(d->name, d->known) = d->chain;
    free(d);
}

/* Behind all others, whose turns come first. */
static void join_ring(domain *d) {
    domain **ring = &rings[d->known];
    if (*ring == NULL) {
        *ring = d->next = d->previous = d;
        return;
    }
    d->next = *ring;
    d->previous = (*ring)->previous;
    d->previous->next = d->next->previous = d;
}

static void leave_ring(domain *d) {
    domain **ring = &rings[d->known];
    if (d->next == d) {
        *ring = NULL;
        return;
    }
    if (*ring == d) *ring = d->next;
    d->next->previous = d->previous;
    d->previous->next = d->next;
}

/* ---- names ---- */

bool lookup_queue_add(lookup *name) {
    domain *d = find_or_make(name);
    if (d == NULL) return false;
    if (d->oldest == NULL) join_ring(d);
    name->domain = d;
    name->queued_newer = NULL;
    name->queued_older = d->newest;
    *(d->newest != NULL ? &d->newest->queued_newer : &d->oldest) = name;
    d->newest = name;
    length++;
    return true;
}

static void dequeue(lookup *name) {
    domain *d = name->domain;
    lookup *newer = name->queued_newer, *older = name->queued_older;
    *(newer != NULL ? &newer->queued_older : &d->newest) = older;
    *(older != NULL ? &older->queued_newer : &d->oldest) = newer;
    if (d->oldest == NULL) leave_ring(d);
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
    if (d->oldest == newcomer) d = d->next != d ? d->next : rings[!d->known];
    return d->oldest;
}

/* When the domain's next look-up may start; NEVER: when one has finished. */
static nanoseconds start_of_next(const domain *d) {
    if (d->running >= RESOLVE_MAX_DOMAIN) return NEVER;
    return d->running < RESOLVE_AT_ONCE ? 0 : d->next_start;
}

/* Only a domain with RESOLVE_AT_ONCE look-ups or more is passed over: that can be but ten. */
static domain *next_domain(bool known, nanoseconds now, nanoseconds *when) {
    domain *first = rings[known], *d = first;
    if (first == NULL) return NULL;
    do {
        nanoseconds start = start_of_next(d);
        if (start <= now) return d;
        *when = clock_earlier(*when, start);
        d = d->next;
    } while (d != first);
    return NULL;
}

lookup *lookup_queue_take(nanoseconds now, nanoseconds *when) {
    if (running >= RESOLVE_MAX_THREADS) return NULL;
    domain *d = next_domain(true, now, when);
    if (d == NULL && running_unknown < RESOLVE_MAX_UNKNOWN) d = next_domain(false, now, when);
    if (d == NULL) return NULL;
    rings[d->known] = d->next;
    lookup *name = ++d->taken % OLDEST_EVERY == 0 ? d->oldest : d->newest;
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
    rings[false] = rings[true] = NULL;
    length = 0;
    running = running_unknown = 0;
}
