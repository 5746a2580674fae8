#ifdef HAVE_NGHTTP2

#include "protocol/budget.h"
#include "http2_internal.h"

/*
 * Limits how many bytes of each response the server may send before the stream's owner takes them.
 * While half of the process's budget is free, a stream gets a full window. After that, a session
 * gives new streams narrow windows, and widens the window of a large response when its owner takes
 * data.
 */

/* Reserves for a full window. Half of the budget is kept for narrow windows, so that full windows
 * that are not read do not block other calls. */
static bool reserve_for_full(uint64_t bytes) {
    return budget_reserve(bytes, budget_limit() / 2);
}

static bool narrow_down(http2 *h) {
    const nghttp2_settings_entry narrower = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE,
                                             h->limits.narrow_window};
    if (h->narrow) return true;
    if (!http2_check_result(h,
                            nghttp2_submit_settings(h->session, NGHTTP2_FLAG_NONE, &narrower, 1)))
        return false;
    h->narrow = true;
    h->settings_unacked++;
    return true;
}

bool http2_window_reserve(http2 *h, uint32_t *window) {
    if (!h->narrow && reserve_for_full(h->limits.stream_window)) {
        *window = h->limits.stream_window;
        return true;
    }
    *window = h->limits.narrow_window;
    return narrow_down(h) && budget_reserve(h->limits.narrow_window, 0);
}

void http2_window_release(http2_stream *s) {
    budget_release(s->window);
    s->window = 0;
}

/* Releases the budget above the narrow window. The server respects the last SETTINGS from now on; a
 * stream that holds more data from before keeps its reservation. */
void http2_settings_acked(http2 *h) {
    if (h->settings_unacked == 0 || --h->settings_unacked > 0 || !h->narrow) return;
    LIST_EACH (http2_stream, s, &h->streams, node) {
        if (s->window > h->limits.narrow_window &&
            buffer_length(&s->data) <= h->limits.narrow_window) {
            budget_release(s->window - h->limits.narrow_window);
            s->window = h->limits.narrow_window;
        }
    }
}

#define MUCH (32 * 1024) /* a response is large after this many received bytes */

void http2_window_widen(http2 *h, http2_stream *s) {
    uint32_t full = h->limits.stream_window;
    bool ends_soon =
        s->content_length >= 0 && (uint64_t)s->content_length <= s->received + s->window;
    if (!h->narrow || h->settings_unacked > 0 || s->window >= full || s->received < MUCH ||
        ends_soon || !reserve_for_full(full - s->window))
        return;
    s->window = full;
    http2_check_result(h, nghttp2_session_set_local_window_size(h->session, NGHTTP2_FLAG_NONE,
                                                                s->id, (int32_t)full));
}

#endif
