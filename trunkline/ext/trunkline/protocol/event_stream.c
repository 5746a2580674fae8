#include "protocol/event_stream.h"

static const uint8_t byte_order_mark[3] = {0xEF, 0xBB, 0xBF};

/* Milliseconds: a longer retry counts as this, as in the engine in Ruby. */
#define RETRY_MOST 1000000000000000

void event_stream_begin(event_stream *s, size_t limit) {
    memset(s, 0, sizeof(*s));
    s->limit = limit;
    s->state = EVENT_STREAM_MORE;
    s->event_retry = s->retry = -1;
}

void event_stream_free(event_stream *s) {
    buffer_free(&s->line);
    buffer_free(&s->data.own);
    buffer_free(&s->type.own);
    buffer_free(&s->next_id);
    buffer_free(&s->id);
}

static bool replace(buffer *b, const void *bytes, size_t length) {
    buffer_clear(b);
    return buffer_append(b, bytes, length);
}

bool event_stream_set_id(event_stream *s, const void *bytes, size_t length) {
    if (!replace(&s->id, bytes, length)) return false;
    s->has_id = s->id_changed = true;
    return true;
}

/* ---- fields ---- */

static bool keep(event_field *field) {
    event_text *text = &field->text;
    if (text->length == 0 || text->bytes == field->own.bytes) return true;
    if (!replace(&field->own, text->bytes, text->length)) return false;
    text->bytes = field->own.bytes;
    return true;
}

/* Copies the texts of an unfinished event, before the bytes that they point into become invalid. */
static bool keep_fields(event_stream *s) {
    return (!s->has_data || keep(&s->data)) && keep(&s->type);
}

/* The first data line is not copied; a second one copies it, and is joined to it by a line feed. */
static bool add_data(event_stream *s, event_text value) {
    if (!s->has_data) {
        s->has_data = true;
        s->data.text = value;
        return true;
    }
    buffer *own = &s->data.own;
    if (s->data.text.length == 0) buffer_clear(own);
    if (!keep(&s->data) || !buffer_append(own, "\n", 1)) return false;
    if (!buffer_append(own, value.bytes, value.length)) return false;
    s->data.text = (event_text){own->bytes, buffer_length(own)};
    return true;
}

static bool set_next_id(event_stream *s, event_text value) {
    if (value.length > 0 && memchr(value.bytes, '\0', value.length) != NULL) return true;
    s->has_next_id = true;
    return replace(&s->next_id, value.bytes, value.length);
}

static void set_retry(event_stream *s, event_text value) {
    int64_t milliseconds = 0;
    for (size_t i = 0; i < value.length; i++) {
        if (value.bytes[i] < '0' || value.bytes[i] > '9') return;
        if (milliseconds < RETRY_MOST) milliseconds = milliseconds * 10 + (value.bytes[i] - '0');
    }
    if (milliseconds > RETRY_MOST) milliseconds = RETRY_MOST;
    if (value.length > 0) s->retry = s->event_retry = milliseconds;
}

/* Returns whether the line is a field of that name. *value is set to the text after the colon and
 * one optional space. */
static bool names(event_text line, const char *name, size_t length, event_text *value) {
    if (line.length < length || memcmp(line.bytes, name, length) != 0) return false;
    if (line.length > length && line.bytes[length] != ':') return false;
    size_t start = line.length > length ? length + 1 : length;
    if (start < line.length && line.bytes[start] == ' ') start++;
    *value = (event_text){line.bytes + start, line.length - start};
    return true;
}

/* Returns false without memory. */
static bool take_field(event_stream *s, event_text line) {
    event_text value;
    if (names(line, "data", 4, &value)) return add_data(s, value);
    if (names(line, "id", 2, &value)) return set_next_id(s, value);
    if (names(line, "event", 5, &value))
        s->type.text = value;
    else if (names(line, "retry", 5, &value))
        set_retry(s, value);
    return true;
}

/* ---- events ---- */

static void take_next_id(event_stream *s) {
    buffer before = s->id;
    s->id = s->next_id;
    s->next_id = before;
    s->has_next_id = false;
    s->has_id = s->id_changed = true;
}

/* Handles an empty line. Returns whether there is an event to dispatch: an event without data is
 * dropped, but its id is stored. */
static bool end_event(event_stream *s, server_event *out) {
    bool dispatched = s->has_data;
    *out = (server_event){s->type.text, s->data.text, s->event_retry};
    if (s->has_next_id) take_next_id(s);
    s->type.text.length = 0;
    s->has_data = false;
    s->event_retry = -1;
    s->size = 0;
    return dispatched;
}

/* ---- lines ---- */

