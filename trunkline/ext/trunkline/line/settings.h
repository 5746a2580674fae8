#ifndef TRUNKLINE_LINE_SETTINGS_H
#define TRUNKLINE_LINE_SETTINGS_H

#include "../wire/http1.h"
#include "../wire/inflate.h"
#include "clock.h"
#include "failure.h"

#include <stdbool.h>

struct tls_context;

/* How calls are made: everything that is not part of one request. Immutable once made; whoever
 * makes calls with it keeps it alive until they are over. */
typedef struct {
    nanoseconds timeouts[PHASE_COUNT]; /* spans; NEVER: no limit of its own */
    nanoseconds total;                 /* of the whole call; NEVER */
    nanoseconds expect;      /* how long to wait for 100 (Continue); 0: it is not asked for */
    struct tls_context *tls; /* one reference is owned here; NULL: plain only */
    http1_limits limits;
    inflater_limits inflate;
    uint64_t max_body_bytes;  /* as delivered, decoded; 0: no limit */
    uint32_t max_connections; /* for each key */
    nanoseconds idle_timeout; /* how long a connection may lie idle */
    bool decode;              /* undo content codings */
    bool replay_safe; /* send a safe request once more when a kept connection died silently */
    uint64_t owner;   /* the client family: pool_close_idle closes by it */
} settings;

/* Where a call goes, and what keeps its connections apart. All strings are owned by whoever made it
 * and outlive the call. */
typedef struct {
    const char *host; /* to resolve or dial: a name, an IPv4 or IPv6 literal without brackets */
    uint16_t port;
    const char *unix_path; /* NULL, or a path: host and port are not dialled then */
    const char *tls_name;  /* the name or literal to verify and to send as SNI; NULL: no TLS */
    const char *label;     /* "api.test:443", for messages */
    const char *key;       /* everything that must not be mixed, as bytes */
    uint32_t key_length;
    uint32_t key_hash;
} route;

#endif
