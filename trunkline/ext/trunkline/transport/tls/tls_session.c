#include "tls_internal.h"

#include "protocol/hash.h"
#include "protocol/list.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BUCKETS 256
#define SESSION_SECONDS \
    7200 /* an older session is not resumed, so that a full handshake verifies the peer again */

/* The sessions of one key, the newest last. */
typedef struct slot slot;
struct slot {
    slot *chain;
    list_node node;
    uint64_t context;
    int count;
    SSL_SESSION *sessions[TLS_SESSIONS_PER_KEY];
    size_t length;
    unsigned char key[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static slot *buckets[BUCKETS];
static list by_use; /* slots, the least recently used first */
static int slots;
static bool stale; /* all sessions are to be freed; see tls_session_forget_all */

static slot **bucket_of(uint64_t context, const unsigned char *key, size_t length) {
    return &buckets[(hash_bytes(key, length) ^ (uint32_t)context) % BUCKETS];
}

static slot *find(uint64_t context, const void *key, size_t length) {
    slot *s = *bucket_of(context, key, length);
    while (s != NULL &&
           (s->context != context || s->length != length || memcmp(s->key, key, length) != 0))
        s = s->chain;
    return s;
}

static void destroy(slot *s) {
    slot **link = bucket_of(s->context, s->key, s->length);
    while (*link != s) link = &(*link)->chain;
    *link = s->chain;
    list_remove(&by_use, &s->node);
    slots--;
    for (int i = 0; i < s->count; i++) SSL_SESSION_free(s->sessions[i]);
    free(s);
}

static void enter(void) {
    pthread_mutex_lock(&lock);
    if (!stale) return;
    LIST_EACH (slot, s, &by_use, node) destroy(s);
    stale = false;
}

static slot *make(uint64_t context, const void *key, size_t length) {
    slot *s = calloc(1, sizeof(*s) + length);
    if (s == NULL) return NULL;
    if (slots >= TLS_SESSION_KEYS) destroy(LIST_FIRST(&by_use, slot, node));
    s->context = context;
    s->length = length;
    memcpy(s->key, key, length);
    slot **bucket = bucket_of(context, key, length);
    s->chain = *bucket;
    *bucket = s;
    list_append(&by_use, &s->node);
    slots++;
    return s;
}

static void drop_first(slot *s) {
    SSL_SESSION_free(s->sessions[0]);
    memmove(&s->sessions[0], &s->sessions[1], (size_t)--s->count * sizeof(s->sessions[0]));
}

static bool alive(const SSL_SESSION *session) {
#if OPENSSL_VERSION_NUMBER >= 0x30300000L
    time_t made = SSL_SESSION_get_time_ex(session);
#else
    time_t made = (time_t)SSL_SESSION_get_time(session);
#endif
    time_t age = time(NULL) - made;
    return SSL_SESSION_is_resumable(session) && age >= 0 && age < SESSION_SECONDS &&
           age < (time_t)SSL_SESSION_get_timeout(session);
}

/* Returns the newest valid session. A TLS 1.3 ticket is used once (RFC 8446, appendix C.4), a TLS
 * 1.2 session until it expires. */
static SSL_SESSION *take(slot *s) {
    while (s->count > 0) {
        SSL_SESSION *session = s->sessions[s->count - 1];
        bool holds = alive(session);
        if (holds && SSL_SESSION_get_protocol_version(session) < TLS1_3_VERSION) {
            SSL_SESSION_up_ref(session);
            return session;
        }
        s->count--;
        if (holds) return session;
        SSL_SESSION_free(session);
    }
    return NULL;
}

SSL_SESSION *tls_session_take(uint64_t context, const void *key, size_t length) {
    enter();
    slot *s = find(context, key, length);
    SSL_SESSION *session = s == NULL ? NULL : take(s);
    if (s != NULL && s->count == 0) destroy(s);
    pthread_mutex_unlock(&lock);
    return session;
}

void tls_session_keep(uint64_t context, const void *key, size_t length, SSL_SESSION *session) {
    enter();
    slot *s = find(context, key, length);
    if (s == NULL)
        s = make(context, key, length);
    else
        list_touch(&by_use, &s->node);
    if (s != NULL) {
        if (s->count == TLS_SESSIONS_PER_KEY) drop_first(s);
        s->sessions[s->count++] = session;
    }
    pthread_mutex_unlock(&lock);
    if (s == NULL) SSL_SESSION_free(session);
}

void tls_session_forget(uint64_t context, const void *key, size_t length) {
    enter();
    slot *s = find(context, key, length);
    if (s != NULL) destroy(s);
    pthread_mutex_unlock(&lock);
}

void tls_session_forget_context(uint64_t context) {
    enter();
    LIST_EACH (slot, s, &by_use, node)
        if (s->context == context) destroy(s);
    pthread_mutex_unlock(&lock);
}

void tls_session_forget_all(void) {
    pthread_mutex_lock(&lock);
    stale = true;
    pthread_mutex_unlock(&lock);
}
