#include "engine.h"

#include <ruby/st.h>
#include <string.h>

/*
 * Finds the Encoding of a charset. A name that Ruby does not know is never passed to it: Ruby would
 * search the whole load path for it, and names come from servers. "locale", "external", "internal"
 * and "filesystem" are names of Ruby, not charsets.
 */

/* Names of the IANA or the WHATWG that servers send and Ruby does not know. */
static const char *const others[][2] = {
    {"utf8", "UTF-8"},
    {"utf_8", "UTF-8"},
    {"unicode-1-1-utf-8", "UTF-8"},
    {"unicode11utf8", "UTF-8"},
    {"unicode20utf8", "UTF-8"},
    {"x-unicode20utf8", "UTF-8"},
    {"utf8mb4", "UTF-8"},
    {"utf16", "UTF-16"},
    {"utf16le", "UTF-16LE"},
    {"utf16be", "UTF-16BE"},
    {"utf32", "UTF-32"},
    {"us", "US-ASCII"},
    {"iso646-us", "US-ASCII"},
    {"iso-ir-6", "US-ASCII"},
    {"latin1", "ISO-8859-1"},
    {"latin-1", "ISO-8859-1"},
    {"l1", "ISO-8859-1"},
    {"iso_8859-1", "ISO-8859-1"},
    {"iso_8859-1:1987", "ISO-8859-1"},
    {"iso88591", "ISO-8859-1"},
    {"iso-ir-100", "ISO-8859-1"},
    {"cp819", "ISO-8859-1"},
    {"ibm819", "ISO-8859-1"},
    {"latin2", "ISO-8859-2"},
    {"l2", "ISO-8859-2"},
    {"iso_8859-2", "ISO-8859-2"},
    {"iso88592", "ISO-8859-2"},
    {"cyrillic", "ISO-8859-5"},
    {"iso_8859-5", "ISO-8859-5"},
    {"iso88595", "ISO-8859-5"},
    {"arabic", "ISO-8859-6"},
    {"iso_8859-6", "ISO-8859-6"},
    {"greek", "ISO-8859-7"},
    {"iso_8859-7", "ISO-8859-7"},
    {"hebrew", "ISO-8859-8"},
    {"iso_8859-8", "ISO-8859-8"},
    {"iso-8859-8-i", "ISO-8859-8"},
    {"iso-8859-8-e", "ISO-8859-8"},
    {"latin5", "ISO-8859-9"},
    {"l5", "ISO-8859-9"},
    {"iso_8859-9", "ISO-8859-9"},
    {"iso88599", "ISO-8859-9"},
    {"latin9", "ISO-8859-15"},
    {"latin-9", "ISO-8859-15"},
    {"l9", "ISO-8859-15"},
    {"iso_8859-15", "ISO-8859-15"},
    {"iso885915", "ISO-8859-15"},
    {"x-cp1250", "Windows-1250"},
    {"x-cp1251", "Windows-1251"},
    {"win-1251", "Windows-1251"},
    {"x-cp1252", "Windows-1252"},
    {"x-cp1253", "Windows-1253"},
    {"x-cp1254", "Windows-1254"},
    {"dos-874", "Windows-874"},
    {"koi", "KOI8-R"},
    {"koi8", "KOI8-R"},
    {"koi8_r", "KOI8-R"},
    {"cskoi8r", "KOI8-R"},
    {"koi8-ru", "KOI8-U"},
    {"shift-jis", "Shift_JIS"},
    {"shiftjis", "Shift_JIS"},
    {"csshiftjis", "Shift_JIS"},
    {"x-sjis", "Windows-31J"},
    {"ms_kanji", "Windows-31J"},
    {"ms932", "Windows-31J"},
    {"x-euc-jp", "EUC-JP"},
    {"euc_jp", "EUC-JP"},
    {"ks_c_5601-1987", "CP949"},
    {"ksc5601", "CP949"},
    {"ksc_5601", "CP949"},
    {"korean", "CP949"},
    {"windows-949", "CP949"},
    {"uhc", "CP949"},
    {"chinese", "GBK"},
    {"gb_2312", "GBK"},
    {"gb_2312-80", "GBK"},
    {"x-gbk", "GBK"},
    {"cn-big5", "Big5"},
    {"x-x-big5", "Big5"},
    {"macintosh", "macRoman"},
    {"mac", "macRoman"},
    {"x-mac-roman", "macRoman"},
    {"x-mac-cyrillic", "macCyrillic"},
};

/* Bytes of the longest name that is looked up, with its NUL. */
#define NAME_ROOM 64

/* Maps a name to Ruby's name of the encoding; both live as long as the process. Names are compared
 * without case. Used only with the GVL. */
static st_table *known;

static bool is_charset(const char *name) {
    static const char *const own[] = {"locale", "external", "internal", "filesystem"};
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        if (strcmp(name, own[i]) == 0) return false;
    return true;
}

static void remember(const char *name, const char *encoding) {
    st_insert(known, (st_data_t)name, (st_data_t)encoding);
}

/* Removes the name of an encoding that cannot be loaded, so that loading is not tried again. */
int charset_index(const char *name, size_t length) {
    char text[NAME_ROOM];
    st_data_t encoding;
    if (length >= sizeof(text) || memchr(name, '\0', length) != NULL) return -1;
    memcpy(text, name, length);
    text[length] = '\0';
    if (!st_lookup(known, (st_data_t)text, &encoding)) return -1;
    int index = rb_enc_find_index((const char *)encoding);
    if (index < 0) {
        st_data_t key = (st_data_t)text;
        st_delete(known, &key, &encoding);
    }
    return index;
}

/* Only the end can be an incomplete character. A possible beginning of one is checked with all
 * bytes after it, so that invalid bytes count as complete. */
long charset_complete_length(const char *bytes, long length, rb_encoding *encoding) {
    const char *end = bytes + length, *complete_end = end;
    if (rb_enc_mbmaxlen(encoding) == 1) return length;
    while (complete_end > bytes) {
        const char *last = rb_enc_left_char_head(bytes, complete_end - 1, end, encoding);
        if (!MBCLEN_NEEDMORE_P(rb_enc_precise_mbclen(last, end, encoding))) break;
        complete_end = last;
    }
    return complete_end - bytes;
}

/* call-seq: Engine.charset(name) -> Encoding or nil */
static VALUE charset(VALUE module, VALUE name) {
    (void)module;
    StringValue(name);
    int index = charset_index(RSTRING_PTR(name), (size_t)RSTRING_LEN(name));
    return index < 0 ? Qnil : rb_enc_from_encoding(rb_enc_from_index(index));
}

void charset_init(void) {
    VALUE names = rb_funcall(rb_cEncoding, rb_intern("name_list"), 0);
    known = st_init_strcasetable();
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        remember(others[i][0], others[i][1]);
    for (long i = 0; i < RARRAY_LEN(names); i++) {
        VALUE name = rb_str_new_frozen(RARRAY_AREF(names, i));
        if (is_charset(StringValueCStr(name))) {
            rb_gc_register_mark_object(name);
            remember(RSTRING_PTR(name), RSTRING_PTR(name));
        }
    }
    rb_define_singleton_method(mEngine, "charset", charset, 1);
}
