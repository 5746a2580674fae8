#ifndef TRUNKLINE_TRANSPORT_EXCHANGE_EXCHANGE_H
#define TRUNKLINE_TRANSPORT_EXCHANGE_EXCHANGE_H

#include "protocol/buffer.h"
#include "transport/http2/http2_connection.h"
#include "transport/pool/pool.h"
#include "transport/common/options.h"
#include "transport/events/stop.h"

#include <poll.h>

/*
 * One request and its response: a state machine that never blocks. exchange_step advances it as far
 * as possible without waiting, and returns what the caller must do next; exchange_wait returns what
 * to wait for. The thread that runs an exchange, its driver, has exclusive use of its connection;
 * over HTTP/2 each step holds the connection's lock.
 */

/* The request to send. All memory is borrowed and outlives the exchange; but exchange_abort and
 * exchange_free do not read it, because Ruby's garbage collector frees both in any order. */
typedef struct {
    const route *to;
    const call_options *options;
    const char *head; /* request line and fields, complete */
    size_t head_length;
    const char *body;      /* NULL: none, or passed by exchange_feed */
    int64_t body_length;   /* 0: none; -1: chunked, by exchange_feed */
    bool fed;              /* the body is passed by exchange_feed */
    bool head_method;      /* HEAD: the response has no body */
    bool safe_method;      /* GET, HEAD, OPTIONS, TRACE */
    bool expects;          /* the head has Expect: 100-continue */
    bool sends_close;      /* the head has Connection: close: the connection is not used again */
    bool streaming;        /* the caller takes the body piece by piece */
    bool reports_hints;    /* STEP_HINTS is returned for each 103 */
    bool reports_progress; /* STEP_PROGRESS is returned while the body is sent */
    bool only_connects;    /* no request is sent: the connection is opened and given to the pool */
    bool upgrades;         /* the request asks to switch protocols (RFC 9110 7.8, RFC 8441) */
} exchange_request;

typedef enum {
    STEP_WAIT,        /* see exchange_wait */
    STEP_BODY_WANTED, /* call exchange_feed, then step again */
    STEP_HINTS,       /* a 103 response arrived: see ->hints; step again */
    STEP_PROGRESS,    /* call exchange_progress, then step again */
    STEP_HEAD,        /* the head arrived; a body buffer may be set now; step again for the body */
    STEP_DATA,        /* ->body holds bytes for the caller to take (streaming); step again */
    STEP_BODY_BUFFER_FULL, /* set a larger or another body buffer; step again */
    STEP_COLLECT, /* the exchange waits for a connection while unread streamed responses hold some:
                     run the garbage collector, which frees dropped ones; step again */
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
    failure_code code; /* why it failed; FAILURE_NONE: it succeeded, or has not ended */
    char address[80];
} attempt;

#define EXCHANGE_PIECE (128 * 1024) /* the most streamed bytes to buffer */
#define EXCHANGE_ATTEMPTS 3         /* the first, one moved, one replayed */

/* The stored head of a 103 response (RFC 8297). */
typedef struct hint {
    struct hint *next;
    http1_field *fields; /* owned */
    uint32_t field_count;
    uint8_t *bytes; /* owned */
} hint;

/* Frees a list of hints. NULL is fine. */
void hints_free(hint *h);

typedef enum {
    EXCHANGE_START,
    EXCHANGE_QUEUED,
    EXCHANGE_DIALLING,
    EXCHANGE_TALKING,
    EXCHANGE_DONE,
    EXCHANGE_FAILED
} exchange_state;

/* Durations of the phases; -1: the phase did not happen. */
typedef struct {
    nanoseconds queue, resolve, connect, tls, write, first_byte, total;
    nanoseconds gvl; /* how long the bytes that arrived last waited for the driver to get the GVL */
    nanoseconds began; /* a point in time; 0: the response used no connection */
} exchange_timings;

