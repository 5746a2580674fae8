#ifndef TRUNKLINE_XML_WRITER_H
#define TRUNKLINE_XML_WRITER_H

#include "buffer.h"
#include "builder.h"
#include "escape.h"
#include "names.h"

/*
 * Writes for one call of one builder. Output is made of fragments, the pieces for which the
 * target's
 * `<<` is called; a target that is a plain String in UTF-8 gets the bytes directly instead, and
 * that looks the same from outside. No Ruby code may run between writer_open() and writer_close(),
 * but in writer_push() and between writer_pause() and writer_resume().
 */
typedef struct {
    const builder *builder;
    buffer out;
    long start;          /* where the fragment begins in out.string */
    int start_coderange; /* of out.string before the fragment */
    bool detached;       /* out.string is a fragment that the target has yet to get */
} writer;

void writer_open(writer *w, const builder *b);
void writer_close(writer *w);

/* Between fragments only. */
void writer_pause(writer *w);
void writer_resume(writer *w);

/* Ends the fragment, be it empty; returns what `<<` returned. */
VALUE writer_end_fragment(writer *w);

/* `target << object`, as a fragment of its own. Between fragments only. May run Ruby code. */
VALUE writer_push(writer *w, VALUE object);

/* Puts a String as Ruby's interpolation would, encodings and their quarrels included. */
void writer_put_string(writer *w, VALUE string);

/* Puts ASCII; after an interpolated String when it is the rest of one literal with that. */
static inline void writer_put(writer *w, const char *ascii) {
    buffer_put(&w->out, ascii, strlen(ascii));
}
void writer_put_after(writer *w, const char *ascii);

/* Puts a String that is escape_readable(). */
void writer_put_escaped(writer *w, VALUE string, escape_kind kind);

/* escape_readable(), between fragments. */
VALUE writer_readable(writer *w, VALUE object);

/* The fragments of indentation and of a line end, where the builder has such. */
void writer_put_indent(writer *w);
void writer_put_newline(writer *w);

/* The fragments of attributes: those named in `first` in that order when true, then the others. */
void writer_put_attributes(writer *w, VALUE hash, const VALUE *first, int first_count);

/* ActionView::RawOutputBuffer, or nil: the buffer under it is written to directly. */
void writer_set_output_buffer(VALUE klass);

/* Trunkline::XML::Chunks: its String is written to directly, and flushed when it is long enough. */
void writer_set_chunks(VALUE klass);
void writer_init(void);

#endif
