#ifndef TRUNKLINE_XML_WRITER_H
#define TRUNKLINE_XML_WRITER_H

#include "buffer.h"
#include "builder.h"
#include "escape.h"
#include "names.h"

/*
 * Writes the output of one call of a builder. Output consists of fragments, each passed to one call
 * of the target's `<<`. If the target is a plain String in UTF-8, the bytes are written to it
 * directly, with the same result. No Ruby code may run between writer_open() and writer_close(),
 * except in writer_push() and between writer_pause() and writer_resume().
 */
typedef struct {
    const builder *builder;
    buffer out;
    long start;          /* offset of the fragment in out.string */
    int start_coderange; /* of out.string before the fragment */
    bool detached;       /* out.string is a fragment that is not yet passed to the target */
} writer;

void writer_open(writer *w, const builder *b);
void writer_close(writer *w);

/* To be called between fragments only. Ruby code may run between the two. */
void writer_pause(writer *w);
void writer_resume(writer *w);

/* Ends the fragment, even if it is empty. Returns the result of `<<`. */
VALUE writer_end_fragment(writer *w);

/* Calls `target << object`, as a fragment. To be called between fragments only. May run Ruby code.
 */
VALUE writer_push(writer *w, VALUE object);

/* Puts a String as Ruby's interpolation would, including its rules and errors for encodings. */
void writer_put_string(writer *w, VALUE string);

/* Put ASCII: writer_put_after for the rest of a literal after an interpolated String, writer_put
 * for all other text. */
static inline void writer_put(writer *w, const char *ascii) {
    buffer_put(&w->out, ascii, strlen(ascii));
}
void writer_put_after(writer *w, const char *ascii);

/* Puts a String that is escape_readable(). */
void writer_put_escaped(writer *w, VALUE string, escape_kind kind);

/* Calls escape_readable(). To be called between fragments only. */
VALUE writer_readable(writer *w, VALUE object);

/* Put the fragments of indentation and of a line end, if the builder indents. */
void writer_put_indent(writer *w);
void writer_put_newline(writer *w);

/* Puts the fragments of attributes: first those with the keys in `first`, in that order, if their
 * value is true; then all others. */
void writer_put_attributes(writer *w, VALUE hash, const VALUE *first, int first_count);

/* Sets ActionView::RawOutputBuffer, or nil: the buffer inside such a target is written directly. */
void writer_set_output_buffer(VALUE klass);

/* Sets Trunkline::XML::Chunks: the String of such a target is written directly, and flushed when it
 * is long enough. */
void writer_set_chunks(VALUE klass);
void writer_init(void);

#endif
