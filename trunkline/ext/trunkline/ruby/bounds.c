#include "transport/dial/dial.h"
#include "transport/names/resolve.h"
#include "origin_table.h"

/* The engine's fixed limits, which no option changes, by their names in docs/limits.md. */

static void set(VALUE hash, const char *name, uint64_t value) {
    rb_hash_aset(hash, ID2SYM(rb_intern(name)), ULL2NUM(value));
}

void bounds_init(void) {
    const http1_limits *http1 = &http1_default_limits;
    const http2_limits *http2 = &http2_default_limits;
    VALUE bounds = rb_hash_new();
    set(bounds, "decode_ratio_from", INFLATER_RATIO_FROM);
    set(bounds, "content_codings", INFLATER_CHAIN);
    set(bounds, "zstd_window", 1 << INFLATER_ZSTD_WINDOW_LOG);
    set(bounds, "trailer_bytes", http1->trailer_bytes);
    set(bounds, "chunk_extension_bytes", http1->extension_line);
    set(bounds, "chunk_extensions_bytes", http1->extension_total);
    set(bounds, "chunk_overhead", HTTP1_OVERHEAD_RATIO);
    set(bounds, "informational", http1->informational);
    set(bounds, "streamed_piece", EXCHANGE_PIECE);
    set(bounds, "attempts", EXCHANGE_ATTEMPTS);
    set(bounds, "connects_at_once", DIAL_MAX_ATTEMPTS);
    set(bounds, "addresses", RESOLVE_MAX_ADDRESSES);
    set(bounds, "servers_known", POOL_KNOWN_SERVERS);
    set(bounds, "names", LOOKUP_LIMIT);
    set(bounds, "names_queued", RESOLVE_MAX_QUEUED);
    set(bounds, "lookups", RESOLVE_MAX_THREADS);
    set(bounds, "lookups_of_unknown", RESOLVE_MAX_UNKNOWN);
    set(bounds, "lookups_of_domain", RESOLVE_MAX_DOMAIN);
    set(bounds, "tls_session_keys", TLS_SESSION_KEYS);
    set(bounds, "tls_sessions_per_key", TLS_SESSIONS_PER_KEY);
    set(bounds, "tls_contexts", TLS_CONTEXTS);
    set(bounds, "tls_stores", TLS_STORES);
    set(bounds, "proxy_refusal_bytes", TUNNEL_BODY_BYTES);
    set(bounds, "known_origins", ORIGIN_TABLE_MOST);
    if (http2_available()) {
        set(bounds, "http2_streams", http2->streams);
        set(bounds, "http2_stream_window", http2->stream_window);
        set(bounds, "http2_narrow_window", http2->narrow_window);
        set(bounds, "http2_connection_window", http2->connection_window);
        set(bounds, "http2_header_list", http2->header_list);
        set(bounds, "http2_idle_frames", http2->idle_frames);
        set(bounds, "http2_continuations", HTTP2_CONTINUATIONS);
    }
    rb_define_const(mEngine, "BOUNDS", rb_obj_freeze(bounds));
}
