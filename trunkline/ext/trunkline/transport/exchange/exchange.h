#ifndef TRUNKLINE_TRANSPORT_EXCHANGE_EXCHANGE_H
#define TRUNKLINE_TRANSPORT_EXCHANGE_EXCHANGE_H

#include "protocol/buffer.h"
#include "transport/http2/http2_connection.h"
#include "transport/pool/pool.h"
#include "transport/common/options.h"
#include "transport/events/stop.h"

#include <poll.h>

/*
 * One request and its answer: a state machine that never blocks. exchange_step moves it as far as
 * it goes without waiting and says what must happen next; exchange_wait says what to wait for.
 * Whoever drives it drives its connection; nobody else touches that.
 */

/* What is sent. All memory is borrowed, and outlives the exchange but for its end by exchange_abort
 * or exchange_free: the collector may free both at a time, in any order. */
typedef struct {
    const route *to;
    const call_options *options;
    const char *head; /* request line and fields, complete */
    size_t head_length;
    const char *body;    /* NULL: none, or it comes by exchange_feed */
    int64_t body_length; /* 0: none; -1: chunked, by exchange_feed */
    bool fed;            /* the body comes by exchange_feed */
    bool head_method;    /* HEAD: the answer has no body */
    bool safe_method;    /* GET, HEAD, OPTIONS, TRACE */
    bool expects;        /* the head has Expect: 100-continue */
    bool says_close;     /* the head has Connection: close: the connection is not used again */
    bool streaming;      /* the caller takes the answer piece by piece */
    bool tells_hints;    /* the caller wants to be told of each 103 at once */
    bool only_connects;  /* nothing is sent: the connection is left in the pool for the next call */
} exchange_request;

typedef enum {
    STEP_WAIT,        /* see exchange_wait */
    STEP_BODY_WANTED, /* call exchange_feed, then step on */
    STEP_HINTS,       /* a 103 came: see ->hints; step on */
    STEP_HEAD,        /* the head is there; a body buffer may be set now; step on for the body */
    STEP_DATA,        /* ->body holds bytes for the caller to take (streaming); step on */
    STEP_BODY_BUFFER_FULL, /* give the body buffer more room; step on */
    STEP_COLLECT, /* it waits for a place, and some are held by answers that nobody reads just
                     now: have those collected that were dropped; step on */
    STEP_DONE,    /* all is there, and the connection is back in the pool, or closed */
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

#define EXCHANGE_PIECE (128 * 1024) /* a streaming caller is given so much before there is more */
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
} exchange_timings;

typedef struct exchange {
    exchange_request request;
    pool *pool;          /* one reference */
    waker *waker;        /* one reference; its driver's */
    event_loop *watcher; /* borrowed; its exchange loop's; NULL: it is driven alone */
    exchange_state state;
    unsigned generation; /* of the process that began it */

    /* what came: read these after STEP_HEAD, STEP_DATA, STEP_DONE */
    http1_response answer;
    const uint8_t *head;      /* answer.head_length bytes; NULL until the head is complete */
    buffer body;              /* decoded; what the caller has not taken yet */
    uint64_t delivered;       /* bytes of the body so far, decoded */
    uint64_t body_limit;      /* of ->delivered; 0: none */
    hint *hints, **hints_end; /* owned */
    exchange_timings timings;
    failure why;
    refusal *refused;    /* owned: why a proxy refused; NULL: none did */
    nanoseconds allowed; /* the limit that was passed, when `why` is a timeout; else -1 */

    /* the connection that carries it, and what is told of it later */
    connection *connection; /* NULL: none now */
    uint64_t connection_id;
    bool reused;
    nanoseconds connection_age;           /* when the request was sent; -1: there was none */
    const char *tls_version, *tls_cipher; /* static; NULL: plain */
    attempt attempts[EXCHANGE_ATTEMPTS];
    uint32_t attempt_count;

    /* the states' own: sending */
    buffer frame;        /* head with a small body, or a fed piece; owned */
    const char *segment; /* being sent; borrowed, or in frame */
    size_t segment_length, segment_sent;
    int64_t fed_bytes;       /* of the body so far, to be held against body_length */
    uint64_t sent_bytes;     /* of this attempt, handed to the connection */
    uint64_t session_before; /* tls_sent when this attempt began */
    bool body_queued;        /* no segment is left to come */
    bool piece_wanted;       /* the caller must feed */
    bool request_done;       /* nothing more will be sent */
    bool request_cut;        /* ... and that was not all: the connection is of no further use */
    bool awaits_continue;
    failure write_failure; /* sending broke, but an answer may lie there */

    /* receiving */
    buffer input;      /* not yet taken apart */
    buffer head_bytes; /* what ->head points into */
    inflater *inflater;
    buffer packed;        /* came, and is not unpacked yet; owned */
    bool unpacks_more;    /* the inflater can go on with that */
    uint8_t *body_buffer; /* borrowed; the body goes right here when set */
    size_t body_buffer_room;
    bool any_byte; /* of any answer, in this attempt */

    /* HTTP/2 */
    bool http2; /* this attempt is, or the last one was, over a shared connection */
    http2_call call;
    http2_batch *batch;  /* one reference; its exchange loop's; NULL: it is driven alone */
    bool in_fiber;       /* it is driven by a fiber under a scheduler */
    bool body_ended;     /* all of the body was handed over */
    bool stopped;        /* its stream was let go */
    bool no_stream_free; /* no stream could be opened, though there was a place */
    bool displaced;      /* the connection takes no calls any more */
    bool unprocessed;    /* the server has certainly not acted on it */
    sent_state sent_so_far;
    nanoseconds wake_at; /* when to look again, though nothing has come */

    /* waiting */
    pool_ticket ticket;
    dial *dialling;
    short events;            /* what to poll the connection for */
    bool again;              /* do not wait: more can be done at once */
    bool poll_first;         /* nothing can have come yet */
    bool resumed;            /* the caller had it: its time does not count for the phase */
    bool resting;            /* see exchange_rest */
    nanoseconds collect_at;  /* when to ask for a collection, while it waits for a place */
    nanoseconds waits_since; /* for that place */
    nanoseconds idle_timeout, max_age; /* of its connection; as in request.options */
    call_phase phase;
    nanoseconds began, deadline, total_deadline, sending_began, sent_at;
} exchange;

