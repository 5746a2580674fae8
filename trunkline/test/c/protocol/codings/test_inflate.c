#include "check.h"
#include "http1_driver.h"
#include "inflate_driver.h"
#include "packing.h"

static const inflater_limits unlimited;

static bool same(const buffer *a, const buffer *b) {
    return buffer_length(a) == buffer_length(b) &&
           (buffer_length(a) == 0 ||
            memcmp(a->bytes + a->start, b->bytes + b->start, buffer_length(a)) == 0);
}

/* Writes text that can be compressed, but not to almost nothing. */
static void write_text(buffer *out, size_t length) {
    uint32_t seed = 12345;
    while (buffer_length(out) < length) {
        char word[16];
        seed = seed * 1103515245 + 12345;
        snprintf(word, sizeof(word), "%s%u, ", seed & 0x10000 ? "calls " : "lines ", seed >> 24);
        say_text(out, word);
    }
    out->end = out->start + length;
}

/* Decoding must end with `code` and the same output for all sizes of input pieces and output
 * buffers. */
static void unpacks(const char *title, const char *codings, buffer *packed, const buffer *expected,
                    failure_code code) {
    check_case("%s", title);
    static const size_t pieces[] = {SIZE_MAX, 1, 2, 13}, rooms[] = {65536, 1, 2, 3, 100};
    for (size_t p = 0; p < sizeof(pieces) / sizeof(pieces[0]); p++) {
        for (size_t r = 0; r < sizeof(rooms) / sizeof(rooms[0]); r++) {
            buffer out = {0};
            bool stuck = false;
            failure_code was = unpack(&out, codings, &unlimited, packed->bytes,
                                      buffer_length(packed), pieces[p], rooms[r], &stuck);
            CHECK(was == code, "%s (%zu, %zu): expected %s, was %s", title, pieces[p], rooms[r],
                  failure_name(code), failure_name(was));
            CHECK(same(&out, expected), "%s (%zu, %zu): other output", title, pieces[p], rooms[r]);
            CHECK(!stuck, "%s (%zu, %zu): stuck", title, pieces[p], rooms[r]);
            buffer_free(&out);
        }
    }
}

static void test_each_coding(void) {
    static const size_t lengths[] = {0, 1, 2, 300, 40000};
    for (size_t p = 0; p < PACKINGS; p++) {
        for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++) {
            buffer text = {0}, packed = {0};
            write_text(&text, lengths[l]);
            packings[p].pack(&packed, text.bytes, lengths[l]);
            unpacks(packings[p].coding, packings[p].coding, &packed, &text, FAILURE_NONE);
            say(&packed, "\0", 1);
            unpacks("a zero behind it", packings[p].coding, &packed, &text,
                    FAILURE_CODING_TRAILING);
            say(&packed, "garbage", 7);
            unpacks("garbage behind it", packings[p].coding, &packed, &text,
                    FAILURE_CODING_TRAILING);
            buffer_free(&packed);
            buffer_free(&text);
        }
    }
}

/* Input that is cut at any byte must be reported as truncated. */
static void test_cut(void) {
    buffer text = {0};
    write_text(&text, 300);
    for (size_t p = 0; p < PACKINGS; p++) {
        buffer packed = {0};
        packings[p].pack(&packed, text.bytes, buffer_length(&text));
        for (size_t length = 1; length < buffer_length(&packed); length++) {
            buffer out = {0};
            bool stuck = false;
            failure_code was = unpack(&out, packings[p].coding, &unlimited, packed.bytes, length,
                                      SIZE_MAX, 4096, &stuck);
            CHECK(was == FAILURE_CODING_TRUNCATED && !stuck, "%s cut at %zu: %s",
                  packings[p].coding, length, failure_name(was));
            buffer_free(&out);
        }
        buffer_free(&packed);
    }
    buffer_free(&text);
}

/* With any bit damaged, codings with a checksum must fail or give the same output. */
static void test_damaged(void) {
    buffer text = {0};
    write_text(&text, 300);
    for (size_t p = 0; p < PACKINGS; p++) {
        buffer packed = {0};
        packings[p].pack(&packed, text.bytes, buffer_length(&text));
        for (size_t bit = 0; bit < 8 * buffer_length(&packed); bit++) {
            buffer out = {0};
            bool stuck = false;
            packed.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
            failure_code was = unpack(&out, packings[p].coding, &unlimited, packed.bytes,
                                      buffer_length(&packed), SIZE_MAX, 4096, &stuck);
            packed.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
            bool seen = was != FAILURE_NONE || same(&out, &text) || !packings[p].checked;
            CHECK(seen && !stuck, "%s with bit %zu damaged: %s", packings[p].coding, bit,
                  failure_name(was));
            buffer_free(&out);
        }
        buffer_free(&packed);
    }
    buffer_free(&text);
}

