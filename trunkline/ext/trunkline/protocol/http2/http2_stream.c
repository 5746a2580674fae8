#ifdef HAVE_NGHTTP2

#include "protocol/budget.h"
#include "http2_internal.h"

#define FREE_STREAMS_MAX 64     /* streams kept for reuse */
#define KEPT_BUFFER_BYTES 65536 /* the largest buffer that a kept stream keeps */

/* ---- the session's lists ---- */

static http2_stream *make(http2 *h) {
    http2_stream *s = LIST_ITEM(list_shift(&h->free_streams), http2_stream, node);
    if (s != NULL) {
        h->free_stream_count--;
        buffer data = s->data, upload = s->upload;
        memset(s, 0, sizeof(*s));
        s->data = data;
        s->upload = upload;
    } else {
        s = calloc(1, sizeof(*s));
    }
    return s;
}

http2_stream *http2_stream_new(http2 *h, uint32_t window) {
    http2_stream *s = make(h);
    if (s == NULL) {
        budget_release(window);
        return NULL;
    }
    s->window = window;
    s->content_length = -1;
    s->head_begins = s->request_ends = UINT64_MAX;
    list_append(&h->streams, &s->node);
    return s;
}

static void forget_buffer(buffer *b) {
    buffer_clear(b);
    if (b->capacity > KEPT_BUFFER_BYTES) buffer_free(b);
}

static void free_heads(http2_stream *s) {
    for (http2_head *head; (head = http2_take_head(s)) != NULL;) http2_head_free(head);
    http2_head_free(s->trailers);
    s->trailers = NULL;
}

static void destroy(http2_stream *s) {
    free_heads(s);
    buffer_free(&s->data);
    buffer_free(&s->upload);
    free(s);
}

static void unmark_changed(http2 *h, http2_stream *s) {
    if (!s->changed) return;
    list_remove(&h->changed, &s->changed_node);
    s->changed = false;
}

void http2_stream_free(http2 *h, http2_stream *s) {
    unmark_changed(h, s);
    if (h->section.of == s) h->section.of = NULL;
    http2_window_release(s);
    list_remove(&h->streams, &s->node);
    if (h->free_stream_count == FREE_STREAMS_MAX) {
        destroy(s);
        return;
    }
    free_heads(s);
    forget_buffer(&s->data);
    forget_buffer(&s->upload);
    list_prepend(&h->free_streams, &s->node);
    h->free_stream_count++;
}

static void free_all(list *streams) {
    LIST_EACH (http2_stream, s, streams, node) {
        http2_window_release(s);
        destroy(s);
    }
}

void http2_streams_free(http2 *h) {
    free_all(&h->streams);
    free_all(&h->free_streams);
}

void http2_mark_changed(http2 *h, http2_stream *s) {
    if (s->changed || s->released) return;
    s->changed = true;
    list_append(&h->changed, &s->changed_node);
}

http2_stream *http2_next_changed(http2 *h) {
    http2_stream *s = LIST_FIRST(&h->changed, http2_stream, changed_node);
    if (s != NULL) unmark_changed(h, s);
    return s;
}

/* ---- the end of a stream ---- */

void http2_stream_fail(http2 *h, http2_stream *s, failure_code code) {
    if (s->ended || s->failure != FAILURE_NONE) return;
    s->failure = code;
    s->wants_body = false;
    http2_mark_changed(h, s);
}

static bool lacks_data(const http2_stream *s) {
    return !s->head_request && s->content_length >= 0 && s->received < (uint64_t)s->content_length;
}

/* Returns why a stream failed with its connection: whether its response was cut, and where. */
static failure_code cut_reason(const http2 *h, const http2_stream *s) {
    if (h->failure != FAILURE_CLOSED && h->failure != FAILURE_RESET) return h->failure;
    if (s->final_seen) return FAILURE_TRUNCATED;
    return h->section.of == s ? FAILURE_TRUNCATED_HEAD : h->failure;
}

/* Returns why a stream was closed before its response was complete. */
static failure_code close_reason(const http2 *h, const http2_stream *s, uint32_t code) {
    if (h->failure != FAILURE_NONE) return cut_reason(h, s);
    if (s->reset)
        return code == NGHTTP2_REFUSED_STREAM ? FAILURE_HTTP2_REFUSED : FAILURE_HTTP2_RESET;
    /* nghttp2 closes with REFUSED_STREAM the streams that a GOAWAY excluded, and those whose
     * request it cannot compose. */
    bool composed = h->goaway_received || !h->memory.exhausted;
    if (code == NGHTTP2_REFUSED_STREAM)
        return composed ? FAILURE_HTTP2_GONE : FAILURE_OUT_OF_MEMORY;
    /* All other streams were reset by nghttp2: DATA contradicts Content-Length, or the head or a
     * frame is malformed. */
    if (code != NGHTTP2_PROTOCOL_ERROR) return FAILURE_HTTP2_PROTOCOL;
    bool all_came = nghttp2_session_get_stream_remote_close(h->session, s->id) == 1;
    return all_came && lacks_data(s) ? FAILURE_TRUNCATED : FAILURE_HTTP2_MALFORMED;
}

