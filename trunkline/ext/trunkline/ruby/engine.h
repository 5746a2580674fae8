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
 * the GVL; wait.c alone releases it.
 */

extern VALUE mTrunkline, mEngine, cResponse;

static inline VALUE engine_symbol(const char *word) {
    return ID2SYM(rb_intern(word));
}

/* Returns the struct of an object of this very type, as rb_check_typeddata does, which costs five
 * times as much, six times in a call. Of another object it does what that does. */
static inline void *engine_data(VALUE object, const rb_data_type_t *type) {
    if (RB_TYPE_P(object, T_DATA) && RTYPEDDATA_P(object) && RTYPEDDATA_TYPE(object) == type)
        return RTYPEDDATA_DATA(object);
    return rb_check_typeddata(object, type);
}

/* ---- blocks.c ---- */

#define REQUEST_BYTES 512
#define RESPONSE_BYTES 1024

typedef enum { BLOCK_REQUEST, BLOCK_RESPONSE } block_kind;

/* Returns memory for one, which is the caller's until block_give; NULL without memory. */
void *block_take(block_kind kind);
void block_give(block_kind kind, void *block);

/* ---- engine_pool.c ---- */

pool *pool_get(VALUE object);
void engine_pool_init(void);

/* ---- engine_config.c: how a client's calls are made ---- */

typedef struct {
    call_options options;
    tls_options tls;      /* its strings are owned by this struct */
    struct egress egress; /* what options.egress points at, unless that is NULL; owned */
    bool begun, ready;    /* Config.new was called; and it succeeded */
} config_object;

config_object *config_get(VALUE object);

/* Make the TLS context for servers, or for https proxies, unless it is there. Raise a TLSError with
 * `request` (nil: none). */
void config_need_context(config_object *c, VALUE request);
void config_need_proxy_context(config_object *c, VALUE request);

/* Returns the value of a key. Raises unless `hash` is a Hash that has it. */
VALUE engine_fetch(VALUE hash, const char *key);

/* A number of seconds as nanoseconds; nil is NEVER. */
nanoseconds engine_seconds(VALUE seconds);

/* A span as a Float of seconds; nil for NEVER, and for a negative one (it did not happen). */
VALUE engine_seconds_or_nil(nanoseconds span);

/* To be called at the start of `initialize`: raises when `self` is frozen, or *begun is set
 * already, which it then sets. An object whose `initialize` has raised is not initialized again. */
void engine_begin_once(VALUE self, bool *begun);
/* ---- engine_egress.c: where its calls may go ---- */

/* Fills in the rule from the Hash of Options::Egress; the caller frees it, also when this raises.
 */
void engine_fill_egress(egress *e, VALUE hash);

void engine_config_init(void);

/* ---- engine_origin.c: where a client's requests to one origin go ---- */

typedef struct {
    VALUE config_value;    /* keeps `config` alive */
    VALUE url;             /* the origin's root, a Trunkline::URL */
    VALUE json_decoder;    /* callable, or nil */
    VALUE forwarder;       /* the Proxy that is sent the requests themselves, or nil */
    VALUE authorization;   /* the value of Authorization that netrc has for the host, or nil */
    config_object *config; /* borrowed from config_value */
    route to;
    proxy proxy;           /* what `to` points at, when there is one */
    const char *authority; /* the value of Host */
    const char *prefix;    /* "https://api.test:8443" */
    size_t authority_length, prefix_length;
    char *strings; /* owned: what all texts point into */
    size_t strings_size;
    buffer key;           /* owned; made when the first request is begun */
    bool absolute_form;   /* requests are sent to a proxy, with `prefix` before their targets */
    bool bound_fields;    /* the client's credentials and its Host field are for this origin */
    bool begun, complete; /* Origin.new was called; and it succeeded */
} origin_object;

origin_object *origin_get(VALUE object);

/* Makes the key of its connections, and the TLS contexts that the key names, unless they are there.
 * Raises a TLSError with `request`. */
void origin_need_key(origin_object *o, VALUE request);
void engine_origin_init(void);

/* ---- response.c ---- */

/* Why a response that was returned to its caller is not complete. */
typedef struct {
    failure why;
    nanoseconds allowed; /* the timeout that was exceeded; -1: none */
    bool unprocessed;    /* the server has certainly not acted on the request */
} broken_answer;

/* The line of the program that asked for a streamed response. */
typedef struct drop_note {
    struct drop_note *next;
    char place[]; /* "app/fetch.rb:12" */
} drop_note;

