#ifndef TRUNKLINE_RUBY_REQUEST_H
#define TRUNKLINE_RUBY_REQUEST_H

#include "engine.h"
#include "request_params.h"

/* What a Trunkline::Request is made of (request.c). What it owns comes first, so that request_free
 * reads one cache line of it. */

typedef struct {
    char *head;             /* owned unless it lies behind the struct: request line and fields */
    char *content_bytes;    /* owned; of a String whose bytes lie in the object itself; or NULL */
    VALUE origin;           /* Engine::Origin; nil: no client has made it, and it cannot be sent */
    VALUE builder;          /* the RequestBuilder that made it, or nil */
    VALUE method;           /* frozen String */
    VALUE uri;              /* a URL; nil: it is made of origin and target when it is asked for */
    VALUE content;          /* nil, a frozen String, or a Content */
    VALUE follow;           /* how many redirects: an Integer, or false */
    VALUE early_hints;      /* called with the fields of each 103, or nil */
    VALUE progress;         /* called with how much of the content is sent, or nil */
    VALUE template;         /* "/users/:id", for what watches calls; or nil */
    int64_t content_length; /* bytes; -1: chunked */
    bool streaming;         /* the caller takes the answer's body piece by piece */
    bool head_method;       /* HEAD: the answer has no body */
    bool safe_method;       /* GET, HEAD, OPTIONS, TRACE (RFC 9110 9.2.1) */
    bool says_close;        /* Connection: close is among the fields */
    bool upgrades;          /* Upgrade: websocket is */
    bool expects;           /* 100 (Continue) is asked for before the content is sent */
    uint32_t head_length;
    uint32_t target, target_length; /* within head: path and query, without an origin before it */
    uint32_t fields, fields_end;    /* within head: the fields but those for a proxy */
} request_object;

/* One field of a head that is being composed. The name and the value are borrowed. */
typedef struct {
    const char *name,
        *value; /* value NULL: the field is not sent, and replaces one that would be */
    uint32_t name_length, value_length;
    uint8_t group; /* a field replaces those of the same name in lower groups */
    uint8_t kind;
    bool underscores; /* "_" in the name stands for "-": it was a Symbol */
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

int field_kind(const char *name, size_t length, bool underscores);
bool field_same_name(const request_field *a, const request_field *b);

/* What a head is composed of. All pointers are borrowed: nothing may allocate between the time they
 * were taken from Strings and request_compose's end. */
typedef struct {
    const origin_object *origin;
    const char *method;
    size_t method_length;
    const char *path; /* before the target: a base's folder; "" for none */
    size_t path_length;
    const char *target;
    size_t target_length;
    char query_mark;   /* '?' or '&' before the params; 0: there are none */
    const char *query; /* encoded; NULL: it is made of `params` */
    size_t query_length;
    const request_params *params;
    request_field *fields; /* in the order of their groups */
    uint32_t field_count;
    bool raw;    /* the fields are sent as they are: none is added, moved or left out */
    bool decode; /* codings are asked for unless a field says otherwise */
    bool has_content;
    bool upgrades;          /* a switch to WebSocket is asked for (RFC 9110 7.8) */
    int64_t expect_above;   /* 100 (Continue) is asked for before more content; -1: never */
    int64_t content_length; /* -1: not known */
} composition;

typedef enum { COMPOSED, COMPOSE_NO_MEMORY, COMPOSE_INVALID, COMPOSE_LENGTH } compose_result;

/* Composes the head into `r`, which owns it then, and fills in all members of `r` that are no
 * VALUE. COMPOSE_LENGTH: a Content-Length field, put in *declared, contradicts the content. */
compose_result request_compose(request_object *r, const composition *c, int64_t *declared);

/* Wraps a new, empty request; the caller fills it in and freezes it. Raises without memory. */
VALUE request_allocate(request_object **out);

/* The request inside of `object`, which may be unfinished. Raises when it is no Request. */
request_object *request_get(VALUE object);

/* The request inside of `object`, which a builder has made. Raises when it cannot be sent. */
request_object *request_sendable(VALUE object);

/* The bytes of its content, a String. They may be read without the GVL: while the heap is compacted
 * its pages are protected, so that the bytes of an embedded String are copied. */
const char *request_content_bytes(request_object *r);

void request_init(void);
void request_builder_init(void);

#endif