/* One to begin with, from those that were given back (with the memory that they read into) or made.
 * NULL: no memory. */
exchange *exchange_new(void);

/* Aborts it if it is not over, frees what it owns, and gives it back. NULL is fine. In a child one
 * that the parent began is left alone, and its memory lost. */
void exchange_free(exchange *x);

/* Is one call under way in this process, and no other? */
bool exchange_alone(void);

/* Keeps one reference of the pool and of the waker. `deadline` is absolute (NEVER: none but
 * request->options->total). */
void exchange_begin(exchange *x, const exchange_request *request, pool *p, waker *w,
                    nanoseconds deadline);

step_result exchange_step(exchange *x, nanoseconds now);

/* What to wait for: fills at most `room` (>= DIAL_MAX_ATTEMPTS) entries and returns how many; the
 * waker is not among them. *deadline: when to step in any case. */
int exchange_wait(const exchange *x, struct pollfd *entries, int room, nanoseconds *deadline);

/* The next piece of the body, which is copied. NULL, 0: that was all. */
void exchange_feed(exchange *x, const char *piece, size_t length);

/* Where a large plain body goes without a copy: `room` bytes from now on. */
void exchange_set_body_buffer(exchange *x, uint8_t *bytes, size_t room);

/* A streaming caller keeps what is left of the body: the limit for bodies that are kept holds for
 * it too. */
void exchange_keep_rest(exchange *x);

/* Has something come for it while it followed another call on its shared connection? */
bool exchange_touched(const exchange *x);

/* Its waker, which it may share, was woken. Can that have been for it: for a place, an address, or
 * what came on its shared connection? */
bool exchange_called(const exchange *x);

/* It is one of an exchange loop's from now on; NULL: driven alone again. */
void exchange_join(exchange *x, http2_batch *batch, event_loop *watcher);

/* How much of the request the server can have. */
sent_state exchange_sent(const exchange *x);

/* Ends it, wherever it stands: the connection is closed unless the exchange was done. */
void exchange_abort(exchange *x);

/* A streamed answer is in its caller's hands, who may have dropped it; or is driven again. */
void exchange_rest(exchange *x, bool resting);

/* Are there any such in this process? */
bool exchange_any_rests(void);

/* Around fork: the child starts without any that were given back. */
void exchange_before_fork(void);
void exchange_after_fork(bool child);

/* Until when its driver may poll for the answer without sleeping; 0: it may not. */
nanoseconds exchange_awake_until(const exchange *x);

/* Drives `x` until something but STEP_WAIT happens, blocking in poll; returns early with STEP_WAIT
 * when `stop` asks for it. No Ruby here: it runs without the GVL. */
step_result exchange_drive(exchange *x, const stop_request *stop);

/* Nobody drives `x` until its waker is told of its driver's return (waker_arrive), and it is
 * stepped again: other calls on its HTTP/2 connection are read by one of them meanwhile, and none
 * waits for what it dials. */
void exchange_depart(exchange *x);

#endif
