#ifdef HAVE_NGHTTP2

#include "http2_internal.h"

#include <stdio.h>

const http2_limits http2_default_limits = {
    .stream_window = 1024 * 1024,
    .narrow_window = 64 * 1024,
    .connection_window = 16 * 1024 * 1024,
    .header_list = 64 * 1024,
    .streams = 1000,
    .idle_frames = 10000,
};

#define STREAMS_AT_FIRST 100                 /* until the server's SETTINGS are received */
#define REQUEST_HEAD_MOST (64 * 1024 * 1024) /* nghttp2's default is 64 KiB */

bool http2_available(void) {
    return true;
}

static bool open_session(http2 *h) {
    nghttp2_mem memory = http2_memory_of(&h->memory);
    nghttp2_option *options = NULL;
    nghttp2_session_callbacks *callbacks = NULL;
    if (nghttp2_option_new(&options) == 0 && nghttp2_session_callbacks_new(&callbacks) == 0) {
        nghttp2_option_set_no_auto_window_update(options, 1);
        nghttp2_option_set_peer_max_concurrent_streams(options, STREAMS_AT_FIRST);
        nghttp2_option_set_max_send_header_block_length(options, REQUEST_HEAD_MOST);
        http2_library_limits(options);
        http2_set_callbacks(callbacks);
        nghttp2_session_client_new3(&h->session, callbacks, h, options, &memory);
    }
    nghttp2_option_del(options);
    nghttp2_session_callbacks_del(callbacks);
    return h->session != NULL;
}

static bool submit_settings(http2 *h) {
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, h->limits.stream_window},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, h->limits.header_list},
        {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
    };
    const size_t count = sizeof(settings) / sizeof(settings[0]);
    return nghttp2_submit_settings(h->session, NGHTTP2_FLAG_NONE, settings, count) == 0 &&
           nghttp2_session_set_local_window_size(h->session, NGHTTP2_FLAG_NONE, 0,
                                                 (int32_t)h->limits.connection_window) == 0;
}

http2 *http2_new(const http2_limits *limits) {
    http2 *h = calloc(1, sizeof(*h));
    if (h == NULL) return NULL;
    h->limits = *limits;
    h->settings_unacked = 1;
    if (open_session(h) && submit_settings(h)) return h;
    http2_free(h);
    return NULL;
}

void http2_free(http2 *h) {
    if (h == NULL) return;
    http2_memory_free(&h->memory);
    http2_streams_free(h);
    http2_section_free(&h->section);
    buffer_free(&h->early_output);
    free(h->header_list);
    free(h);
}

/* ---- failing ---- */

int http2_stop(http2 *h, failure_code failure, uint32_t code, const char *detail) {
    if (h->pending_failure == FAILURE_NONE) {
        h->pending_failure = failure;
        h->pending_error_code = code;
        if (detail != NULL) snprintf(h->detail, sizeof(h->detail), "%s", detail);
    }
    return NGHTTP2_ERR_CALLBACK_FAILURE;
}

void http2_fail(http2 *h, failure_code code) {
    if (h->failure == FAILURE_NONE) h->failure = code;
    h->session_ended = true;
    LIST_EACH (http2_stream, s, &h->streams, node)
        if (!s->closed) http2_stream_closed(h, s, NGHTTP2_NO_ERROR);
}

bool http2_check_result(http2 *h, int result) {
    if (result != NGHTTP2_ERR_NOMEM) return true;
    http2_fail(h, FAILURE_OUT_OF_MEMORY);
    return false;
}

/* Sets ->pending_failure for an error of nghttp2. */
static void set_pending_failure(http2 *h, int error) {
    switch (error) {
    case NGHTTP2_ERR_NOMEM: h->pending_failure = FAILURE_OUT_OF_MEMORY; break;
    case NGHTTP2_ERR_FLOODED:
        http2_stop(h, FAILURE_HTTP2_FLOOD, NGHTTP2_ENHANCE_YOUR_CALM, nghttp2_strerror(error));
        break;
    default: http2_stop(h, FAILURE_HTTP2_PROTOCOL, NGHTTP2_PROTOCOL_ERROR, nghttp2_strerror(error));
    }
}

/* ---- output ---- */

#define NOTHING (-1)

/* Appends the next frame to `out` and returns its type. NOTHING: there is none, or
 * ->pending_failure was set. If it is the last frame of a request, stores the position of its end
 * in ->request_ends. */
static int compose(http2 *h, buffer *out) {
    const uint8_t *piece;
    http2_signed length = http2_library_send(h->session, &piece);
    if (length < 0) set_pending_failure(h, (int)length);
    if (length <= 0) return NOTHING;
    if (!buffer_append(out, piece, (size_t)length)) {
        set_pending_failure(h, NGHTTP2_ERR_NOMEM);
        return NOTHING;
    }
    h->composed += (size_t)length;
    if (h->ending != NULL) h->ending->request_ends = h->composed;
    h->ending = NULL;
    return piece[3];
}

/* Composes the frames that the input caused (acknowledgements, resets, GOAWAY) at once, so that
 * streams reset by nghttp2 have failed when http2_input returns. */