void http2_stream_closed(http2 *h, http2_stream *s, uint32_t code) {
    if (!s->ended && !s->reset) {
        h->late_data += h->limits.stream_window;
        h->any_closed_early = true;
    }
    s->closed = true;
    h->open--;
    if (s->released) {
        http2_stream_free(h, s);
        return;
    }
    if (!s->ended && s->failure == FAILURE_NONE) {
        failure_code reason = close_reason(h, s, code);
        s->unprocessed =
            s->head_begins == UINT64_MAX || (code == NGHTTP2_REFUSED_STREAM && !s->final_seen);
        if (reason == FAILURE_HTTP2_GONE) s->error_code = h->goaway_code;
        http2_stream_fail(h, s, reason);
    }
    if (s->request_ends == UINT64_MAX) s->upload_stopped = true;
    s->wants_body = false;
    http2_mark_changed(h, s);
}

void http2_release(http2 *h, http2_stream *s) {
    if (s->closed) {
        http2_stream_free(h, s);
        return;
    }
    /* No other stream's head can be received before the rest of this section (RFC 9113 4.3). */
    if (h->section.of == s) http2_submit_goaway(h);
    /* A tunnel that the client has ended is not cancelled (RFC 8441 5). */
    bool ended = s->connects && s->body_ended && buffer_length(&s->upload) == 0;
    uint32_t code = ended ? NGHTTP2_NO_ERROR : NGHTTP2_CANCEL;
    unmark_changed(h, s);
    s->released = true;
    free_heads(s);
    forget_buffer(&s->data);
    forget_buffer(&s->upload);
    http2_check_result(h, nghttp2_submit_rst_stream(h->session, NGHTTP2_FLAG_NONE, s->id, code));
}

/* ---- the response's data ---- */

void http2_consumed(http2 *h, http2_stream *s, size_t count) {
    if (s->closed || s->ended) return;
    http2_window_widen(h, s);
    http2_check_result(h, nghttp2_session_consume_stream(h->session, s->id, count));
}

http2_head *http2_take_head(http2_stream *s) {
    http2_head *head = s->heads;
    if (head == NULL) return NULL;
    s->heads = head->next;
    head->next = NULL;
    return head;
}

void http2_head_free(http2_head *head) {
    if (head == NULL) return;
    free(head->bytes);
    free(head->fields);
    free(head);
}

/* ---- the request's body ---- */

bool http2_feed(http2 *h, http2_stream *s, const void *piece, size_t length, bool last) {
    if (s->closed || s->upload_stopped || s->body_ended) return true;
    if (!buffer_append(&s->upload, piece, length)) return false;
    s->body_ended = last;
    s->wants_body = !last && buffer_length(&s->upload) == 0;
    if (!s->deferred || s->wants_body) return true;
    s->deferred = false;
    return http2_check_result(h, nghttp2_session_resume_data(h->session, s->id));
}

uint64_t http2_fed_and_framed(const http2_stream *s) {
    return s->framed;
}

static http2_signed read_body(nghttp2_session *session, int32_t id, uint8_t *out, size_t most,
                              uint32_t *flags, nghttp2_data_source *source, void *user) {
    http2 *h = user;
    http2_stream *s = source->ptr;
    size_t length = buffer_length(&s->upload);
    (void)session, (void)id;
    if (length == 0 && !s->body_ended) {
        s->deferred = true;
        return NGHTTP2_ERR_DEFERRED;
    }
    if (length > most) length = most;
    if (length > 0) {
        memcpy(out, buffer_head(&s->upload), length);
        buffer_consume(&s->upload, length);
        s->framed += length;
        h->idle_frames = 0;
    }
    if (buffer_length(&s->upload) > 0) return (http2_signed)length;
    if (s->body_ended) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    } else {
        s->wants_body = true;
        http2_mark_changed(h, s);
    }
    return (http2_signed)length;
}

http2_provider http2_body_of(http2_stream *s) {
    return (http2_provider){{.ptr = s}, read_body};
}

#endif
