#include "escape.h"

#if defined(__SSE2__) && !defined(TRUNKLINE_XML_SCALAR)
#include <emmintrin.h>
#define ESCAPE_BLOCK 16
#elif defined(__ARM_NEON) && defined(__aarch64__) && !defined(TRUNKLINE_XML_SCALAR)
#include <arm_neon.h>
#define ESCAPE_BLOCK 16
#endif

/* Bytes of the longest replacement of one character: &quot; */
enum { LONGEST = 6 };

/* What to do for a byte. All characters outside ASCII that may be replaced begin with C2 or EF. */
enum { PLAIN, AMP, LT, GT, QUOT, LF, CR, FORBIDDEN, LEAD_C2, LEAD_EF };

#define OUT FORBIDDEN
#define C0_CONTROLS(line_feed, carriage_return)                                                    \
    OUT, OUT, OUT, OUT, OUT, OUT, OUT, OUT, OUT, PLAIN, line_feed, OUT, OUT, carriage_return, OUT, \
        OUT, OUT, OUT, OUT, OUT, OUT, OUT, OUT, OUT, OUT, OUT, OUT, OUT, OUT, OUT, OUT, OUT

static const unsigned char text_actions[256] = {
    C0_CONTROLS(PLAIN, PLAIN), ['&'] = AMP,     ['<'] = LT, ['>'] = GT,
    [0xC2] = LEAD_C2,          [0xEF] = LEAD_EF};

static const unsigned char attribute_actions[256] = {
    C0_CONTROLS(LF, CR), ['"'] = QUOT,     ['&'] = AMP,     ['<'] = LT,
    ['>'] = GT,          [0xC2] = LEAD_C2, [0xEF] = LEAD_EF};

static const struct {
    char bytes[7];
    unsigned char size;
} replacements[] = {
    [AMP] = {"&amp;", 5},
    [LT] = {"&lt;", 4},
    [GT] = {"&gt;", 4},
    [QUOT] = {"&quot;", 6},
    [LF] = {"&#10;", 5},
    [CR] = {"&#13;", 5},
    [FORBIDDEN] = {"\xEF\xBF\xBD", 3},
};

/* The characters of Windows-1252 at 80..9F, in UTF-8. Controls with an empty entry are kept. */
/* clang-format off */
static const char windows_1252[32][4] = {
    "\xE2\x82\xAC", "", "\xE2\x80\x9A", "\xC6\x92",
    "\xE2\x80\x9E", "\xE2\x80\xA6", "\xE2\x80\xA0", "\xE2\x80\xA1",
    "\xCB\x86", "\xE2\x80\xB0", "\xC5\xA0", "\xE2\x80\xB9",
    "\xC5\x92", "", "\xC5\xBD", "",
    "", "\xE2\x80\x98", "\xE2\x80\x99", "\xE2\x80\x9C",
    "\xE2\x80\x9D", "\xE2\x80\xA2", "\xE2\x80\x93", "\xE2\x80\x94",
    "\xCB\x9C", "\xE2\x84\xA2", "\xC5\xA1", "\xE2\x80\xBA",
    "\xC5\x93", "", "\xC5\xBE", "\xC5\xB8",
};
/* clang-format on */

static void put_replacement(buffer *out, int action) {
    memcpy(out->at, replacements[action].bytes, 6);
    out->at += replacements[action].size;
    if (action == FORBIDDEN) buffer_note_utf8(out);
}

/* Puts the character at `from`, which may have to be replaced, and returns the address after it. */
static const char *put_character(buffer *out, const char *from, const char *end, int action) {
    if (action < LEAD_C2) {
        put_replacement(out, action);
        return from + 1;
    }
    const unsigned char *bytes = (const unsigned char *)from;
    if (action == LEAD_C2 && end - from > 1 && bytes[1] < 0xA0) {
        const char *mended = windows_1252[bytes[1] - 0x80];
        size_t size = strlen(mended);
        if (size) {
            memcpy(out->at, mended, size);
            out->at += size;
            return from + 2;
        }
    } else if (action == LEAD_EF && end - from > 2 && bytes[1] == 0xBF && bytes[2] >= 0xBE) {
        put_replacement(out, FORBIDDEN);
        return from + 3;
    }
    *out->at++ = *from;
    return from + 1;
}

#ifdef ESCAPE_BLOCK
#ifdef __SSE2__
typedef __m128i block;

static inline block block_load(const char *from) {
    return _mm_loadu_si128((const __m128i *)from);
}

