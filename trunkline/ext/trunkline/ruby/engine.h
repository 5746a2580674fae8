#ifndef TRUNKLINE_RUBY_ENGINE_H
#define TRUNKLINE_RUBY_ENGINE_H

#include "transport/exchange/exchange.h"
#include "transport/exchange/exchange_loop.h"

#include <ruby.h>
#include <ruby/encoding.h>
#include <ruby/thread.h>

/*
 * The Ruby side of the engine, the only code that includes ruby.h. Everything here runs with the
 * GVL but what wait.c runs without it.
 */

extern VALUE mTrunkline, mEngine, cResponse;

static inline VALUE engine_symbol(const char *word) {
    return ID2SYM(rb_intern(word));
}

/* ---- blocks.c ---- */

#define BLOCK_BYTES 1024

/* Memory of BLOCK_BYTES, which is the caller's until it gives it back; NULL: there is none. */
void *block_take(void);
void block_give(void *block);

/* ---- engine_pool.c ---- */

pool *pool_get(VALUE object);
void engine_pool_init(void);

/* ---- engine_config.c: how a client's calls are made ---- */

typedef struct {
    call_options options;
    tls_options tls;   /* its strings are owned by this struct */
    bool begun, ready; /* Config.new was called; and it succeeded */
} config_object;

config_object *config_get(VALUE object);

/* Each sees to it that the TLS context is there: to servers; to https proxies. Raises a TLSError of
 * `request` (nil for none). */
void config_need_context(config_object *c, VALUE request);
void config_need_proxy_context(config_object *c, VALUE request);

/* The value of a key that must be there. Raises when `hash` is no Hash, or has it not. */
VALUE engine_fetch(VALUE hash, const char *key);

/* A span, or a point of the monotonic clock, from a number of seconds; nil is NEVER. */
nanoseconds engine_seconds(VALUE seconds);

/* A span as a Float of seconds; nil for NEVER, and for a negative one (it did not happen). */
VALUE engine_seconds_or_nil(nanoseconds span);

/* Notes in *begun that initialize was called. Raises when `self` is frozen, or it was before: what
 * has failed halfway is of no use. */
void engine_begin_once(VALUE self, bool *begun);
void engine_config_init(void);

/* ---- engine_origin.c: where a client's requests to one origin go ---- */

typedef struct {
    VALUE config_value;    /* keeps `config` alive */
    VALUE url;             /* the origin's root, a Trunkline::URL */
    VALUE forwarder;       /* the Proxy that is sent the requests themselves, or nil */
    VALUE authorization;   /* the value of Authorization that netrc has for the host, or nil */
    config_object *config; /* borrowed from config_value */
    route to;
    proxy proxy;           /* what `to` points at, when there is one */
    const char *authority; /* the value of Host */
    const char *prefix;    /* "https://api.test:8443" */
    char *strings;         /* owned: what all texts point into */
    size_t strings_size;
    buffer key;           /* owned; made when the first request is begun */
    bool absolute_form;   /* requests are sent to a proxy, with `prefix` before their targets */
    bool bound_fields;    /* the client's credentials and its Host field are for this origin */
    bool begun, complete; /* Origin.new was called; and it succeeded */
} origin_object;

origin_object *origin_get(VALUE object);

/* Makes the key of its connections, and before that the TLS contexts that the key names. Raises a
 * TLSError of `request`. */
void origin_need_key(origin_object *o, VALUE request);
void engine_origin_init(void);

/* ---- response.c ---- */

/* Why an answer that its caller has already will never be complete. */
typedef struct {
    failure why;
    nanoseconds allowed; /* the limit that was passed; -1: none */
    bool unprocessed;
} broken_answer;

/* Where a streamed answer was asked for. */
typedef struct drop_note {
    struct drop_note *next;
    char place[]; /* "app/fetch.rb:12" */
} drop_note;

/* What it owns comes first, and what is seldom there last: the collector looks at the one of each
 * that it frees, long after it was used, and the other is not even cleared. */
typedef struct {
    exchange *live;         /* owned; NULL once it is over and what it told is below */
    void *head_block;       /* owned: the fields and the head; NULL: they lie right behind */
    uint8_t *trailer_bytes; /* owned */
    http1_field *trailers;  /* owned */
    hint *early_hints;      /* owned */
    drop_note *note;        /* owned; NULL: nobody is told if it is dropped half read */
    broken_answer *broken;  /* owned; NULL: it is complete, or still comes */

    VALUE request; /* a Trunkline::Request, which has what is sent */
    VALUE into;    /* the String that the next piece is read into; nil: a new one */
    VALUE body;    /* a String once it is complete; pinned while the exchange writes into it */
    bool body_is_buffer; /* the exchange writes into ->body */
    bool busy;           /* it is read, or is a Multi's: nobody else may read or close it */

    int status, minor_version;
    uint32_t reason, reason_length;
    http1_framing framing;
    bool complete, http2, reused;
    const uint8_t *head; /* the fields point into it */
    const http1_field *fields;
    uint32_t field_count, trailer_count, attempt_count;
    exchange_timings timings;
    uint64_t connection_id;
    nanoseconds connection_age;
    const char *tls_version, *tls_cipher;
    attempt attempts[EXCHANGE_ATTEMPTS];
} response;