/* The data of a Trunkline::Response. What it owns comes first, so that response_free reads one
 * cache line of it; `attempts` comes last, because it is not cleared. */
typedef struct {
    exchange *live;         /* owned; NULL when it is over: then the fields below are set */
    void *head_block;       /* owned; holds fields and head; NULL: they follow this struct */
    uint8_t *trailer_bytes; /* owned */
    http1_field *trailers;  /* owned */
    hint *early_hints;      /* owned */
    drop_note *note;        /* owned; NULL: no warning if it is collected half read */
    broken_answer *broken;  /* owned; NULL: it is complete, or not over */

    VALUE request;  /* a Trunkline::Request, which has what is sent */
    VALUE into;     /* the String that the next piece is read into; nil: a new one */
    VALUE body;     /* a String once it is complete; pinned while the exchange writes into it */
    VALUE held;     /* frozen String or nil; see body_reading.c */
    long held_from; /* how much of it was taken */
    uint64_t saved; /* bytes that are in a file; see body_saving.c */
    size_t since_others; /* bytes that were read since other threads had their turn */
    int encoding;        /* see response_encoding */
    bool body_is_buffer; /* the exchange writes into ->body */
    bool busy;           /* it is being read, or belongs to a Multi: not to be read or closed */

    int status, minor_version;
    uint32_t reason, reason_length;
    http1_framing framing;
    bool complete, http2, reused, body_begun;
    const uint8_t *head; /* the fields point into it */
    const http1_field *fields;
    uint32_t field_count, trailer_count, attempt_count;
    exchange_timings timings;
    uint64_t connection_id;
    nanoseconds connection_age;
    const char *tls_version, *tls_cipher;
    attempt attempts[EXCHANGE_ATTEMPTS];
} response;

#define ENCODING_NOT_LOOKED_UP (-2)

VALUE response_allocate(response **out);

/* Warns of each response that was collected half read, and so kept its connection until then. */
void response_warn_of_dropped(void);

/* Copies the head from its parser and the `bytes` that were parsed. Returns false without memory.
 */
bool response_keep_head(response *r, const http1_response *answer, const uint8_t *bytes);
response *response_get(VALUE object);
/* A field's name in lower case: one frozen String for all fields of that name. */
VALUE lower_name(const uint8_t *name, uint32_t length);

/* Adds a field to a Hash of values by such names; repeated ones are joined by ", ". */
void fields_by_name_add(VALUE hash, VALUE name, VALUE value);
VALUE response_fields(const http1_field *fields, uint32_t count, const uint8_t *bytes);
/* Returns the index of the body's Encoding, by its head, which must be there; -1: none is known. */
int response_encoding(response *r);
void response_set_encoding(response *r, VALUE body);
void response_init(void);

/* An Array of [number, reason, address, sent, error] for each; see lib/trunkline/engine.rb. */
VALUE response_attempts(const attempt *attempts, uint32_t count);

/* ---- descriptors.c ---- */

/* As waker_take and exchange_loop_new; they close idle connections until there is a descriptor.
 * Raise a ConnectError with `request` when there is none. */
waker *descriptors_waker(VALUE request);
exchange_loop *descriptors_exchange_loop(waker *w, VALUE request);

/* ---- process_limits.c ---- */

void process_limits_init(void);

/* ---- response_builder.c: serves an exchange, and keeps its result ---- */

/* Makes a Response and begins its exchange.
 *
 * deadline: monotonic seconds, or nil. only_connects: nothing is sent. w: the exchange's waker, to
 * which a reference is added; NULL: one of its own.
 * Raises for bad arguments, and without memory or a descriptor. */
VALUE response_begin(VALUE pool, VALUE request, VALUE deadline, bool only_connects, waker *w);

/* Does what `step` asks for, and returns true when the exchange is to be stepped again; false when
 * the caller must go on by itself. Raises what the program's own code raises. */
bool response_serve(VALUE self, response *r, step_result step);

VALUE response_take_body(exchange *x,
                         VALUE into); /* what has been read, as `into` or (nil) a String */
void response_take_head(response *r); /* the response has the head from now on */
void response_conclude(VALUE self, response *r); /* after STEP_DONE: all is the response's */
void response_end(response *r); /* aborts what is not over, and lets the exchange go */
void response_builder_init(void);

/* ---- charset.c ---- */

/* Returns the index of the Encoding for a charset's name, after loading it; -1: it is not known.
 * The name needs no NUL. */
