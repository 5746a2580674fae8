#ifndef TRUNKLINE_PROTOCOL_HTTP2_HTTP2_LIBRARY_INTERNAL_H
#define TRUNKLINE_PROTOCOL_HTTP2_HTTP2_LIBRARY_INTERNAL_H

#include <nghttp2/nghttp2.h>

#include <stddef.h>
#include <stdint.h>

/* Hides differences between versions of nghttp2: since 1.60, functions with ssize_t are deprecated
 * in favour of functions with nghttp2_ssize. */

#if NGHTTP2_VERSION_NUM >= 0x013c00

typedef nghttp2_ssize http2_signed;
typedef nghttp2_data_provider2 http2_provider;
#define http2_library_receive nghttp2_session_mem_recv2
#define http2_library_send nghttp2_session_mem_send2
#define http2_library_request nghttp2_submit_request2

#else

typedef ssize_t http2_signed;
typedef nghttp2_data_provider http2_provider;
#define http2_library_receive nghttp2_session_mem_recv
#define http2_library_send nghttp2_session_mem_send
#define http2_library_request nghttp2_submit_request

#endif

/* Turns off nghttp2's limit of CONTINUATION frames, because http2_frames.c has one for all
 * versions. Some versions have no limit, and others count calls instead of frames. */
static inline void http2_library_limits(nghttp2_option *options) {
#ifdef HAVE_NGHTTP2_OPTION_SET_MAX_CONTINUATIONS
    nghttp2_option_set_max_continuations(options, SIZE_MAX);
#else
    (void)options;
#endif
}

#endif
