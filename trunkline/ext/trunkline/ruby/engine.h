#ifndef TRUNKLINE_RUBY_ENGINE_H
#define TRUNKLINE_RUBY_ENGINE_H

#include "transport/dial/egress.h"
#include "transport/exchange/exchange.h"
#include "transport/exchange/exchange_loop.h"
#include "transport/exchange/switched.h"

#include <ruby.h>
#include <ruby/encoding.h>
#include <ruby/thread.h>

/*
 * The Ruby side of the engine, the only code that includes ruby.h. All functions are called with
 * the GVL, except those whose names end in _nogvl or whose comment says so.
 */

extern VALUE mTrunkline, mEngine, cResponse;

/* Returns the Symbol of a word, a C string. */
static inline VALUE engine_symbol(const char *word) {
    return ID2SYM(rb_intern(word));
}

/* Returns the struct of an object of exactly this type, at a fifth of the cost of
 * rb_check_typeddata, which each call would pay six times. For any other object it calls
 * rb_check_typeddata. */
static inline void *engine_data(VALUE object, const rb_data_type_t *type) {
    if (RB_TYPE_P(object, T_DATA) && RTYPEDDATA_P(object) && RTYPEDDATA_TYPE(object) == type)
        return RTYPEDDATA_DATA(object);
    return rb_check_typeddata(object, type);
}

/* ---- blocks.c ---- */

#define REQUEST_BYTES 512
#define RESPONSE_BYTES 1024

typedef enum { BLOCK_REQUEST, BLOCK_RESPONSE } block_kind;

/* Returns a block, which the caller owns until block_give; NULL without memory. */
void *block_take(block_kind kind);

/* Returns a block of block_take, which the caller must not use any more. */
void block_give(block_kind kind, void *block);

/* ---- engine_pool.c ---- */

/* Returns the pool of an Engine::Pool, borrowed. Raises for other objects, and before `initialize`.
 */
pool *pool_get(VALUE object);

/* ---- engine_config.c: the options of a client's calls ---- */

typedef struct {
    call_options options;
    tls_options tls;      /* its strings are owned by this struct */
    struct egress egress; /* owned; options.egress points at it, or is NULL */
    bool begun, ready;    /* Config.new was called; it succeeded */
} config_object;

/* Returns the data of an Engine::Config, borrowed. Raises for other objects, and before
 * `initialize` has succeeded. */
config_object *config_get(VALUE object);

/* Make the TLS context for servers, or for https proxies, unless it exists. Raise a TLSError with
 * `request` (nil: none). */
void config_need_context(config_object *c, VALUE request);
void config_need_proxy_context(config_object *c, VALUE request);

/* Returns the value of a key. Raises unless `hash` is a Hash that has it. */
VALUE engine_fetch(VALUE hash, const char *key);

/* Converts seconds to nanoseconds; nil to NEVER. */
nanoseconds engine_seconds(VALUE seconds);

/* Converts a span to a Float of seconds; to nil for NEVER, and for a negative span (of a phase that
 * did not happen). */
VALUE engine_seconds_or_nil(nanoseconds span);

/* To be called at the start of `initialize`: raises if `self` is frozen or *begun is set, otherwise
 * sets *begun. An object whose `initialize` has raised cannot be initialized again. */
void engine_begin_once(VALUE self, bool *begun);
/* ---- engine_egress.c: the destinations that a client's calls may connect to ---- */

/* Fills in `e` from the Hash of Options::Egress. The caller must free `e`, also when this raises.
 */
void engine_fill_egress(egress *e, VALUE hash);

/* ---- engine_origin.c: the destination of a client's requests to one origin ---- */

typedef struct {
    VALUE config_value;    /* keeps `config` alive */
    VALUE url;             /* the origin's root, a Trunkline::URL */
    VALUE json_decoder;    /* callable, or nil */
    VALUE forwarder;       /* the Proxy that receives the requests themselves, or nil */
    VALUE authorization;   /* the value of Authorization from netrc for the host, or nil */
    config_object *config; /* borrowed from config_value */
    route to;
    proxy proxy;           /* to.proxy points at it, or is NULL */
    const char *authority; /* the value of Host */
    const char *prefix;    /* "https://api.test:8443" */
    size_t authority_length, prefix_length;
    char *strings; /* owned; all texts point into it */
    size_t strings_size;
    buffer key;           /* owned; made when the first request begins */
    bool absolute_form;   /* requests are sent to a proxy, with `prefix` before their targets */
    bool bound_fields;    /* the client's credentials and its Host field are for this origin */
    bool begun, complete; /* Origin.new was called; it succeeded */
} origin_object;

/* Returns the data of an Engine::Origin, borrowed. Raises for other objects, and before
 * `initialize` has succeeded. */
origin_object *origin_get(VALUE object);

/* Makes the key of the origin's connections, and the TLS contexts that the key depends on, unless
 * they exist. Raises a TLSError with `request`. */
void origin_need_key(origin_object *o, VALUE request);

/* ---- response.c ---- */

/* Why a response that was returned to its caller is not complete. */
typedef struct {
    failure why;
    nanoseconds allowed; /* the timeout that was exceeded; -1: none */
    bool unprocessed;    /* the server has certainly not processed the request */
} broken_response;

