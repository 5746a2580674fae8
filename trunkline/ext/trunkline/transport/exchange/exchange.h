#ifndef TRUNKLINE_TRANSPORT_EXCHANGE_EXCHANGE_H
#define TRUNKLINE_TRANSPORT_EXCHANGE_EXCHANGE_H

#include "protocol/buffer.h"
#include "transport/http2/http2_connection.h"
#include "transport/pool/pool.h"
#include "transport/common/options.h"
#include "transport/events/stop.h"

#include <poll.h>

/*
 * One request and its response: a state machine that never blocks. exchange_step moves it as far as
 * it goes without waiting, and returns what must happen next; exchange_wait says what to wait for.
 * The thread that runs an exchange, its driver, has exclusive use of its connection; over HTTP/2
 * each step holds the connection's lock.
 */

/* What is sent. All memory is borrowed and outlives the exchange; but exchange_abort and
 * exchange_free read none of it, because Ruby's collector frees both in any order. */
typedef struct {
    const route *to;
    const call_options *options;
    const char *head; /* request line and fields, complete */
    size_t head_length;
    const char *body;    /* NULL: none, or it comes by exchange_feed */
    int64_t body_length; /* 0: none; -1: chunked, by exchange_feed */
    bool fed;            /* the body comes by exchange_feed */
    bool head_method;    /* HEAD: the response has no body */
    bool safe_method;    /* GET, HEAD, OPTIONS, TRACE */
    bool expects;        /* the head has Expect: 100-continue */
    bool says_close;     /* the head has Connection: close: the connection is not used again */
    bool streaming;      /* the caller takes the body piece by piece */
    bool tells_hints;    /* STEP_HINTS is returned for each 103 */
    bool tells_progress; /* STEP_PROGRESS is returned while the body is sent */
    bool only_connects;  /* nothing is sent: the connection is opened, and left in the pool */
    bool upgrades;       /* it asks to switch protocols (RFC 9110 7.8, RFC 8441): see switched.h */
} exchange_request;

typedef enum {
    STEP_WAIT,             /* see exchange_wait */
    STEP_BODY_WANTED,      /* call exchange_feed, then step on */
    STEP_HINTS,            /* a 103 came: see ->hints; step on */
    STEP_PROGRESS,         /* call exchange_progress, then step on */
    STEP_HEAD,             /* the head came; a body buffer may be set now; step on for the body */
    STEP_DATA,             /* ->body holds bytes for the caller to take (streaming); step on */
    STEP_BODY_BUFFER_FULL, /* give the body buffer more room; step on */
    STEP_COLLECT, /* it waits for a connection, and streamed responses that nobody reads hold some:
                     have those collected that were dropped; step on */
    STEP_DONE,    /* complete; the connection is back in the pool, or closed */
    STEP_FAILED   /* see ->why; the connection is closed */
} step_result;

/* How much of a request was handed to the socket. */
typedef enum { SENT_NONE, SENT_PARTIAL, SENT_ALL } sent_state;

const char *sent_word(sent_state sent); /* "none", "partial", "all" */

typedef enum { ATTEMPT_FIRST, ATTEMPT_MOVED, ATTEMPT_REPLAYED } attempt_reason;

typedef struct {
    attempt_reason reason;
    sent_state sent;
    failure_code code; /* how it ended; FAILURE_NONE: well, or not yet */
    char address[80];
} attempt;

#define EXCHANGE_PIECE (128 * 1024) /* a streaming caller takes so much before more is read */
#define EXCHANGE_ATTEMPTS 3         /* the first, one moved, one replayed */

/* The head of a 103 (RFC 8297), kept. */
typedef struct hint {
    struct hint *next;
    http1_field *fields; /* owned */
    uint32_t field_count;
    uint8_t *bytes; /* owned */
} hint;

typedef enum {
    EXCHANGE_START,
    EXCHANGE_QUEUED,
    EXCHANGE_DIALLING,
    EXCHANGE_TALKING,
    EXCHANGE_DONE,
    EXCHANGE_FAILED
} exchange_state;

/* -1: the phase did not happen. */
typedef struct {
    nanoseconds queue, resolve, connect, tls, write, first_byte, total;
    nanoseconds gvl;   /* how long what came last has waited for Ruby */
    nanoseconds began; /* a moment of the clock; 0: the answer came over no connection */
} exchange_timings;