int charset_index(const char *name, size_t length);

/* Returns how many of the bytes, which begin with a character, are whole characters or invalid. */
long charset_whole(const char *bytes, long length, rb_encoding *encoding);
void charset_init(void);

/* ---- perform.c ---- */

/* Drives r's exchange until the caller of `self`, its Response, has something: a head or data
 * (streaming), or the end. Raises what reading raises: to be called under response_guarded. */
step_result response_run(VALUE self, response *r);

/* Runs `body` under rb_protect; when it raises, the exchange is ended before the exception goes on.
 */
VALUE response_guarded(VALUE (*body)(VALUE), VALUE argument, response *r);
void perform_init(void);

/* ---- multi.c ---- */

void multi_init(void);

/* ---- openssl_store.c ---- */

struct x509_store_st;

/* Returns the store within an OpenSSL::X509::Store, with a reference for the caller; NULL for nil.
 * Raises for any other object. */
struct x509_store_st *openssl_store_keep(VALUE object);
void openssl_store_init(void);
void openssl_store_release(struct x509_store_st *store); /* NULL is fine */

/* ---- bounds.c ---- */

void bounds_init(void);
void features_init(void);

/* ---- body_reading.c ---- */

/* Returns what was read too much, as a String of the caller's, and forgets it; nil: nothing. */
VALUE response_take_held(response *r);
void body_reading_init(void);

/* ---- body_saving.c ---- */

void body_saving_init(void);

/* ---- switched.c ---- */

/* Gives the connection of an exchange that is complete to an Engine::Switched, which becomes the
 * Response's @switched, if its answer was 101. */
void switched_keep(VALUE response, exchange *x, VALUE request);
void switched_init(void);

/* ---- event_stream.c ---- */

void event_stream_init(void);

/* ---- json_batches.c ---- */

void json_batches_init(void);

/* ---- stub_response.c ---- */

void stubbed_init(void);

/* ---- wait.c ---- */

/* Drives `x`, without the GVL, until a step returns something but STEP_WAIT, which it returns.
 * at_once: steps before it waits. Raises for an interrupt of this thread: to be called under
 * rb_protect. */
step_result wait_drive(exchange *x, bool at_once);

/* A stop request for drivers in this thread, which its interrupts end; it has addresses inside of
 * itself, and must not be moved. */
typedef struct {
    stop_request request;
    struct RTypedData thread; /* a copy: only its address in the heap is another */
} thread_stop;

void wait_stop_begin(thread_stop *s);

/* Did this thread have to wait long for the GVL just now, because others compute? Then it does
 * small things with it, since it would have to wait as long again. */
bool wait_keeps_gvl(void);

/* What the waits of one exchange loop know of each other. */
typedef struct {
    nanoseconds late; /* how long it took to have the GVL again for what is ready */
    nanoseconds turn; /* when the other fibers last ran, of a Fiber scheduler */
    /* How many looks with the GVL do not wait, because one that waited found nothing; and how many
     * did not the last time. */
    uint32_t hurried, hurried_before;
} loop_waits;

/* Drives an exchange loop until a member is ready, `until`, or `stop`. `own` is the loop's waker.
 * Raises as wait_drive. Under a Fiber scheduler the other fibers run while it waits, if it must. */
void wait_exchange_loop(exchange_loop *p, waker *own, nanoseconds until, stop_request *stop,
                        loop_waits *w);

/* Under a Fiber scheduler: lets the other fibers run, unless *turn, when they last did, is less
 * than a millisecond ago. For what may go on without a wait, since its server takes or sends as
 * fast as it can. May raise, as all that waits. */
void wait_let_others_run(nanoseconds *turn);

/* Notes that what a step has brought of an answer waited for the GVL. After the last step
 * response_conclude finds it out. */
void wait_note_late(exchange *x, step_result step, nanoseconds late);

/* As memcpy; releases the GVL for large copies. Neither memory may move meanwhile. */
void wait_copy(void *to, const void *from, size_t length);
void wait_init(void);

/* ---- errors.c ---- */

/* Returns, or raises, the exception for a failed exchange. */
VALUE errors_build(const exchange *x, VALUE request);
NORETURN(void errors_raise(const exchange *x, VALUE request));

/* Raises the exception for a response that is not complete: r->broken is set. */
NORETURN(void errors_raise_broken(const response *r));
NORETURN(void errors_raise_failure(const failure *f, VALUE request));
NORETURN(void errors_invalid(const char *format, ...));
void errors_init(void);

#endif
