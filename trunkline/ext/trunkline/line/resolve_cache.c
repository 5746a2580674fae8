#include "resolve_cache.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS 256

static lookup *buckets[BUCKETS];
static lookup *newest, *oldest;
static size_t listed;

static lookup **bucket_of(const char *host) {
    uint32_t hash = 2166136261u;
    for (const char *c = host; *c != '\0'; c++) hash = (hash ^ (unsigned char)*c) * 16777619u;
    return &buckets[hash % BUCKETS];
}

static void link_newest(lookup *name) {
    name->newer = NULL;
    name->older = newest;
    if (newest != NULL) newest->newer = name;
    newest = name;
    if (oldest == NULL) oldest = name;
}

static void unlink_age(lookup *name) {
    *(name->newer != NULL ? &name->newer->older : &newest) = name->older;
    *(name->older != NULL ? &name->older->newer : &oldest) = name->newer;
}

static void unlist(lookup *name) {
    lookup **link = bucket_of(name->host);
    while (*link != name) link = &(*link)->chain;
    *link = name->chain;
    unlink_age(name);
    name->listed = false;
    listed--;
    lookup_drop(name);
}

static lookup *search(const char *host) {
    lookup *name = *bucket_of(host);
    while (name != NULL && strcmp(name->host, host) != 0) name = name->chain;
    return name;
}

lookup *lookup_find(const char *host, nanoseconds now) {
    lookup *name = search(host);
    if (name == NULL) return NULL;
    if (name->state != LOOKUP_ASKED && now >= name->expires) {
        unlist(name);
        return NULL;
    }
    unlink_age(name);
    link_newest(name);
    return name;
}

/* One that is being asked for is in use, and stays. */
static void make_room(void) {
    lookup *name = oldest;
    while (listed >= LOOKUP_LIMIT && name != NULL) {
        lookup *newer = name->newer;
        if (name->state != LOOKUP_ASKED) unlist(name);
        name = newer;
    }
}

lookup *lookup_add(const char *host) {
    size_t size = strlen(host) + 1;
    lookup *name = calloc(1, sizeof(*name) + size);
    if (name == NULL) return NULL;
    memcpy(name->host, host, size);
    make_room();
    lookup **bucket = bucket_of(host);
    name->chain = *bucket;
    *bucket = name;
    link_newest(name);
    name->references = 1;
    name->listed = true;
    listed++;
    return name;
}

void lookup_answered(lookup *name, const lookup_answer *answer, nanoseconds now) {
    bool good = answer->list != NULL;
    name->answer = *answer;
    name->state = good ? LOOKUP_ANSWERED : LOOKUP_FAILED;
    name->expires = clock_after(now, good ? LOOKUP_FRESH : LOOKUP_FAILED_FRESH);
    /* That there was no memory says nothing about the name. */
    if (answer->why.code == FAILURE_OUT_OF_MEMORY && name->listed) unlist(name);
}

lookup *lookup_keep(lookup *name) {
    name->references++;
    return name;
}

void lookup_drop(lookup *name) {
    if (--name->references > 0) return;
    free(name->answer.list);
    free(name);
}

void lookup_forget(const char *host) {
    lookup *name = search(host);
    if (name != NULL) unlist(name);
}

void lookup_forget_all(void) {
    while (oldest != NULL) unlist(oldest);
}

void lookup_each(void (*visit)(void *data, lookup *name), void *data) {
    for (lookup *name = oldest; name != NULL; name = name->newer) visit(data, name);
}