static inline void block_store(char *to, block bytes) {
    _mm_storeu_si128((__m128i *)to, bytes);
}

static inline block block_equal(block bytes, unsigned char byte) {
    return _mm_cmpeq_epi8(bytes, _mm_set1_epi8((char)byte));
}

/* Returns a mask with one bit for each byte, set if the byte may have to be replaced. */
static inline unsigned int block_mask(block bytes, escape_kind kind) {
    block below_space = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1F)), bytes);
    block angle = block_equal(_mm_or_si128(bytes, _mm_set1_epi8(2)), '>');
    block mask = _mm_or_si128(_mm_or_si128(below_space, angle), block_equal(bytes, '&'));
    mask = _mm_or_si128(mask, _mm_or_si128(block_equal(bytes, 0xC2), block_equal(bytes, 0xEF)));
    if (kind == ESCAPE_ATTRIBUTE) mask = _mm_or_si128(mask, block_equal(bytes, '"'));
    return (unsigned int)_mm_movemask_epi8(mask);
}

/* Returns the index of the first byte whose bit is set; ESCAPE_BLOCK if there is none. */
static inline unsigned int mask_first(unsigned int mask) {
    return (unsigned int)__builtin_ctz(mask | 1u << ESCAPE_BLOCK);
}
#else
typedef uint8x16_t block;

static inline block block_load(const char *from) {
    return vld1q_u8((const uint8_t *)from);
}

static inline void block_store(char *to, block bytes) {
    vst1q_u8((uint8_t *)to, bytes);
}

/* Returns a mask with four bits for each byte, set if the byte may have to be replaced, because
 * NEON has no movemask. */
static inline uint64_t block_mask(block bytes, escape_kind kind) {
    block mask = vcltq_u8(bytes, vdupq_n_u8(0x20));
    mask = vorrq_u8(mask, vceqq_u8(vorrq_u8(bytes, vdupq_n_u8(2)), vdupq_n_u8('>')));
    mask = vorrq_u8(mask, vceqq_u8(bytes, vdupq_n_u8('&')));
    mask = vorrq_u8(mask, vceqq_u8(bytes, vdupq_n_u8(0xC2)));
    mask = vorrq_u8(mask, vceqq_u8(bytes, vdupq_n_u8(0xEF)));
    if (kind == ESCAPE_ATTRIBUTE) mask = vorrq_u8(mask, vceqq_u8(bytes, vdupq_n_u8('"')));
    uint8x8_t narrow = vshrn_n_u16(vreinterpretq_u16_u8(mask), 4);
    return vget_lane_u64(vreinterpret_u64_u8(narrow), 0);
}

/* Returns the index of the first byte whose bits are set; ESCAPE_BLOCK if there is none. */
static inline unsigned int mask_first(uint64_t mask) {
    return mask ? (unsigned int)__builtin_ctzll(mask) / 4 : ESCAPE_BLOCK;
}
#endif

/* Copies up to the first byte that may have to be replaced. A block is always stored whole, and the
 * next output overwrites its end, which is cheaper than a copy of variable length; therefore the
 * caller must reserve one more block. A partial block is copied first, so as not to read past the
 * end of the String. */
static inline const char *copy_plain(buffer *out, const char *from, const char *end,
                                     escape_kind kind) {
    while (from < end) {
        char rest[ESCAPE_BLOCK] = {0};
        size_t size = (size_t)(end - from);
        bool whole = size >= ESCAPE_BLOCK;
        if (!whole) memcpy(rest, from, size);
        block bytes = block_load(whole ? from : rest);
        block_store(out->at, bytes);
        size_t plain = mask_first(block_mask(bytes, kind));
        size_t limit = whole ? ESCAPE_BLOCK : size;
        if (plain < limit) {
            out->at += plain;
            return from + plain;
        }
        out->at += limit;
        from += limit;
    }
    return from;
}
#else
static inline const char *copy_plain(buffer *out, const char *from, const char *end,
                                     escape_kind kind) {
    const unsigned char *actions = kind == ESCAPE_TEXT ? text_actions : attribute_actions;
    while (from < end && actions[(unsigned char)*from] == PLAIN) *out->at++ = *from++;
    return from;
}
#endif