static void test_gzip_members(void) {
    buffer packed = {0}, text = {0};
    pack_gzip(&packed, "hello ", 6);
    pack_gzip(&packed, "", 0);
    pack_gzip(&packed, "world", 5);
    say_text(&text, "hello world");
    unpacks("three members", "gzip", &packed, &text, FAILURE_NONE);
    say(&packed, "\x1f", 1);
    unpacks("the start of a fourth", "gzip", &packed, &text, FAILURE_CODING_TRUNCATED);
    say(&packed, "x", 1);
    unpacks("no member at all", "gzip", &packed, &text, FAILURE_CODING_DATA);
    size_t whole = packed.end -= 2;
    packed.bytes[whole - 1] ^= 1;
    unpacks("the last length is wrong", "gzip", &packed, &text, FAILURE_CODING_DATA);
    packed.bytes[whole - 1] ^= 1;
    packed.bytes[whole - 8] ^= 1;
    unpacks("the last CRC is wrong", "gzip", &packed, &text, FAILURE_CODING_DATA);
    buffer_free(&packed);
    buffer_free(&text);
}

static void test_gzip_header(void) {
    static const char with_name[] =
        "\x1f\x8b\x08\x08\0\0\0\0\0\x03name.txt\0\x03\0\0\0\0\0\0\0\0\0";
    static const char reserved[] = "\x1f\x8b\x08\x80\0\0\0\0\0\x03\x03\0\0\0\0\0\0\0\0\0";
    buffer packed = {0}, nothing = {0};
    say(&packed, with_name, sizeof(with_name) - 1);
    unpacks("a header with a file name", "gzip", &packed, &nothing, FAILURE_NONE);
    buffer_clear(&packed);
    say(&packed, reserved, sizeof(reserved) - 1);
    unpacks("a header with a reserved flag", "gzip", &packed, &nothing, FAILURE_CODING_DATA);
    buffer_clear(&packed);
    say_text(&packed, "<html>not packed at all</html>");
    unpacks("no gzip at all", "gzip", &packed, &nothing, FAILURE_CODING_DATA);
    buffer_free(&packed);
}

static void test_deflate_kinds(void) {
    buffer packed = {0}, nothing = {0};
    say(&packed, "\x78\xbb\x00\x00\x00\x01\x03\x00\x00\x00\x00\x01", 12);
    unpacks("a preset dictionary", "deflate", &packed, &nothing, FAILURE_CODING_DATA);
    buffer_clear(&packed);
    say(&packed, "\x03\x00", 2);
    unpacks("the shortest raw one", "deflate", &packed, &nothing, FAILURE_NONE);
    buffer_clear(&packed);
    say(&packed, "\x78", 1);
    unpacks("half of a header", "deflate", &packed, &nothing, FAILURE_CODING_TRUNCATED);
    buffer_free(&packed);
}

#ifdef HAVE_ZSTD
static void test_zstd_frames(void) {
    buffer packed = {0}, text = {0}, nothing = {0};
    pack_zstd(&packed, "hello ", 6);
    say(&packed, "\x50\x2a\x4d\x18\x03\0\0\0abc", 11);
    pack_zstd(&packed, "", 0);
    pack_zstd(&packed, "world", 5);
    say_text(&text, "hello world");
    unpacks("three frames and one to skip", "zstd", &packed, &text, FAILURE_NONE);
    say(&packed, "\x28", 1);
    unpacks("the start of another frame", "zstd", &packed, &text, FAILURE_CODING_TRUNCATED);
    say(&packed, "\xb5\x2f\xfe", 3);
    unpacks("no frame at all", "zstd", &packed, &text, FAILURE_CODING_TRAILING);
    buffer_clear(&packed);
    say(&packed, "\x28\xb5\x2f\xfd\x20\x05\x01\x00\x00", 9);
    unpacks("less than it declares", "zstd", &packed, &nothing, FAILURE_CODING_DATA);
    buffer_clear(&packed);
    say(&packed, "\x28\xb5\x2f\xfd\x00\x70\x01\x00\x00", 9);
    unpacks("a window of 16 MiB", "zstd", &packed, &nothing, FAILURE_CODING_DATA);
    packed.bytes[5] = 0x68;
    unpacks("a window of 8 MiB", "zstd", &packed, &nothing, FAILURE_NONE);
    buffer_free(&packed);
    buffer_free(&text);
}

