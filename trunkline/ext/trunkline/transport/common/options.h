#ifndef TRUNKLINE_TRANSPORT_COMMON_OPTIONS_H
#define TRUNKLINE_TRANSPORT_COMMON_OPTIONS_H

#include "protocol/http1/http1.h"
#include "protocol/codings/inflate.h"
#include "transport/events/clock.h"
#include "failure.h"

#include <stdbool.h>
#include <sys/socket.h>

struct tls_context;
struct egress;

#define INTERFACE_ROOM 16 /* an interface name and its NUL (IFNAMSIZ) */

/* Options for the sockets that the engine opens. */
typedef struct {
    struct sockaddr_storage local;          /* the address to connect from */
    socklen_t local_length;                 /* 0: the system chooses */
    char interface[INTERFACE_ROOM];         /* "": any */
    int keepalive_idle, keepalive_interval; /* seconds; 0: no probes */
    int user_timeout; /* milliseconds that sent bytes may stay unacknowledged; 0: default */
} socket_options;

typedef enum { HTTP_AUTO, HTTP_ONE, HTTP_TWO } http_mode;

/* A client's options for its calls. Immutable; it outlives the calls that borrow it. */
typedef struct {
    nanoseconds timeouts[PHASE_COUNT]; /* durations; NEVER: no timeout for the phase */
    nanoseconds total;                 /* timeout of the whole call; NEVER: none */
    nanoseconds expect;            /* how long to wait for 100 (Continue); 0: no Expect is sent */
    struct tls_context *tls;       /* one owned reference; NULL: plain connections only */
    struct tls_context *proxy_tls; /* the same for https proxies, without a client certificate */
    const struct egress *egress;   /* the addresses that calls may connect to; NULL: all */
    socket_options sockets;
    http1_limits limits;
    uint32_t max_decode_ratio;   /* see inflater_limits */
    uint64_t max_body_bytes;     /* limit of a buffered body, decoded; 0: none */
    uint64_t max_streamed_bytes; /* the same for a streamed body */
    uint32_t max_connections;    /* per connection key (see route) */
    nanoseconds idle_timeout;    /* how long a connection may be idle */
    nanoseconds max_age;         /* of reused connections and cached addresses; 0: no limit */
    nanoseconds busy_poll;       /* how long to poll for a response without sleeping; 0: never */
    bool decode;                 /* decode content codings */
    bool replay_safe;            /* replay a safe request when a reused connection died */
    uint64_t owner_id;           /* id of the client's PoolHandle; see pool_close_idle */
    http_mode http; /* what ALPN offers with `tls`; HTTP_TWO is also used without TLS */
} call_options;

typedef enum { PROXY_HTTP, PROXY_SOCKS5, PROXY_SOCKS5H } proxy_kind;

/* A proxy. Its strings have the same owner as the route's. */
typedef struct {
    proxy_kind kind;
    bool tunnel; /* false: an HTTP proxy that receives the request itself, in absolute-form */
    const char *host;
    uint16_t port;
    const char *tls_name;        /* the name to verify; NULL: no TLS with the proxy */
    const char *label;           /* "proxy.test:3128", for messages */
    const char *authorization;   /* CONNECT's Proxy-Authorization; NULL: none */
    const char *user, *password; /* SOCKS; NULL: none */
} proxy;

/* Whether calls may share a connection (HTTP/2). */
typedef enum {
    SHARING_NEVER,
    SHARING_OFFERED, /* if ALPN chooses HTTP/2 */
    SHARING_ALWAYS   /* HTTP/2 with prior knowledge (RFC 9113, section 3.3) */
} sharing;

/* The destination of a call. The code that builds a route owns its strings, which outlive the
 * call. */
typedef struct {
    const char *host; /* to resolve or dial: a name, an IPv4 or IPv6 literal without brackets */
    uint16_t port;
    const char *unix_path; /* NULL, or a path: host and port are not dialled then */
    const char *tls_name;  /* the name or literal to verify and to send as SNI; NULL: no TLS */
    const char *label;     /* "api.test:443", for messages */
    const proxy *proxy;    /* NULL: directly */
    sharing sharing;
    const char *key; /* bytes; equal for routes whose calls may use the same connections */
    uint32_t key_length;
    uint32_t key_hash;
} route;

#endif
