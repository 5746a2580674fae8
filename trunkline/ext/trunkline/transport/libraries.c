#include "libraries.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <zlib.h>

#ifdef HAVE_NGHTTP2
#include <nghttp2/nghttp2.h>
#endif
#ifdef HAVE_BROTLI
#include <brotli/decode.h>
#endif
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

static void set(library *l, const char *name, const char *version) {
    l->name = name;
    snprintf(l->version, sizeof(l->version), "%s", version);
}

static void set_brotli(library *l) {
    set(l, "brotli", "");
#ifdef HAVE_BROTLI
    unsigned version = BrotliDecoderVersion();
    snprintf(l->version, sizeof(l->version), "%u.%u.%u", version >> 24, version >> 12 & 0xFFF,
             version & 0xFFF);
#endif
}

void libraries_list(library out[LIBRARIES]) {
    set(&out[0], "openssl", OpenSSL_version(OPENSSL_VERSION));
    set(&out[1], "zlib", zlibVersion());
    set(&out[2], "nghttp2", "");
    set_brotli(&out[3]);
    set(&out[4], "zstd", "");
#ifdef HAVE_NGHTTP2
    set(&out[2], "nghttp2", nghttp2_version(0)->version_str);
#endif
#ifdef HAVE_ZSTD
    set(&out[4], "zstd", ZSTD_versionString());
#endif
}