static inline void escape_all(buffer *out, const char *from, const char *end,
                              const unsigned char *actions, escape_kind kind) {
    buffer_reserve(out, (size_t)(end - from) + 16);
    while ((from = copy_plain(out, from, end, kind)) < end) {
        int action = actions[(unsigned char)*from];
        if (action == PLAIN)
            *out->at++ = *from++;
        else
            from = put_character(out, from, end, action);
        buffer_reserve(out, (size_t)(end - from) + 16 + LONGEST);
    }
}

void escape_put(buffer *out, const char *bytes, size_t size, escape_kind kind) {
    if (kind == ESCAPE_TEXT)
        escape_all(out, bytes, bytes + size, text_actions, ESCAPE_TEXT);
    else
        escape_all(out, bytes, bytes + size, attribute_actions, ESCAPE_ATTRIBUTE);
}

/* Reads the bytes as ISO-8859-1, which is never invalid. escape_put then replaces C1 controls by
 * characters of Windows-1252. */
static VALUE from_latin1(VALUE string) {
    long size = RSTRING_LEN(string);
    VALUE utf8 = rb_enc_str_new(NULL, size * 2, rb_utf8_encoding());
    const unsigned char *from = (const unsigned char *)RSTRING_PTR(string), *end = from + size;
    unsigned char *start = (unsigned char *)RSTRING_PTR(utf8), *to = start;
    for (; from < end; from++) {
        if (*from < 0x80) {
            *to++ = *from;
        } else {
            *to++ = (unsigned char)(0xC0 | *from >> 6);
            *to++ = (unsigned char)(0x80 | (*from & 0x3F));
        }
    }
    rb_str_set_len(utf8, to - start);
    ENC_CODERANGE_SET(utf8, ENC_CODERANGE_VALID);
    return utf8;
}

/* Returns the text in valid UTF-8. For Strings that are neither ASCII nor valid UTF-8. */
static VALUE to_utf8(VALUE string) {
    int index = rb_enc_get_index(string);
    if (index == utf8_index) return from_latin1(string);
    if (index == rb_ascii8bit_encindex()) {
        rb_check_frozen(string); /* raises for a frozen String, as the Builder gem does */
        VALUE utf8 = rb_enc_str_new(RSTRING_PTR(string), RSTRING_LEN(string), rb_utf8_encoding());
        RB_GC_GUARD(string);
        return rb_enc_str_coderange(utf8) == ENC_CODERANGE_BROKEN ? from_latin1(utf8) : utf8;
    }
    return rb_str_encode(string, rb_enc_from_encoding(rb_utf8_encoding()), 0, Qnil);
}

NORETURN(static void raise_no_text(VALUE object));

static void raise_no_text(VALUE object) {
    rb_raise(rb_eNoMethodError, "undefined method `encoding' for an instance of %" PRIsVALUE,
             CLASS_OF(object));
}

bool escape_readable_p(VALUE string) {
    int coderange = rb_enc_str_coderange(string);
    return coderange == ENC_CODERANGE_7BIT ||
           (coderange == ENC_CODERANGE_VALID && ENCODING_GET(string) == utf8_index);
}

VALUE escape_readable(VALUE object) {
    if (!RB_TYPE_P(object, T_STRING)) raise_no_text(object);
    return escape_readable_p(object) ? object : to_utf8(object);
}

void escape_put_string(buffer *out, VALUE string, escape_kind kind) {
    if (ENC_CODERANGE(string) != ENC_CODERANGE_7BIT) buffer_note_utf8(out);
    escape_put(out, RSTRING_PTR(string), (size_t)RSTRING_LEN(string), kind);
    RB_GC_GUARD(string);
}

VALUE escape_string(VALUE string, escape_kind kind) {
    VALUE result = rb_str_buf_new(RSTRING_LEN(string) + 32);
    rb_enc_associate_index(result, rb_utf8_encindex());
    ENC_CODERANGE_SET(result, ENC_CODERANGE_7BIT);
    buffer out;
    buffer_open(&out, result, (size_t)RSTRING_LEN(string) + 16);
    escape_put_string(&out, string, kind);
    buffer_close(&out);
    return result;
}

/*
 * call-seq: Trunkline::XML::Escape.text(string) -> String
 *
 * Returns the text escaped, in UTF-8; see the Ruby method that it replaces.
 */
static VALUE escape_s_text(VALUE self, VALUE string) {
    return escape_string(escape_readable(string), ESCAPE_TEXT);
}

void escape_init(VALUE module) {
    utf8_index = rb_utf8_encindex();
    rb_remove_method(rb_singleton_class(module), "text");
    rb_define_singleton_method(module, "text", escape_s_text, 1);
}
