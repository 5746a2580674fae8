#ifdef HAVE_NGHTTP2

#include "http2_internal.h"

#include "protocol/guard.h"

/*
 * Counts received frames, so that a server cannot send frames without content for ever (RFC 9113
 * 10.5); nghttp2 does not report the frames that it ignores. Each frame counts as idle; the
 * callbacks for frames with content reset the count.
 */

#define FRAME_MOST 16384 /* the client's SETTINGS_MAX_FRAME_SIZE, the default (RFC 9113 4.2) */

static int flood(http2 *h, const char *detail) {
    return http2_stop(h, FAILURE_HTTP2_FLOOD, NGHTTP2_ENHANCE_YOUR_CALM, detail);
}

static bool is_closed_client_stream(const http2 *h, uint32_t id) {
    return id % 2 == 1 && id < nghttp2_session_get_next_stream_id(h->session) &&
           http2_stream_of(h->session, (int32_t)id) == NULL;
}

/* Handles DATA for a closed stream. A server may send as much as the stream's window before it
 * receives the client's RST_STREAM. */
static void late_data(http2 *h, uint32_t length) {
    if (length <= h->late_data) {
        h->late_data -= length;
    } else {
        http2_stop(h, FAILURE_HTTP2_PROTOCOL, NGHTTP2_STREAM_CLOSED,
                   "DATA for a stream that is closed (STREAM_CLOSED)");
    }
}

/* Handles HEADERS for a closed stream. They are accepted after any stream was closed early, because
 * the server may have sent them before it received the client's RST_STREAM. */
static void late_head(http2 *h, uint32_t id) {
    if (h->any_closed_early || !is_closed_client_stream(h, id)) return;
    http2_stop(h, FAILURE_HTTP2_PROTOCOL, NGHTTP2_STREAM_CLOSED,
               "HEADERS for a stream that is closed (STREAM_CLOSED)");
}

/* Checks that the first frame is SETTINGS (RFC 9113 3.4). */
static void first_frame(http2 *h, uint8_t type, uint8_t flags) {
    if (type == NGHTTP2_SETTINGS && !(flags & NGHTTP2_FLAG_ACK)) {
        h->settings_begun = true;
        return;
    }
    bool older = memcmp(h->frame_head, "HTTP/1.", 7) == 0;
    http2_stop(h, FAILURE_HTTP2_NOT_SPOKEN, NGHTTP2_PROTOCOL_ERROR,
               older ? "it answered in HTTP/1" : "it did not begin with SETTINGS");
}

static void frame_begins(http2 *h, uint8_t type, uint8_t flags, uint32_t id, uint32_t length) {
    if (!h->settings_begun) first_frame(h, type, flags);
    if (length > FRAME_MOST) {
        http2_stop(h, FAILURE_HTTP2_PROTOCOL, NGHTTP2_FRAME_SIZE_ERROR,
                   "a frame larger than allowed (FRAME_SIZE_ERROR)");
    }
    switch (type) {
    case NGHTTP2_DATA:
        if (length == 0 || !is_closed_client_stream(h, id)) break;
        late_data(h, length);
        return;
    case NGHTTP2_HEADERS:
        h->continuations = 0;
        late_head(h, id);
        break;
    case NGHTTP2_CONTINUATION:
        if (GUARD(HTTP2_CONTINUATIONS) && ++h->continuations > HTTP2_CONTINUATIONS)
            flood(h, "CONTINUATION without end");
        break;
    case NGHTTP2_PRIORITY: /* nghttp2 ignores it, whatever the stream */
        if (id == 0)
            http2_stop(h, FAILURE_HTTP2_PROTOCOL, NGHTTP2_PROTOCOL_ERROR,
                       "PRIORITY on no stream (PROTOCOL_ERROR)");
        break;
    case NGHTTP2_PUSH_PROMISE:
        http2_stop(h, FAILURE_HTTP2_PROTOCOL, NGHTTP2_PROTOCOL_ERROR,
                   "PUSH_PROMISE, which SETTINGS forbid (PROTOCOL_ERROR)");
        break;
    default: break;
    }
    if (GUARD(HTTP2_IDLE_FRAMES) && ++h->idle_frames > h->limits.idle_frames)
        flood(h, "frames that carry nothing");
}

static uint32_t big_endian(const uint8_t *bytes, int count) {
    uint32_t value = 0;
    while (count-- > 0) value = value << 8 | *bytes++;
    return value;
}

size_t http2_next_piece(http2 *h, const uint8_t *bytes, size_t length) {
    size_t taken = 0;
    if (h->frame_left == 0) {
        while (taken < length && h->head_length < HTTP2_FRAME_HEAD)
            h->frame_head[h->head_length++] = bytes[taken++];
        if (h->head_length < HTTP2_FRAME_HEAD) return taken;
        const uint8_t *head = h->frame_head;
        h->head_length = 0;
        h->frame_left = big_endian(head, 3);
        frame_begins(h, head[3], head[4], big_endian(head + 5, 4) & INT32_MAX, h->frame_left);
    }
    size_t rest = length - taken < h->frame_left ? length - taken : h->frame_left;
    h->frame_left -= (uint32_t)rest;
    return taken + rest;
}

#endif