/* The sizes that a frame header declares are enforced, also when the whole frame is in one
 * buffer. */
static void test_zstd_declares(void) {
    static const char start[] = "\x28\xb5\x2f\xfd\x80";
    buffer packed = {0}, text = {0}, nothing = {0};
    say(&packed, start, 5);
    say(&packed, "\x00\x05\x00\x00\x00\x2b\x00\x00x", 9);
    say_text(&text, "xxxxx");
    unpacks("its length", "zstd", &packed, &text, FAILURE_NONE);
    packed.bytes[5] = 0x70;
    unpacks("its length and a window of 16 MiB", "zstd", &packed, &nothing, FAILURE_CODING_DATA);
    buffer_clear(&packed);
    say(&packed, start, 5);
    say(&packed, "\x00\xd0\x07\x00\x00\x83\x3e\x00x", 9);
    unpacks("2000 bytes, in one block, and a window of 1024", "zstd", &packed, &nothing,
            FAILURE_CODING_DATA);
    buffer_free(&packed);
    buffer_free(&text);
}
#endif

static void pack_chain(buffer *packed, const buffer *text, const char *order) {
    say(packed, text->bytes, buffer_length(text));
    for (; *order != '\0'; order++) {
        buffer next = {0};
        packings[*order - '0'].pack(&next, packed->bytes, buffer_length(packed));
        buffer_free(packed);
        *packed = next;
    }
}

/* `order` lists the codings in the order of their application, by the index in packings. */
static void chain(const char *title, const char *codings, const char *order) {
    buffer text = {0}, packed = {0};
    write_text(&text, 20000);
    pack_chain(&packed, &text, order);
    unpacks(title, codings, &packed, &text, FAILURE_NONE);
    packed.end--;
    bool stuck = false;
    buffer out = {0};
    failure_code was =
        unpack(&out, codings, &unlimited, packed.bytes, buffer_length(&packed), 100, 100, &stuck);
    CHECK(was == FAILURE_CODING_TRUNCATED && !stuck, "%s, cut: %s", title, failure_name(was));
    buffer_free(&out);
    buffer_free(&packed);
    buffer_free(&text);
}

static void test_chains(void) {
    chain("two of a kind", "gzip, gzip", "00");
    chain("two kinds", "deflate,gzip", "10");
    chain("the other way round", "gzip , deflate", "01");
    chain("any case, old names, identity, empty elements", ",X-GZip, identity,, DEFLATE ,", "01");
    chain("five", "gzip, deflate, gzip, deflate, gzip", "01020");
#if defined(HAVE_BROTLI) && defined(HAVE_ZSTD)
    chain("four kinds", "zstd, br, deflate, gzip", "4310");
#endif
    /* An inner coding without any input has not reached its end. */
    buffer packed = {0}, nothing = {0};
    pack_gzip(&packed, "", 0);
    unpacks("nothing within", "gzip, gzip", &packed, &nothing, FAILURE_CODING_TRUNCATED);
    buffer_free(&packed);
}

static void makes(const char *codings, failure_code code, bool made, bool knows) {
    inflater *i;
    bool known;
    failure_code was = inflater_new(&i, &known, codings, strlen(codings), &unlimited);
    CHECK(was == code && (i != NULL) == made && known == knows, "\"%s\": %s, %s, %s", codings,
          failure_name(was), i ? "made" : "not made", known ? "known" : "unknown");
    inflater_free(i);
}