static void compose_replies(http2 *h) {
    while (nghttp2_session_get_outbound_queue_size(h->session) > 0) {
        int type = compose(h, &h->early_output);
        if (type == NOTHING || type == NGHTTP2_DATA) break;
    }
}

/* Fails the connection if ->pending_failure is set, with GOAWAY unless memory ran out. */
static void fail_if_pending(http2 *h) {
    if (h->pending_failure == FAILURE_NONE || h->session_ended) return;
    h->failure = h->pending_failure;
    if (h->failure != FAILURE_OUT_OF_MEMORY) {
        nghttp2_session_terminate_session(h->session, h->pending_error_code);
        compose_replies(h);
    }
    http2_fail(h, h->pending_failure);
}

bool http2_output(http2 *h, buffer *out, size_t enough) {
    if (buffer_length(out) >= enough) return true;
    h->control_frames = 0;
    if (buffer_length(&h->early_output) > 0) {
        if (!buffer_append(out, buffer_head(&h->early_output), buffer_length(&h->early_output))) {
            http2_fail(h, FAILURE_OUT_OF_MEMORY);
            return false;
        }
        buffer_clear(&h->early_output);
    }
    while (!h->session_ended && buffer_length(out) < enough) {
        if (compose(h, out) != NOTHING) continue;
        fail_if_pending(h);
        break;
    }
    return h->failure != FAILURE_OUT_OF_MEMORY;
}

bool http2_wants_output(const http2 *h) {
    return buffer_length(&h->early_output) > 0 ||
           (!h->session_ended && nghttp2_session_want_write(h->session));
}

/* ---- input ---- */

/* Passes a part of one frame to nghttp2. The checks run when the frame is complete, so that their
 * result does not depend on how it was split. */
static void input_piece(http2 *h, const uint8_t *bytes, size_t length) {
    http2_signed taken = http2_library_receive(h->session, bytes, length);
    if (taken < 0) set_pending_failure(h, (int)taken);
    bool complete = h->frame_left == 0 && h->head_length == 0;
    if (!complete || h->pending_failure != FAILURE_NONE) return;
    compose_replies(h);
    if (h->control_frames > h->limits.idle_frames)
        http2_stop(h, FAILURE_HTTP2_FLOOD, NGHTTP2_ENHANCE_YOUR_CALM, "it reads no answers");
}

failure_code http2_input(http2 *h, const uint8_t *bytes, size_t length) {
    if (h->session_ended) return h->failure;
    while (length > 0 && h->pending_failure == FAILURE_NONE) {
        size_t piece = http2_next_piece(h, bytes, length);
        if (h->pending_failure == FAILURE_NONE) input_piece(h, bytes, piece);
        bytes += piece;
        length -= piece;
    }
    fail_if_pending(h);
    return h->failure;
}

void http2_end(http2 *h, failure_code code) {
    if (h->session_ended) return;
    bool goaway_with_error = h->goaway_received && h->goaway_code != NGHTTP2_NO_ERROR;
    bool lost = code == FAILURE_CLOSED || code == FAILURE_RESET;
    http2_fail(h, lost && goaway_with_error ? FAILURE_HTTP2_GONE : code);
}

failure_code http2_failure(const http2 *h) {
    return h->failure;
}

const char *http2_detail(const http2 *h) {
    return h->detail;
}

/* ---- the connection ---- */

uint32_t http2_max_streams(const http2 *h) {
    uint32_t allowed =
        nghttp2_session_get_remote_settings(h->session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
    return allowed < h->limits.streams ? allowed : h->limits.streams;
}

uint32_t http2_open_streams(const http2 *h) {
    return h->open;
}

bool http2_closing(const http2 *h) {
    return h->session_ended || h->goaway_sent || h->goaway_received ||
           nghttp2_session_get_next_stream_id(h->session) > INT32_MAX;
}

http2_connect_support http2_extended_connect(const http2 *h) {
    if (!h->settings_applied) return HTTP2_CONNECT_UNKNOWN;
    uint32_t value =
        nghttp2_session_get_remote_settings(h->session, NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL);
    return value == 1 ? HTTP2_CONNECT_SUPPORTED : HTTP2_CONNECT_UNSUPPORTED;
}

uint32_t http2_room(const http2 *h) {
    uint32_t most = http2_max_streams(h);
    return http2_closing(h) || h->open >= most ? 0 : most - h->open;
}

bool http2_ping(http2 *h) {
    if (h->session_ended) return false;
    h->pings_sent++;
    return http2_check_result(h, nghttp2_submit_ping(h->session, NGHTTP2_FLAG_NONE, NULL));
}

uint64_t http2_pings_acked(const http2 *h) {
    return h->pings_acked;
}

void http2_reset_idle_frames(http2 *h) {
    h->idle_frames = 0;
}

void http2_submit_goaway(http2 *h) {
    if (h->session_ended || h->goaway_sent) return;
    h->goaway_sent = true;
    http2_check_result(
        h, nghttp2_submit_goaway(h->session, NGHTTP2_FLAG_NONE, 0, NGHTTP2_NO_ERROR, NULL, 0));
}

#endif