typedef struct exchange {
    exchange_request request;
    pool *pool;          /* one reference */
    waker *waker;        /* one reference; its driver's */
    event_loop *watcher; /* borrowed from its exchange loop; NULL: it is driven alone */
    exchange_state state;
    unsigned generation; /* of the process that began it */

    /* the response, beside what is at the end: to be read after STEP_HEAD, STEP_DATA, STEP_DONE */
    const uint8_t *head;      /* answer.head_length bytes; NULL until the head is complete */
    uint64_t delivered;       /* bytes of the body so far, decoded */
    uint64_t body_limit;      /* of ->delivered; 0: none */
    hint *hints, **hints_end; /* owned */
    exchange_timings timings;
    failure why;
    refusal *refused;    /* owned; a proxy's response to CONNECT; NULL: none refused */
    nanoseconds allowed; /* the limit that was passed, when `why` is a timeout; else -1 */

    /* the connection, and what is reported of it */
    connection *connection; /* NULL: none now */
    uint64_t connection_id;
    bool reused;
    nanoseconds connection_age;           /* when the request was sent; -1: there was none */
    const char *tls_version, *tls_cipher; /* static; NULL: plain */
    attempt attempts[EXCHANGE_ATTEMPTS];
    uint32_t attempt_count;

    /* sending; the fields from here on belong to the state machine */
    buffer frame;        /* head with a small body, or a fed piece; owned */
    const char *segment; /* being sent; borrowed, or in frame */
    size_t segment_length, segment_sent;
    int64_t fed_bytes;       /* of the body so far, to be held against body_length */
    uint64_t sent_bytes;     /* of this attempt, handed to the connection */
    uint64_t body_sent;      /* of those, bytes of the body */
    nanoseconds progress_at; /* when to return STEP_PROGRESS again, at the earliest */
    bool progress_due;       /* call exchange_progress */
    bool body_begun;         /* the server can have some of the body */
    uint64_t session_before; /* tls_sent when this attempt began */
    bool body_queued;        /* the segment is the last one */
    bool piece_wanted;       /* the caller must feed */
    bool request_done;       /* nothing more will be sent */
    bool request_cut;        /* and not all was sent: the connection cannot be used again */
    bool awaits_continue;
    failure write_failure; /* writing failed, but a response may have arrived */

    /* receiving */
    inflater *inflater;
    buffer packed;        /* body bytes that are not decoded yet; owned */
    bool unpacks_more;    /* the inflater can go on with those */
    uint8_t *body_buffer; /* borrowed; the body is read into it when it is set */
    size_t body_buffer_room;
    bool any_byte; /* of a response has come in this attempt */
    size_t room;   /* for the next read of a streamed body; 0: the least */

    /* HTTP/2 */
    bool http2; /* this attempt, or the last one, uses a shared connection */
    http2_call call;
    http2_batch *batch;  /* one reference, its exchange loop's; NULL: it is driven alone */
    bool in_fiber;       /* it is driven by a fiber under a scheduler */
    bool body_ended;     /* all of the request's body was given to http2_feed */
    bool stopped;        /* its stream was released */
    bool declined;       /* the server takes no extended CONNECT */
    bool no_stream_free; /* the server allows no further stream just now */
    bool displaced;      /* the connection takes no calls any more: use another one */
    bool unprocessed;    /* the server has certainly not acted on the request */
    sent_state sent_so_far;
    nanoseconds wake_at; /* when to step in any case */

    /* waiting */
    pool_ticket ticket;
    dial *dialling;
    short events;            /* what to poll the connection for */
    bool again;              /* do not wait: more can be done at once */
    bool read_waits;         /* the next read waits itself (connection_wait_in_read) */
    bool poll_first;         /* wait before the first read: nothing can have come yet */
    bool resumed;            /* the caller had control: the phase's timeout starts anew */
    bool resting;            /* see exchange_rest */
    bool behind;             /* its driver was away: what it reads now may have come before */
    nanoseconds collect_at;  /* when to return STEP_COLLECT, while it waits for a connection */
    nanoseconds waits_since; /* for that connection */
    nanoseconds idle_timeout, max_age; /* of the connection; copied from request.options */
    call_phase phase;
    nanoseconds began, deadline, total_deadline, sending_began, sent_at;
    nanoseconds stepped_at; /* when the last step ended; 0: it did not look at the clock then */

    /* what the next call reads into, too: see exchange_free. `answer` is the first. */
    http1_response answer;
    buffer body;       /* decoded bytes that the caller has not taken yet */
    buffer input;      /* read, and not parsed yet */
    buffer head_bytes; /* what ->head points into */
} exchange;

