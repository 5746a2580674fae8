#ifndef TRUNKLINE_RUBY_REQUEST_H
#define TRUNKLINE_RUBY_REQUEST_H

#include "engine.h"
#include "request_params.h"

/* The data of a Trunkline::Request (request.c). Owned pointers come first, so that request_free
 * reads one cache line of it. */

typedef struct {
    char *head;             /* request line and fields; owned unless it follows the struct */
    char *content_bytes;    /* owned copy of the bytes of an embedded String, or NULL */
    VALUE origin;           /* Engine::Origin; nil: not made by a client, cannot be sent */
    VALUE builder;          /* the RequestBuilder that made the request, or nil */
    VALUE method;           /* frozen String */
    VALUE uri;              /* a URL; nil: made from origin and target at the first use */
    VALUE content;          /* nil, a frozen String, or a Content */
    VALUE follow;           /* most redirects to follow: an Integer, or false */
    VALUE early_hints;      /* called with the fields of each 103, or nil */
    VALUE progress;         /* called with the number of content bytes sent, or nil */
    VALUE template;         /* "/users/:id", for observers of calls; or nil */
    int64_t content_length; /* bytes; -1: chunked */
    bool streaming;         /* the caller reads the response's body piece by piece */
    bool head_method;       /* HEAD: the response has no body */
    bool safe_method;       /* GET, HEAD, OPTIONS, TRACE (RFC 9110 9.2.1) */
    bool sends_close;       /* the fields have Connection: close */
    bool upgrades;          /* the fields have Upgrade: websocket */
    bool expects;           /* the content is sent after 100 (Continue) */
    uint32_t head_length;
    uint32_t target, target_length; /* within head: path and query, without an origin before it; of
                                     * a request with an origin, no bytes: "*" */
    uint32_t fields, fields_end;    /* within head: the fields except those for a proxy */
} request_object;

/* One field of a head that is being composed. The name and the value are borrowed. */
typedef struct {
    const char *name, *value; /* NULL: the field is not sent, and replaces one of a lower group */
    uint32_t name_length, value_length;
    uint8_t group; /* a field replaces those of the same name in lower groups */
    uint8_t kind;
    bool underscores; /* the name was a Symbol: "_" in it means "-" */
    bool whole;       /* in memory the name is followed by ": ", the value, CR and LF */
    bool replaced;
} request_field;

/* Fields that change how a request is composed. */
enum {
    FIELD_OTHER,
    FIELD_HOST,
    FIELD_CONTENT_LENGTH,
    FIELD_CONTENT_TYPE,
    FIELD_CONNECTION,
    FIELD_ACCEPT_ENCODING,
    FIELD_RANGE,
    FIELD_EXPECT,
    FIELD_RESERVED /* Transfer-Encoding, Upgrade */
};

/* Returns the FIELD_ constant of a name, compared without case. `underscores`: "_" in it means "-".
 */
int field_kind(const char *name, size_t length, bool underscores);

/* Returns whether two fields have the same name, compared without case. */
bool field_same_name(const request_field *a, const request_field *b);

/* The parts of a head. All pointers are borrowed: nothing may allocate from the time when they were
 * taken from Strings until request_compose returns. */
typedef struct {
    const origin_object *origin;
    const char *method;
    size_t method_length;
    const char *path; /* put before the target: the folder of the base; "" for none */
    size_t path_length;
    const char *target;
    size_t target_length;
    char query_mark;   /* '?' or '&' before the params; 0: there are none */
    const char *query; /* encoded; NULL: it is made from `params` */
    size_t query_length;
    const request_params *params;
    request_field *fields; /* in the order of their groups */
    uint32_t field_count;
    bool raw;    /* the fields are sent unchanged: none is added, moved or left out */
    bool decode; /* Accept-Encoding is added, unless a field replaces it or there is Range */
    bool has_content;
    bool upgrades;          /* the request asks for WebSocket (RFC 9110 7.8) */
    int64_t expect_above;   /* bytes of content above which Expect is added; -1: never */
    int64_t content_length; /* bytes; -1: not known */
} composition;

typedef enum { COMPOSED, COMPOSE_NO_MEMORY, COMPOSE_INVALID, COMPOSE_LENGTH } compose_result;

/* Composes the head into `r`, which owns it then, and fills in the members of `r` that describe it.
 * COMPOSE_LENGTH: a Content-Length field, stored in *declared, contradicts the content. */
compose_result request_compose(request_object *r, const composition *c, int64_t *declared);

/* Wraps a new, empty request; the caller fills it in and freezes it. Raises without memory. */
VALUE request_allocate(request_object **out);

/* Returns the request of `object`, which may be unfinished. Raises when `object` is not a Request.
 */
request_object *request_get(VALUE object);

/* Returns the request of `object`. Raises when no builder has made it, so that it cannot be sent.
 */
request_object *request_sendable(VALUE object);

/* Returns the bytes of the content, which must be a String, for reading without the GVL. The bytes
 * of an embedded String are copied, because heap pages are protected during compaction. */
const char *request_content_bytes(request_object *r);

#endif
