#include "buffer.h"

int utf8_index;

void buffer_grow(buffer *out, size_t size) {
    VALUE string = out->string;
    long length = out->at - RSTRING_PTR(string);

    if (length != RSTRING_LEN(string)) {
        int coderange = out->coderange;
        buffer_close(out);
        out->coderange = coderange;
    }
    rb_str_modify_expand(string, (long)(size > (size_t)length ? size : (size_t)length));
    out->at = RSTRING_PTR(string) + length;
    out->limit = RSTRING_PTR(string) + rb_str_capacity(string);
}