/* The line of the program that requested a streamed response. */
typedef struct drop_note {
    struct drop_note *next;
    char caller_line[]; /* "app/fetch.rb:12" */
} drop_note;

/* The data of a Trunkline::Response. Owned pointers come first, so that response_free reads one
 * cache line of it; `attempts` comes last, because it is not cleared. */
typedef struct {
    exchange *live;          /* owned; NULL when the exchange is over: the fields below are set */
    void *head_block;        /* owned; holds fields and head; NULL: they follow this struct */
    uint8_t *trailer_bytes;  /* owned */
    http1_field *trailers;   /* owned */
    hint *early_hints;       /* owned */
    drop_note *note;         /* owned; NULL: no warning if the response is collected half read */
    broken_response *broken; /* owned; NULL: the response is complete, or not over */

    VALUE request;            /* a Trunkline::Request, which owns the bytes to send */
    VALUE into;               /* the String that the next piece is read into; nil: a new one */
    VALUE body;               /* a String when complete; pinned while the exchange writes into it */
    VALUE held;               /* frozen String or nil; see body_reading.c */
    long held_from;           /* bytes of `held` that were taken */
    uint64_t saved;           /* bytes written to a file; see body_saving.c */
    size_t bytes_since_yield; /* bytes read since this thread last yielded the GVL to others */
    int encoding;             /* see response_encoding */
    bool body_is_buffer;      /* the exchange writes into ->body */
    bool busy;                /* being read, or in a Multi: must not be read or closed */

    int status, minor_version;
    uint32_t reason, reason_length;
    http1_framing framing;
    bool complete, http2, reused, body_begun;
    const uint8_t *head; /* offsets in `fields` are relative to it */
    const http1_field *fields;
    uint32_t field_count, trailer_count, attempt_count;
    exchange_timings timings;
    uint64_t connection_id;
    nanoseconds connection_age;
    const char *tls_version, *tls_cipher;
    attempt attempts[EXCHANGE_ATTEMPTS];
} response;

#define ENCODING_NOT_LOOKED_UP (-2)

/* Returns a new, empty Response, and stores its data, which it owns, in *out. Raises without
 * memory. */
VALUE response_allocate(response **out);

/* Warns of each response that was garbage collected half read, and had kept its connection until
 * then. */
void response_warn_of_dropped(void);

/* Copies the head from its parser and the parsed `bytes`. Returns false without memory. */
bool response_keep_head(response *r, const http1_response *parser, const uint8_t *bytes);

/* Returns the data of a Response, borrowed. Raises for other objects. */
response *response_get(VALUE object);
/* Returns a field's name in lower case, as one frozen String for all fields of that name. */
VALUE lower_name(const uint8_t *name, uint32_t length);

/* Adds a field to a Hash of values by lower-case name; values of repeated names are joined by ", ".
 */
void fields_by_name_add(VALUE hash, VALUE name, VALUE value);

/* Returns an Array with [name, value] of each field, in order. */
VALUE response_fields(const http1_field *fields, uint32_t count, const uint8_t *bytes);
/* Returns the index of the body's Encoding by the fields of the head, which must have been kept;
 * -1: none is known. */
int response_encoding(response *r);

/* Sets the String's encoding to that of response_encoding; leaves it when none is known. */
void response_set_encoding(response *r, VALUE body);

/* Returns an Array with [number, reason, address, sent, error] of each attempt; see
 * lib/trunkline/engine.rb. */
VALUE response_attempts(const attempt *attempts, uint32_t count);

/* ---- descriptors.c ---- */

/* Like waker_take and exchange_loop_new, but close idle connections until a descriptor is free.
 * Raise a ConnectError with `request` when none becomes free. */
waker *descriptors_waker(VALUE request);
exchange_loop *descriptors_exchange_loop(waker *w, VALUE request);

/* ---- response_builder.c: handles an exchange's steps, and stores its result ---- */

/* Makes a Response and begins its exchange.
 *
 * deadline: monotonic seconds, or nil. only_connects: nothing is sent. w: the exchange's waker, to
 * which a reference is added; NULL: the exchange gets a new waker.
 * Raises for bad arguments, and without memory or a descriptor. */
VALUE response_begin(VALUE pool, VALUE request, VALUE deadline, bool only_connects, waker *w);

/* Does what `step` requires. Returns true when the exchange must be stepped again; false when the
 * caller must handle the step. Raises what the caller's callbacks raise. */
bool response_handle_step(VALUE self, response *r, step_result step);

VALUE response_take_body(exchange *x,
                         VALUE into); /* returns the bytes read, in `into` or (nil) a new String */
void response_take_head(response *r); /* copies the head from the exchange */
void response_conclude(VALUE self, response *r); /* after STEP_DONE: moves all to the response */
void response_end(response *r); /* aborts the exchange unless it is over, and frees it */

/* ---- charset.c ---- */

/* Loads the Encoding for a charset's name and returns its index; -1: it is not known. The name
 * needs no NUL. */
int charset_index(const char *name, size_t length);