typedef struct exchange {
    exchange_request request;
    pool *pool;          /* one reference */
    waker *waker;        /* one reference; the driver's waker */
    event_loop *watcher; /* borrowed from the exchange loop; NULL: `x` is in none */
    exchange_state state;
    unsigned generation; /* of the process that began the exchange */

    /* The response, together with the fields at the end; to be read after STEP_HEAD, STEP_DATA,
     * STEP_DONE. */
    const uint8_t *head;      /* response.head_length bytes; NULL until the head is complete */
    uint64_t delivered;       /* decoded bytes of the body so far */
    uint64_t body_limit;      /* maximum of ->delivered; 0: none */
    hint *hints, **hints_end; /* owned */
    exchange_timings timings;
    failure why;
    refusal *refused;    /* owned; the response of a proxy that refused CONNECT; NULL: none */
    nanoseconds allowed; /* the timeout that was exceeded, when `why` is a timeout; else -1 */

    /* The connection, and what the response reports about it. */
    connection *connection; /* NULL: none now */
    uint64_t connection_id;
    bool reused;
    nanoseconds connection_age; /* when the request was sent; -1: no connection was used */
    const char *tls_version, *tls_cipher; /* static; NULL: plain */
    attempt attempts[EXCHANGE_ATTEMPTS];
    uint32_t attempt_count;

    /* Sending; the fields from here on belong to the state machine. */
    buffer frame;        /* head with a small body, or a fed piece; owned */
    const char *segment; /* the bytes being sent; borrowed, or in ->frame */
    size_t segment_length, segment_sent;
    int64_t fed_bytes;       /* body bytes that were fed, to be compared with body_length */
    uint64_t sent_bytes;     /* bytes of this attempt that were handed to the connection */
    uint64_t body_sent;      /* body bytes among ->sent_bytes */
    nanoseconds progress_at; /* the earliest time of the next STEP_PROGRESS */
    bool progress_due;       /* exchange_progress must be called */
    bool body_begun;         /* the server may have received some of the body */
    uint64_t session_before; /* tls_sent when this attempt began */
    bool body_queued;        /* ->segment is the last one */
    bool piece_wanted;       /* the caller must call exchange_feed */
    bool request_done;       /* nothing more will be sent */
    bool request_cut; /* sending stopped before the end: the connection cannot be used again */
    bool awaits_continue;
    failure write_failure; /* writing failed, but a response may have arrived */

    /* Receiving. */
    inflater *inflater;
    buffer undecoded;     /* body bytes that are not decoded yet; owned */
    bool decodes_more;    /* the inflater can continue: call exchange_decode_more */
    uint8_t *body_buffer; /* borrowed; destination of the body; NULL: ->body */
    size_t body_buffer_room;
    bool any_byte;    /* a byte of a response arrived in this attempt */
    size_t read_size; /* bytes for the next read of a streamed body; 0: the minimum */

    /* HTTP/2. */
    bool http2; /* the current or last attempt uses a shared connection */
    http2_call call;
    http2_batch *batch; /* one reference; the exchange loop's; NULL: `x` is in none */
    bool in_fiber;      /* the driver is a fiber under a scheduler */
    bool body_ended;    /* all of the request's body was passed to http2_feed */
    bool stream_released;
    bool connect_unsupported;    /* the server, or this system, does not support extended CONNECT */
    bool no_stream_free;         /* the connection has no free stream at present */
    bool needs_other_connection; /* the connection takes no further calls: ask the pool again */
    bool unprocessed;            /* the server has certainly not acted on the request */
    sent_state sent_so_far;
    nanoseconds wake_at; /* when to step even without an event */

    /* Waiting. */
    pool_ticket ticket;
    dial *dialling;
    short events;            /* the poll events to wait for on the connection */
    bool again;              /* step again without waiting */
    bool read_waits;         /* the next read may wait (connection_wait_in_read) */
    bool poll_first;         /* poll before the first read: no response can have arrived yet */
    bool resumed;            /* the last step returned to the caller: restart the phase's timeout */
    bool held_by_caller;     /* see exchange_set_held_by_caller */
    bool driver_was_away;    /* bytes that are read now may have arrived earlier */
    nanoseconds collect_at;  /* when to return STEP_COLLECT while waiting for a connection */
    nanoseconds waits_since; /* when that wait began */
    nanoseconds idle_timeout, max_age; /* of the connection; copied from request.options */
    call_phase phase;
    nanoseconds began, deadline, total_deadline, sending_began, sent_at;
    nanoseconds stepped_at; /* when the last step ended; 0: that step did not read the clock */

    /* Buffers that exchange_free keeps for the next call. ->response must be the first of these
     * fields. */
    http1_response response;
    buffer body;       /* decoded bytes that the caller has not taken yet */
    buffer input;      /* bytes that were read and are not parsed yet */
    buffer head_bytes; /* ->head points into it */
} exchange;

/* Returns an exchange for exchange_begin, from the free list (with its read buffers) or a new one;
 * NULL when out of memory. */
exchange *exchange_new(void);