static void test_making(void) {
    makes("", FAILURE_NONE, false, true);
    makes(" , ", FAILURE_NONE, false, true);
    makes("identity", FAILURE_NONE, false, true);
    makes("Identity, identity", FAILURE_NONE, false, true);
    makes("compress", FAILURE_NONE, false, false);
    makes("gzip, compress", FAILURE_NONE, false, false);
    makes("compress, gzip", FAILURE_NONE, false, false);
    makes("gzip;q=1", FAILURE_NONE, false, false);
    makes("gzi", FAILURE_NONE, false, false);
    makes("gzipp", FAILURE_NONE, false, false);
    makes("gzip", FAILURE_NONE, true, true);
    makes("gzip,gzip,gzip,gzip,gzip", FAILURE_NONE, true, true);
    makes("gzip,gzip,gzip,gzip,gzip,gzip", FAILURE_CODING_CHAIN, false, true);
    for (const char *at = inflater_accepts(); at != NULL;) {
        char name[16];
        const char *comma = strchr(at, ',');
        snprintf(name, sizeof(name), "%.*s", comma ? (int)(comma - at) : (int)strlen(at), at);
        makes(name, FAILURE_NONE, true, true);
        at = comma ? comma + 2 : NULL;
    }
    inflater_free(NULL);
}

/* Feeds the inflater of the Net::HTTP facade byte by byte. */
static failure_code unpack_as_net_http(buffer *out, const char *coding, const buffer *packed) {
    inflater *i;
    failure_code failure = inflater_new_zlib(&i, coding, strlen(coding), &unlimited);
    if (failure != FAILURE_NONE || i == NULL) return failure;
    inflater_result result = INFLATER_MORE;
    for (size_t at = packed->start; at < packed->end && result == INFLATER_MORE; at++) {
        uint8_t room[4096];
        size_t consumed, produced;
        result = inflater_feed(i, packed->bytes + at, 1, &consumed, room, sizeof(room), &produced);
        CHECK(consumed == 1 || result != INFLATER_MORE, "%s: stuck at %zu", coding, at);
        if (!buffer_append(out, room, produced)) abort();
    }
    failure = inflater_finish(i);
    inflater_free(i);
    return failure;
}

static void test_as_net_http(void) {
    buffer text = {0}, packed = {0}, none = {0};
    static const char *const codings[] = {"gzip", "X-GZip", "deflate"};
    write_text(&text, 300);
    for (size_t c = 0; c < 3; c++) {
        for (size_t p = 0; p < PACKINGS; p++) {
            bool zlib = strcmp(packings[p].coding, "gzip") == 0 ||
                        strcmp(packings[p].coding, "deflate") == 0;
            buffer out = {0};
            if (!zlib) continue;
            buffer_clear(&packed);
            packings[p].pack(&packed, text.bytes, buffer_length(&text));
            if (!buffer_append(&packed, "and more", 8)) abort();
            failure_code was = unpack_as_net_http(&out, codings[c], &packed);
            bool raw = was == FAILURE_CODING_DATA; /* the raw form of deflate has no header */
            CHECK(raw || (was == FAILURE_NONE && same(&out, &text)), "%s as %s: %s",
                  packings[p].coding, codings[c], failure_name(was));
            buffer_free(&out);
        }
    }
    packed.end -= 12;
    CHECK(unpack_as_net_http(&none, "gzip", &packed) != FAILURE_NONE, "cut");
    static const char *const others[] = {"br", "gzip, gzip", "gzip,", "identity", "", "zip"};
    for (size_t o = 0; o < sizeof(others) / sizeof(others[0]); o++) {
        inflater *i;
        failure_code was = inflater_new_zlib(&i, others[o], strlen(others[o]), &unlimited);
        CHECK(was == FAILURE_NONE && i == NULL, "\"%s\" is left as it is", others[o]);
    }
    buffer_free(&text);
    buffer_free(&packed);
    buffer_free(&none);
}

/* A body without any byte: a response to HEAD, or an empty body with a Content-Encoding. */
static void test_empty_body(void) {
    for (size_t p = 0; p < PACKINGS; p++) {
        buffer out = {0};
        bool stuck = false;
        failure_code was = unpack(&out, packings[p].coding, &unlimited, NULL, 0, 1, 1, &stuck);
        CHECK(was == FAILURE_NONE && buffer_length(&out) == 0, "%s: an empty body",
              packings[p].coding);
        buffer_free(&out);
    }
}

int main(void) {
    RUN(test_making());
    RUN(test_each_coding());
    RUN(test_empty_body());
    RUN(test_as_net_http());
    RUN(test_cut());
    RUN(test_damaged());
    RUN(test_gzip_members());
    RUN(test_gzip_header());
    RUN(test_deflate_kinds());
#ifdef HAVE_ZSTD
    RUN(test_zstd_frames());
    RUN(test_zstd_declares());
#endif
    RUN(test_chains());
    return check_report();
}