/* Returns the number of bytes before an incomplete character at the end. `bytes` must begin with a
 * character; invalid bytes count as complete. */
long charset_complete_length(const char *bytes, long length, rb_encoding *encoding);

/* ---- perform.c ---- */

/* Drives r's exchange until there is a result for the caller of `self`, its Response: a head or
 * data (streaming), or the end. Raises what reading raises: to be called under response_guarded. */
step_result response_run(VALUE self, response *r);

/* Runs `body` under rb_protect. If it raises, ends the exchange, and then raises the exception
 * again. */
VALUE response_guarded(VALUE (*body)(VALUE), VALUE argument, response *r);

/* ---- openssl_store.c ---- */

struct x509_store_st;

/* Returns the store of an OpenSSL::X509::Store, with a reference for the caller; NULL for nil.
 * Raises for any other object. */
struct x509_store_st *openssl_store_keep(VALUE object);
void openssl_store_release(struct x509_store_st *store); /* NULL is fine */

/* ---- body_reading.c ---- */

/* Returns the held bytes (see body_reading.c) as a String that the caller owns, and clears them;
 * nil: there are none. */
VALUE response_take_held(response *r);

/* ---- switched.c ---- */

/* If a complete exchange has switched protocols, moves its connection or stream to an
 * Engine::Switched, and stores that in the Response's @switched. */
void switched_keep(VALUE response, exchange *x, VALUE request);

/* ---- wait.c ---- */

/* Drives `x`, without the GVL, until a step returns another result than STEP_WAIT, and returns
 * that. at_once: steps before it waits. Raises for an interrupt of this thread: to be called under
 * rb_protect. */
step_result wait_drive(exchange *x, bool at_once);

/* A stop request that ends the driving in this thread when the thread is interrupted. It contains
 * pointers into itself, and must not be moved. */
typedef struct {
    stop_request request;
    struct RTypedData thread; /* a copy of the Thread, outside of the heap */
} thread_stop;

/* Fills in `s` for the current thread; `s` must not be used by another. */
void wait_stop_begin(thread_stop *s);

/* Returns whether this thread has just waited long for the GVL, because other threads compute. It
 * then keeps the GVL for short operations, since it would have to wait as long again. */
bool wait_keeps_gvl(void);

/* State shared by successive waits of one exchange loop. */
typedef struct {
    nanoseconds gvl_wait;   /* how long the last wait took to get the GVL back */
    nanoseconds last_yield; /* when the other fibers last ran, under a Fiber scheduler */
    /* Number of polls with the GVL that will not wait, because the last one that waited found
     * nothing; and that number after the last vain wait. */
    uint32_t wait_skips, wait_backoff;
} loop_waits;

/* Drives an exchange loop until a member is ready, until `until`, or until `stop` requests an end.
 * `own` is the loop's waker. Raises as wait_drive does. Under a Fiber scheduler the other fibers
 * run while it waits. */
void wait_exchange_loop(exchange_loop *p, waker *own, nanoseconds until, stop_request *stop,
                        loop_waits *w);

/* Under a Fiber scheduler: lets the other fibers run, unless they last ran (*last_yield) less than
 * a millisecond ago. For exchanges that may never wait, because the server reads or sends as fast
 * as it can. May raise, as every wait may. */
void wait_yield_to_fibers(nanoseconds *last_yield);

/* Adds `gvl_wait` to the exchange's time of waiting for the GVL, if the step has returned a part of
 * a response. After the last step, response_conclude computes that time. */
void wait_note_gvl_wait(exchange *x, step_result step, nanoseconds gvl_wait);

/* Like memcpy, but releases the GVL for large copies. Neither memory may move meanwhile. */
void wait_copy(void *to, const void *from, size_t length);

/* ---- errors.c ---- */

/* errors_build returns, and errors_raise raises, the exception for a failed exchange. */
VALUE errors_build(const exchange *x, VALUE request);
NORETURN(void errors_raise(const exchange *x, VALUE request));

/* Raises the exception for an incomplete response, from r->broken; if that is NULL, for lack of
 * memory. */
NORETURN(void errors_raise_broken(const response *r));

/* Raises the exception for a failure without an exchange. request: nil, or the Request for which it
 * happened. */
NORETURN(void errors_raise_failure(const failure *f, VALUE request));

/* Raises an InvalidRequest with a message in the format of rb_sprintf. */
NORETURN(void errors_invalid(const char *format, ...));

/* ---- the Ruby classes, modules and methods of each file ---- */

/* Each defines those of the file of its name. Init_trunkline calls them once, in this order. */
void errors_init(void);
void engine_config_init(void);
void engine_origin_init(void);
void engine_pool_init(void);
void request_init(void);
void request_builder_init(void);
void bounds_init(void);
void features_init(void);
void openssl_store_init(void);
void charset_init(void);
void response_init(void);
void response_builder_init(void);
void perform_init(void);
void body_reading_init(void);
void body_saving_init(void);
void switched_init(void);
void multi_init(void);
void json_batches_init(void);
void process_limits_init(void);
void stub_response_init(void);
void event_stream_init(void);
void wait_init(void);

#endif