/* Skips a byte order mark at the beginning. Bytes that match only the start of a mark are put back
 * into the first line. */
static event_stream_result skip_mark(event_stream *s) {
    while (s->mark < sizeof(byte_order_mark) && s->at < s->end) {
        if (*s->at != byte_order_mark[s->mark]) {
            bool kept = buffer_append(&s->line, byte_order_mark, s->mark);
            s->mark = sizeof(byte_order_mark);
            return kept ? EVENT_STREAM_MORE : EVENT_STREAM_NO_MEMORY;
        }
        s->mark++;
        s->at++;
    }
    return EVENT_STREAM_MORE;
}

void event_stream_feed(event_stream *s, const void *bytes, size_t length) {
    if (s->state != EVENT_STREAM_MORE || length == 0) return;
    s->at = bytes;
    s->end = s->at + length;
    s->line_feed = NULL;
    if (s->mark < sizeof(byte_order_mark)) s->state = skip_mark(s);
}

/* Returns the end of the line, or s->end. The position of the next line feed is kept, so that it is
 * searched for once, even if many lines before it end in carriage returns. */
static const uint8_t *line_end(event_stream *s) {
    if (s->line_feed == NULL || s->line_feed < s->at) {
        const uint8_t *found = memchr(s->at, '\n', (size_t)(s->end - s->at));
        s->line_feed = found != NULL ? found : s->end;
    }
    const uint8_t *found = memchr(s->at, '\r', (size_t)(s->line_feed - s->at));
    return found != NULL ? found : s->line_feed;
}

/* Stores the beginning of a line that goes on in the next feed. */
static event_stream_result keep_line(event_stream *s, event_text rest) {
    if (buffer_length(&s->line) == 0 && rest.length > 0 && rest.bytes[0] == ':')
        s->in_comment = true;
    if (!s->in_comment) {
        if (rest.length + buffer_length(&s->line) > s->limit - s->size)
            return EVENT_STREAM_TOO_LARGE;
        if (!buffer_append(&s->line, rest.bytes, rest.length)) return EVENT_STREAM_NO_MEMORY;
    }
    return keep_fields(s) ? EVENT_STREAM_MORE : EVENT_STREAM_NO_MEMORY;
}

/* Handles the rest of a line that began in an earlier feed. */
static event_stream_result take_kept_line(event_stream *s, event_text rest) {
    bool comment = s->in_comment;
    s->in_comment = false;
    if (comment) return EVENT_STREAM_MORE;
    if (rest.length + buffer_length(&s->line) > s->limit - s->size) return EVENT_STREAM_TOO_LARGE;
    if (!buffer_append(&s->line, rest.bytes, rest.length)) return EVENT_STREAM_NO_MEMORY;
    event_text line = {s->line.bytes, buffer_length(&s->line)};
    s->size += line.length;
    bool taken = take_field(s, line) && keep_fields(s);
    buffer_clear(&s->line);
    return taken ? EVENT_STREAM_MORE : EVENT_STREAM_NO_MEMORY;
}

static event_stream_result take_line(event_stream *s, event_text line, server_event *out) {
    if (s->in_comment || buffer_length(&s->line) > 0) return take_kept_line(s, line);
    if (line.length == 0) return end_event(s, out) ? EVENT_STREAM_EVENT : EVENT_STREAM_MORE;
    if (line.bytes[0] == ':') return EVENT_STREAM_MORE;
    if (line.length > s->limit - s->size) return EVENT_STREAM_TOO_LARGE;
    s->size += line.length;
    return take_field(s, line) ? EVENT_STREAM_MORE : EVENT_STREAM_NO_MEMORY;
}

/* Handles a line that ends in a carriage return at once, without waiting for the line feed that may
 * follow. */
event_stream_result event_stream_next(event_stream *s, server_event *out) {
    while (s->state == EVENT_STREAM_MORE && s->at < s->end) {
        bool skip = s->after_cr && *s->at == '\n';
        s->after_cr = false;
        if (skip) {
            s->at++;
            continue;
        }
        const uint8_t *stop = line_end(s);
        event_text line = {s->at, (size_t)(stop - s->at)};
        if (stop == s->end) {
            s->at = s->end;
            s->state = keep_line(s, line);
            break;
        }
        s->after_cr = *stop == '\r';
        s->at = stop + 1;
        event_stream_result result = take_line(s, line, out);
        if (result == EVENT_STREAM_EVENT) return result;
        s->state = result;
    }
    if (s->state == EVENT_STREAM_MORE && !keep_fields(s)) s->state = EVENT_STREAM_NO_MEMORY;
    return s->state;
}
