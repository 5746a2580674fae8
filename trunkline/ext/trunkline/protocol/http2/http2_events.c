#ifdef HAVE_NGHTTP2

#include "http2_internal.h"

#include <stdio.h>

/* The callbacks of nghttp2, in the order in which it calls them. */

/* ---- header sections ---- */

/* Returns the stream of a header section; NULL when its owner has released it, or it has failed. */
static http2_stream *reader(nghttp2_session *session, const nghttp2_frame *frame) {
    if (frame->hd.type != NGHTTP2_HEADERS) return NULL;
    http2_stream *s = http2_stream_of(session, frame->hd.stream_id);
    return s == NULL || s->released || s->failure != FAILURE_NONE ? NULL : s;
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user) {
    http2_stream *s = reader(session, frame);
    if (s != NULL) http2_section_begin(user, s);
    return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_length, const uint8_t *value, size_t value_length, uint8_t flags,
                     void *user) {
    http2_stream *s = reader(session, frame);
    (void)flags;
    return s == NULL ? 0 : http2_section_field(user, s, name, name_length, value, value_length);
}

/* Without this callback nghttp2 would drop the field. */
static int on_invalid_header(nghttp2_session *session, const nghttp2_frame *frame,
                             const uint8_t *name, size_t name_length, const uint8_t *value,
                             size_t value_length, uint8_t flags, void *user) {
    http2_stream *s = reader(session, frame);
    bool named = http1_name_valid((const char *)name, name_length);
    (void)value, (void)value_length, (void)flags;
    if (s != NULL) http2_stream_fail(user, s, named ? FAILURE_FIELD_VALUE : FAILURE_FIELD_NAME);
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

/* ---- data ---- */

/* Opens the connection's window again at once, so that a stream that is not read does not block the
 * others. The stream's window is opened when its owner takes the bytes. */
static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *bytes,
                   size_t length, void *user) {
    http2 *h = user;
    http2_stream *s = http2_stream_of(session, id);
    bool wanted = s != NULL && !s->released && s->failure == FAILURE_NONE;
    (void)flags;
    if (wanted && length > 0) {
        if (!buffer_append(&s->data, bytes, length)) return http2_no_memory(h);
        s->received += length;
        h->idle_frames = 0;
        http2_mark_changed(h, s);
    }
    int result = wanted ? nghttp2_session_consume_connection(session, length)
                        : nghttp2_session_consume(session, id, length);
    return result == 0 ? 0 : http2_no_memory(h);
}

/* ---- complete frames ---- */

static void response_ends(http2 *h, http2_stream *s) {
    s->ended = true;
    s->wants_body = false;
    if (s->request_ends == UINT64_MAX) s->upload_stopped = true;
    http2_mark_changed(h, s);
}

static void note_goaway(http2 *h, const nghttp2_goaway *goaway) {
    h->goaway_received = true;
    h->goaway_code = goaway->error_code;
    if (goaway->error_code == NGHTTP2_NO_ERROR && goaway->opaque_data_len == 0) return;
    int used = snprintf(h->detail, sizeof(h->detail), "GOAWAY with %s",
                        nghttp2_http2_strerror(goaway->error_code));
    const size_t most = sizeof(h->detail) - 2;
    size_t at = (size_t)used;
    for (size_t i = 0; i < goaway->opaque_data_len && at < most; i++) {
        uint8_t byte = goaway->opaque_data[i];
        if (i == 0) at += (size_t)snprintf(h->detail + at, 3, ": ");
        h->detail[at++] = byte >= 0x20 && byte < 0x7F ? (char)byte : '?';
    }
    h->detail[at] = '\0';
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user) {
    http2 *h = user;
    http2_stream *s = reader(session, frame);
    switch (frame->hd.type) {
    case NGHTTP2_SETTINGS:
        if (frame->hd.flags & NGHTTP2_FLAG_ACK)
            http2_settings_acked(h);
        else
            h->settings_applied = true;
        return 0;
    case NGHTTP2_PING:
        if (!(frame->hd.flags & NGHTTP2_FLAG_ACK) || h->pings_acked == h->pings_sent) return 0;
        h->pings_acked++;
        h->idle_frames = 0;
        return 0;
    case NGHTTP2_GOAWAY: note_goaway(h, &frame->goaway); return 0;
    case NGHTTP2_RST_STREAM:
        s = http2_stream_of(session, frame->hd.stream_id);
        if (s == NULL) return 0;
        s->reset = true;
        s->error_code = frame->rst_stream.error_code;
        return 0;
    case NGHTTP2_HEADERS:
        if (s == NULL) return 0;
        h->idle_frames = 0;
        if (!http2_section_end(h, s)) return http2_no_memory(h);
        break;
    case NGHTTP2_DATA:
        s = http2_stream_of(session, frame->hd.stream_id);
        if (s == NULL || s->released || s->failure != FAILURE_NONE) return 0;
        break;
    default: return 0;
    }
    if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) response_ends(h, s);
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t code, void *user) {
    http2_stream *s = http2_stream_of(session, id);
    if (s != NULL) http2_stream_closed(user, s, code);
    return 0;
}

/* ---- sent frames ---- */

static int before_send(nghttp2_session *session, const nghttp2_frame *frame, void *user) {
    const http2 *h = user;
    if (frame->hd.type != NGHTTP2_HEADERS) return 0;
    http2_stream *s = http2_stream_of(session, frame->hd.stream_id);
    if (s != NULL) s->head_begins = h->composed;
    return 0;
}

/* Sets ->pending_failure from a GOAWAY that nghttp2 sends for a protocol error, with the reason in
 * it. */
static void set_failure_from_goaway(http2 *h, const nghttp2_goaway *goaway) {
    const char *code = nghttp2_http2_strerror(goaway->error_code);
    if (h->pending_failure != FAILURE_NONE || goaway->error_code == NGHTTP2_NO_ERROR) return;
    h->pending_failure = goaway->error_code == NGHTTP2_ENHANCE_YOUR_CALM ? FAILURE_HTTP2_FLOOD
                                                                         : FAILURE_HTTP2_PROTOCOL;
    h->pending_error_code = goaway->error_code;
    snprintf(h->detail, sizeof(h->detail), "%.*s%s%s%s",
             goaway->opaque_data_len > 200 ? 200 : (int)goaway->opaque_data_len,
             (const char *)goaway->opaque_data, goaway->opaque_data_len > 0 ? " (" : "", code,
             goaway->opaque_data_len > 0 ? ")" : "");
}

static int on_sent(nghttp2_session *session, const nghttp2_frame *frame, void *user) {
    http2 *h = user;
    switch (frame->hd.type) {
    case NGHTTP2_HEADERS:
    case NGHTTP2_DATA: {
        http2_stream *s = http2_stream_of(session, frame->hd.stream_id);
        bool last = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
        if (s == NULL || s->released) break;
        if (s->connects ? frame->hd.type == NGHTTP2_HEADERS : last) h->ending = s;
        break;
    }
    case NGHTTP2_GOAWAY: set_failure_from_goaway(h, &frame->goaway); /* fall through */
    default: h->control_frames++;
    }
    return 0;
}

void http2_set_callbacks(nghttp2_session_callbacks *callbacks) {
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks, on_invalid_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
    nghttp2_session_callbacks_set_before_frame_send_callback(callbacks, before_send);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_sent);
}

#endif