/* Returns an exchange for exchange_begin, from the free list (with the buffers that it read into)
 * or a new one; NULL without memory. */
exchange *exchange_new(void);

/* Aborts `x` unless it is over, frees what it owns, and returns it to the free list. NULL is fine.
 * In a forked child an exchange of the parent's is left alone, and its memory lost. */
void exchange_free(exchange *x);

/* Is exactly one call under way in this process? */
bool exchange_alone(void);

/* Readies `x` for its first step. Copies *request; adds a reference to the pool and the waker.
 * `deadline` is a point in time that limits the call beside request->options->total; NEVER: none.
 */
void exchange_begin(exchange *x, const exchange_request *request, pool *p, waker *w,
                    nanoseconds deadline);

/* Moves `x` as far as it goes without waiting; see step_result. After STEP_DONE and STEP_FAILED it
 * returns the same again. */
step_result exchange_step(exchange *x, nanoseconds now);

/* What to wait for after STEP_WAIT: fills at most `room` (>= DIAL_MAX_ATTEMPTS) entries and returns
 * how many; the waker is not among them. *deadline is when to step in any case; 0: at once. */
int exchange_wait(const exchange *x, struct pollfd *entries, int room, nanoseconds *deadline);

/* Has a complete exchange switched protocols, and does it still have its connection? */
bool exchange_switched(const exchange *x);

/* Gives the next piece of the request's body after STEP_BODY_WANTED; it is copied. NULL, 0: the
 * body is complete. */
void exchange_feed(exchange *x, const char *piece, size_t length);

/* To be called after STEP_PROGRESS, and after any other step while ->progress_due is set. Returns
 * how many bytes of the body were handed to the connection; *over: this attempt sends no more. The
 * first of each attempt, before anything is sent, is 0. */
uint64_t exchange_progress(exchange *x, bool *over);

/* Has the body read into `bytes` without a copy: `room` bytes from now on, borrowed until the body
 * is complete or the buffer is replaced. After STEP_HEAD and STEP_BODY_BUFFER_FULL alone. */
void exchange_set_body_buffer(exchange *x, uint8_t *bytes, size_t room);

/* The caller of a streamed response keeps what is left of the body: max_body_bytes holds for that.
 */
void exchange_keep_rest(exchange *x);

/* Has another call, which reads their shared connection, received something for it? */
bool exchange_touched(const exchange *x);

/* Should `x` be stepped because its waker was woken? The waker may be shared, and does not say for
 * which exchange it was woken: for a connection, an address, or bytes on a shared connection. */
bool exchange_called(const exchange *x);

/* Makes `x` a member of an exchange loop, which gives its batch and event loop; NULL, NULL: it is
 * driven alone again. */
void exchange_join(exchange *x, http2_batch *batch, event_loop *watcher);

/* How much of the request the server can have received. */
sent_state exchange_sent(const exchange *x);

/* Ends `x` with FAILURE_CANCELLED and closes its connection, unless it is over already. */
void exchange_abort(exchange *x);

/* A streamed response was returned to its caller, who may drop it half read; or is driven again.
 * exchange_any_rests: are there any such in this process? */
void exchange_rest(exchange *x, bool resting);

bool exchange_any_rests(void);

/* Around fork: the child starts with an empty free list. */
void exchange_before_fork(void);
void exchange_after_fork(bool child);

/* Until when the driver may busy-poll for the response; 0: it may not. */
nanoseconds exchange_awake_until(const exchange *x);

/* Waits for the response for `span` if that of the connection's last call came within it, and no
 * such wait was in vain lately. Returns whether there is something to step for. */
bool exchange_wait_briefly(exchange *x, nanoseconds span);

/* May the driver wait for the response in its read, without a poll before it? */
bool exchange_may_wait_in_read(const exchange *x, nanoseconds now);

/* Steps `x`, waiting in between, until something but STEP_WAIT happens. Returns STEP_WAIT when
 * `stop` asks for it. Runs without the GVL. */
step_result exchange_drive(exchange *x, const stop_request *stop);

/* The driver of `x` stops driving until it calls waker_arrive and steps it again. Meanwhile another
 * call reads their shared connection, and none waits for what `x` dials. */
void exchange_depart(exchange *x);

#endif
