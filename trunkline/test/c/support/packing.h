#ifndef TRUNKLINE_TEST_PACKING_H
#define TRUNKLINE_TEST_PACKING_H

#include "protocol/buffer.h"

#include <zlib.h>
#ifdef HAVE_BROTLI
#include <brotli/encode.h>
#endif
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

/* Makes the compressed bodies that the tests of the inflater decode, with each library's own
 * encoder. */

static inline void pack_zlib(buffer *out, int window, const void *bytes, size_t length) {
    z_stream z = {0};
    if (deflateInit2(&z, 9, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) != Z_OK) abort();
    size_t bound = deflateBound(&z, length) + 32;
    if (!buffer_reserve(out, bound)) abort();
    z.next_in = (Bytef *)bytes;
    z.avail_in = (uInt)length;
    z.next_out = buffer_tail(out);
    z.avail_out = (uInt)bound;
    if (deflate(&z, Z_FINISH) != Z_STREAM_END) abort();
    buffer_commit(out, z.total_out);
    deflateEnd(&z);
}

static inline void pack_gzip(buffer *out, const void *bytes, size_t length) {
    pack_zlib(out, 15 + 16, bytes, length);
}

static inline void pack_deflate(buffer *out, const void *bytes, size_t length) {
    pack_zlib(out, 15, bytes, length);
}

static inline void pack_raw_deflate(buffer *out, const void *bytes, size_t length) {
    pack_zlib(out, -15, bytes, length);
}

#ifdef HAVE_BROTLI
static inline void pack_brotli(buffer *out, const void *bytes, size_t length) {
    size_t size = BrotliEncoderMaxCompressedSize(length) + 16;
    if (!buffer_reserve(out, size)) abort();
    if (!BrotliEncoderCompress(5, 22, BROTLI_MODE_GENERIC, length, bytes, &size, buffer_tail(out)))
        abort();
    buffer_commit(out, size);
}
#endif

#ifdef HAVE_ZSTD
static inline void pack_zstd(buffer *out, const void *bytes, size_t length) {
    ZSTD_CCtx *context = ZSTD_createCCtx();
    size_t bound = ZSTD_compressBound(length);
    if (context == NULL || !buffer_reserve(out, bound)) abort();
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    size_t size = ZSTD_compress2(context, buffer_tail(out), bound, bytes, length);
    if (ZSTD_isError(size)) abort();
    buffer_commit(out, size);
    ZSTD_freeCCtx(context);
}
#endif

typedef struct {
    const char *coding; /* the name in Content-Encoding */
    void (*pack)(buffer *out, const void *bytes, size_t length);
    bool checked; /* the coding contains a checksum of the data */
} packing;

static const packing packings[] = {
    {"gzip", pack_gzip, true},
    {"deflate", pack_deflate, true},
    {"deflate", pack_raw_deflate, false},
#ifdef HAVE_BROTLI
    {"br", pack_brotli, false},
#endif
#ifdef HAVE_ZSTD
    {"zstd", pack_zstd, true},
#endif
};

#define PACKINGS (sizeof(packings) / sizeof(packings[0]))

#endif
