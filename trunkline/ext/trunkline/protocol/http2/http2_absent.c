#ifndef HAVE_NGHTTP2

#include "http2.h"

/* Used in a build without nghttp2: http2_new returns no session, so that only http2_available and
 * http2_new are called. */

const http2_limits http2_default_limits;

bool http2_available(void) {
    return false;
}

http2 *http2_new(const http2_limits *limits) {
    (void)limits;
    return NULL;
}

void http2_free(http2 *h) {
    (void)h;
}

failure_code http2_input(http2 *h, const uint8_t *bytes, size_t length) {
    (void)h, (void)bytes, (void)length;
    return FAILURE_HTTP2_NOT_SPOKEN;
}

http2_connect_support http2_extended_connect(const http2 *h) {
    (void)h;
    return HTTP2_CONNECT_UNSUPPORTED;
}

void http2_end(http2 *h, failure_code code) {
    (void)h, (void)code;
}

failure_code http2_failure(const http2 *h) {
    (void)h;
    return FAILURE_HTTP2_NOT_SPOKEN;
}

const char *http2_detail(const http2 *h) {
    (void)h;
    return "";
}

bool http2_output(http2 *h, buffer *out, size_t enough) {
    (void)h, (void)out, (void)enough;
    return false;
}

bool http2_wants_output(const http2 *h) {
    (void)h;
    return false;
}

uint32_t http2_room(const http2 *h) {
    (void)h;
    return 0;
}

uint32_t http2_open_streams(const http2 *h) {
    (void)h;
    return 0;
}

uint32_t http2_max_streams(const http2 *h) {
    (void)h;
    return 0;
}

bool http2_closing(const http2 *h) {
    (void)h;
    return true;
}

http2_stream *http2_request(http2 *h, const char *scheme, const char *head, size_t head_length,
                            bool body, bool head_request, const http1_limits *limits, void *owner) {
    (void)h, (void)scheme, (void)head, (void)head_length, (void)body, (void)head_request;
    (void)limits, (void)owner;
    return NULL;
}

bool http2_feed(http2 *h, http2_stream *s, const void *piece, size_t length, bool last) {
    (void)h, (void)s, (void)piece, (void)length, (void)last;
    return false;
}

uint64_t http2_fed_and_framed(const http2_stream *s) {
    (void)s;
    return 0;
}

http2_head *http2_take_head(http2_stream *s) {
    (void)s;
    return NULL;
}

void http2_head_free(http2_head *head) {
    (void)head;
}

void http2_consumed(http2 *h, http2_stream *s, size_t count) {
    (void)h, (void)s, (void)count;
}

void http2_release(http2 *h, http2_stream *s) {
    (void)h, (void)s;
}

http2_stream *http2_next_changed(http2 *h) {
    (void)h;
    return NULL;
}

bool http2_ping(http2 *h) {
    (void)h;
    return false;
}

uint64_t http2_pings_acked(const http2 *h) {
    (void)h;
    return 0;
}

void http2_reset_idle_frames(http2 *h) {
    (void)h;
}

void http2_submit_goaway(http2 *h) {
    (void)h;
}

#endif