/* Aborts `x` unless it has ended, frees what it owns, and returns it to the free list. NULL is
 * fine. In a forked child an exchange of the parent is left unchanged, and its memory leaks. */
void exchange_free(exchange *x);

/* Returns whether exactly one call is under way in this process. */
bool exchange_is_only_one(void);

/* Prepares `x` for its first step. Copies *request; adds a reference to the pool and the waker.
 * `deadline` is a point in time that limits the call in addition to request->options->total; NEVER:
 * none. */
void exchange_begin(exchange *x, const exchange_request *request, pool *p, waker *w,
                    nanoseconds deadline);

/* Advances `x` as far as possible without waiting; see step_result. After STEP_DONE and STEP_FAILED
 * it returns the same result again. */
step_result exchange_step(exchange *x, nanoseconds now);

/* Returns what to wait for after STEP_WAIT: fills at most `room` (>= DIAL_MAX_ATTEMPTS) entries and
 * returns how many; the waker is not among them. *deadline is when to step even without an event;
 * 0: at once. */
int exchange_wait(const exchange *x, struct pollfd *entries, int room, nanoseconds *deadline);

/* Returns whether a complete exchange has switched protocols and still has its connection. */
bool exchange_switched(const exchange *x);

/* Passes the next piece of the request's body after STEP_BODY_WANTED; it is copied. NULL, 0: the
 * body is complete. */
void exchange_feed(exchange *x, const char *piece, size_t length);

/* To be called after STEP_PROGRESS, and after any other step while ->progress_due is set. Returns
 * how many bytes of the body were handed to the connection; *over is set when this attempt sends no
 * more. The first call of each attempt comes before anything is sent and returns 0. */
uint64_t exchange_progress(exchange *x, bool *over);

/* Sets a buffer of `room` bytes that the body is read into without a copy; it is borrowed until the
 * body is complete or the buffer is replaced. To be called after STEP_HEAD and
 * STEP_BODY_BUFFER_FULL only. */
void exchange_set_body_buffer(exchange *x, uint8_t *bytes, size_t room);

/* To be called when the caller of a streamed response buffers the rest of the body: limits that
 * rest to max_body_bytes. */
void exchange_keep_rest(exchange *x);

/* Returns whether another call, which reads the shared connection, has received something for
 * `x`. */
bool exchange_has_input(const exchange *x);

/* Returns whether `x` should be stepped after its waker was woken. The waker may be shared, and
 * does not record for which exchange it was woken: for a free connection, a resolved name, or bytes
 * on a shared connection. */
bool exchange_needs_step(const exchange *x);

/* Makes `x` use the batch and the event loop of an exchange loop; NULL, NULL: `x` leaves the
 * loop. */
void exchange_join(exchange *x, http2_batch *batch, event_loop *watcher);

/* Returns how much of the request the server may have received. */
sent_state exchange_sent(const exchange *x);

/* Ends `x` with FAILURE_CANCELLED unless it has ended, and closes a connection that it still
 * has. */
void exchange_abort(exchange *x);

/* To be called with true when a streamed response is returned to its caller, who may drop it half
 * read, and with false when it is driven again. exchange_any_held_by_caller returns whether this
 * process has any exchange that its caller holds. */
void exchange_set_held_by_caller(exchange *x, bool held);
bool exchange_any_held_by_caller(void);

/* To be called around fork. The child starts with an empty free list. */
void exchange_before_fork(void);
void exchange_after_fork(bool child);

/* Returns the time until which the driver may busy-poll for the response; 0: it may not. */
nanoseconds exchange_busy_poll_until(const exchange *x);

/* Waits for the response for up to `span`, if the connection's last response came within `span` and
 * no recent wait was in vain. Returns whether an event has occurred, so that `x` should be
 * stepped. */
bool exchange_wait_briefly(exchange *x, nanoseconds span);

/* Returns whether the driver may wait for the response in its read, without a poll before it. */
bool exchange_may_wait_in_read(const exchange *x, nanoseconds now);

/* Waits and steps `x` until a step returns another result than STEP_WAIT. Returns STEP_WAIT when
 * `stop` requests it. Runs without the GVL. */
step_result exchange_drive(exchange *x, const stop_request *stop);

/* To be called when the driver of `x` stops driving; it calls waker_arrive before it steps `x`
 * again. Meanwhile another call reads their shared connection, and no call waits for the connection
 * that `x` dials. */
void exchange_depart(exchange *x);

#endif