VALUE response_allocate(response **out);

/* Answers that were dropped half read, and so held what they had until they were collected, are
 * told of by a warning each. */
void response_warn_of_dropped(void);

/* Copies the head out of what has parsed it, and the bytes that it was parsed from. False: no
 * memory. */
bool response_keep_head(response *r, const http1_response *answer, const uint8_t *bytes);
response *response_get(VALUE object);
VALUE response_fields(const http1_field *fields, uint32_t count, const uint8_t *bytes);
void response_set_encoding(const response *r, VALUE body);
void response_init(void);

/* An Array of [number, reason, address, sent, error] for each; see lib/trunkline/engine.rb. */
VALUE response_attempts(const attempt *attempts, uint32_t count);

/* ---- descriptors.c ---- */

/* Each needs a descriptor, and has idle connections closed until there is one. Raises when there is
 * none all the same: a ConnectError of `request`, of which nothing was sent. */
waker *descriptors_waker(VALUE request); /* as waker_take */
exchange_loop *descriptors_exchange_loop(waker *w, VALUE request);

/* ---- process_limits.c ---- */

void process_limits_init(void);

/* ---- response_builder.c: what an exchange asks of Ruby, and what stays of it ---- */

/* Makes a Response whose exchange has begun: `request` over one of `pool`'s connections, until
 * `deadline` (monotonic seconds, or nil), with `w` or (NULL) a waker of its own. `only_connects`:
 * nothing is sent. Raises for bad arguments, and when there is no memory. */
VALUE response_begin(VALUE pool, VALUE request, VALUE deadline, bool only_connects, waker *w);

/* Does what `step` asks for, if that needs nobody but us: then the exchange is stepped on. May
 * raise what the caller's own code raises. */
bool response_serve(VALUE self, response *r, step_result step);

VALUE response_take_body(exchange *x,
                         VALUE into); /* what has been read, as `into` or (nil) a String */
void response_take_head(response *r); /* the response has the head from now on */
void response_conclude(VALUE self, response *r); /* after STEP_DONE: all is the response's */
void response_end(response *r); /* aborts what is not over, and lets the exchange go */
void response_builder_init(void);

/* ---- charset.c ---- */

/* The index of the encoding that a charset of this name (no NUL needed) stands for, loaded; -1 for
 * none that is known. */
int charset_index(const char *name, size_t length);
void charset_init(void);

/* ---- perform.c ---- */

void perform_init(void);

/* ---- multi.c ---- */

void multi_init(void);

/* ---- openssl_store.c ---- */

struct x509_store_st;

/* The store inside of an OpenSSL::X509::Store, with a reference for the caller; NULL for nil.
 * Raises for anything else. */
struct x509_store_st *openssl_store_keep(VALUE object);
void openssl_store_release(struct x509_store_st *store); /* NULL is fine */

/* ---- bounds.c ---- */

void bounds_init(void);

/* ---- stub_response.c ---- */

void stubbed_init(void);

/* ---- wait.c ---- */

/* Drives `x` until something but STEP_WAIT happens, without the GVL; `at_once`: steps before it
 * waits. May raise (an interrupt of this thread): the caller is under rb_protect. */
step_result wait_drive(exchange *x, bool at_once);

/* What makes this thread's drivers stop: an interrupt of it, or whoever sets ->asked. */
stop_request wait_stop_request(void);

/* Drives an exchange loop until one of its members is ready, `until` is over, or `stop` asks for an
 * end. May raise, as wait_drive. */
void wait_exchange_loop(exchange_loop *p, waker *own, nanoseconds until, stop_request *stop);

/* memcpy without the GVL when it is worth it. Neither memory may move meanwhile. */
void wait_copy(void *to, const void *from, size_t length);
void wait_init(void);

/* ---- errors.c ---- */

/* The exception for `x`, which has failed. */
VALUE errors_build(const exchange *x, VALUE request);
NORETURN(void errors_raise(const exchange *x, VALUE request));

/* The same for an answer that broke off earlier: r->broken is set. */
NORETURN(void errors_raise_broken(const response *r));
NORETURN(void errors_raise_failure(const failure *f, VALUE request));
NORETURN(void errors_invalid(const char *format, ...));
void errors_init(void);

#endif
