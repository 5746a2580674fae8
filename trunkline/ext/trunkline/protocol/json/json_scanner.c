#include "protocol/json/json_scanner.h"

#include "protocol/json/json_tokens.h"

/* The scanner's states, by what it expects next. */
enum {
    START,         /* the beginning of the stream */
    ROOT,          /* a top-level value */
    ROOT_ENDED,    /* the separator after a top-level value */
    VALUE,         /* an element, or the value of a member */
    FIRST_ELEMENT, /* an element, or the end of the array */
    NAME,          /* the name of a member */
    FIRST_NAME,    /* the name of a member, or the end of the object */
    COLON,
    VALUE_ENDED, /* a comma, or the end of the array or object */
    STRING,      /* the rest of a string */
    NUMBER,      /* the rest of a number */
    SCALAR_ENDED /* a byte that may follow a number or a literal */
};

/* The result of a step: go on, wait for more bytes, return the wanted value, or fail. */
typedef enum { GO_ON, WAIT, TAKE, FAIL } step;

#define NO_MARK SIZE_MAX
#define NO_RECORD UINT64_MAX /* the first top-level value increments it to 0 */
#define RECORD_SEPARATOR 0x1E

const char *json_failure_words(json_failure failure) {
    static const char *const words[] = {
#define JSON_FAILURE_WORDS(name, words) words,
        JSON_FAILURES(JSON_FAILURE_WORDS)
#undef JSON_FAILURE_WORDS
    };
    return words[failure];
}

bool json_scanner_init(json_scanner *s, const json_options *options) {
    memset(s, 0, sizeof(*s));
    s->options = *options;
    s->mark = NO_MARK;
    s->line = 1;
    if (options->form == JSON_DETECTED && !json_path_add_any(&s->options.path)) return false;
    s->positions = calloc(s->options.path.length + 1, sizeof(*s->positions));
    if (s->positions == NULL) return false;
    s->positions[0] = NO_RECORD;
    return true;
}

void json_scanner_free(json_scanner *s) {
    buffer_free(&s->bytes);
    json_path_free(&s->options.path);
    free(s->arrays);
    free(s->positions);
    memset(s, 0, sizeof(*s));
}

bool json_scanner_feed(json_scanner *s, const void *bytes, size_t count) {
    size_t done = s->mark != NO_MARK ? s->mark : s->at;
    buffer_consume(&s->bytes, done);
    s->at -= done;
    if (s->mark != NO_MARK) s->mark = 0;
    s->offset += done;
    return buffer_append(&s->bytes, bytes, count);
}

void json_scanner_finish(json_scanner *s) {
    s->finished = true;
}

/* ---- positions ---- */

static bool is_document(const json_scanner *s) {
    return s->options.form == JSON_DOCUMENT;
}

/* Returns whether the next value or name may lead to a wanted value. */
static bool is_on_path(const json_scanner *s) {
    return !s->wanted && s->depth == s->on_path && s->depth > 0;
}

static void location_at(const json_scanner *s, size_t at, uint64_t line, json_location *location) {
    location->byte = s->offset + at + 1;
    location->line = line;
    location->positions = is_document(s) ? s->positions + 1 : s->positions;
    location->levels = is_document(s) ? s->on_path : s->positions[0] != NO_RECORD;
}

/* Fails at the byte `at`, with JSON_TOO_LARGE instead if the wanted value was too large already. */
static step fail_at(json_scanner *s, size_t at, json_failure failure) {
    bool record_ended = s->options.form == JSON_SEQUENCE && at < buffer_length(&s->bytes) &&
                        buffer_head(&s->bytes)[at] == RECORD_SEPARATOR;
    s->at = at;
    s->failure = record_ended ? JSON_RECORD_CUT : failure;
    if (s->wanted && !s->read && at - s->mark > s->options.value_bytes) {
        s->at = s->mark;
        s->line = s->value_line;
        s->failure = JSON_TOO_LARGE;
    }
    return FAIL;
}

static step fail(json_scanner *s, json_failure failure) {
    return fail_at(s, s->at, failure);
}

json_failure json_scanner_failure(const json_scanner *s, json_location *location) {
    location_at(s, s->at, s->line, location);
    if (s->at == buffer_length(&s->bytes) && location->byte > 1) location->byte--;
    return s->failure;
}

/* ---- begin and end of values ---- */

static step open_container(json_scanner *s, bool is_array) {
    size_t word = s->depth / 64;
    if (s->options.max_nesting > 0 && s->depth >= s->options.max_nesting)
        return fail(s, JSON_TOO_DEEP);
    if (word == s->arrays_room) {
        size_t room = word > 0 ? word * 2 : 2;
        uint64_t *grown = realloc(s->arrays, room * sizeof(*grown));
        if (grown == NULL) return fail(s, JSON_OUT_OF_MEMORY);
        s->arrays = grown;
        s->arrays_room = room;
    }
    uint64_t bit = (uint64_t)1 << s->depth % 64;
    s->arrays[word] = is_array ? s->arrays[word] | bit : s->arrays[word] & ~bit;
    s->in_array = is_array;
    s->depth++;
    s->at++;
    s->state = is_array ? FIRST_ELEMENT : FIRST_NAME;
    return GO_ON;
}

/* Handles the end of a value, which is before `at`. */
static step end_value(json_scanner *s) {
    s->state = s->depth > 0 ? VALUE_ENDED : ROOT_ENDED;
    s->line_ended = false;
    return s->wanted && s->depth == s->wanted_at ? TAKE : GO_ON;
}

static step close_container(json_scanner *s) {
    s->at++;
    if (!s->wanted && s->on_path == s->depth) s->on_path--;
    s->depth--;
    if (s->depth > 0) {
        size_t top = s->depth - 1;
        s->in_array = s->arrays[top / 64] >> top % 64 & 1;
    }
    return end_value(s);
}

/* ---- strings ---- */

/* Scans the escape at `at`; returns WAIT when it is not complete. */
static step escape(json_scanner *s, const uint8_t *p, size_t available) {
    if (available < 2) return WAIT;
    if (p[1] == 'u') {
        for (size_t i = 2; i < 6; i++) {
            if (i == available) return WAIT;
            if (!json_is_hex(p[i])) return fail_at(s, s->at + i, JSON_INVALID_ESCAPE);
        }
        s->at += 6;
        return GO_ON;
    }
    if (!json_is_escape(p[1]) && (!s->options.invalid_escape || p[1] < 0x20))
        return fail_at(s, s->at + 1, JSON_INVALID_ESCAPE);
    s->at += 2;
    return GO_ON;
}

static void end_name(json_scanner *s) {
    if (s->mark != NO_MARK && !s->wanted) {
        const json_segment *segment = &s->options.path.segments[s->depth - 1];
        s->on_name = json_segment_is(segment, buffer_head(&s->bytes) + s->mark, s->at - s->mark);
        if (s->on_name) s->positions[s->depth] = JSON_MEMBER;
        s->mark = NO_MARK;
    }
    s->state = COLON;
}

/* Stops keeping a name that is too long to be the wanted one: each byte of the wanted name takes at
 * most six bytes here (as an escape). */
static void forget_long_name(json_scanner *s) {
    if (!s->is_name || s->wanted || s->mark == NO_MARK) return;
    if (s->at - s->mark <= s->options.path.segments[s->depth - 1].length * 6) return;
    s->mark = NO_MARK;
}

static step string(json_scanner *s, const uint8_t *p, const uint8_t *end) {
    const uint8_t *stop = json_skip_plain(p, end);
    s->at += (size_t)(stop - p);
    if (stop == end) {
        forget_long_name(s);
        return WAIT;
    }
    if (*stop == '\\') return escape(s, stop, (size_t)(end - stop));
    if (*stop != '"') {
        if (!s->options.control_characters) return fail(s, JSON_CONTROL_CHARACTER);
        if (*stop == '\n') s->line++;
        s->at++;
        return GO_ON;
    }
    if (s->is_name) {
        end_name(s);
        s->at++;
        return GO_ON;
    }
    s->at++;
    return end_value(s);
}

/* ---- numbers and literals ---- */

/* Returns whether the end of the bytes also ends a number or literal. */
static bool is_last(const json_scanner *s) {
    return s->finished && s->depth == 0;
}

/* Checks the byte after a number or literal. If it is a record of its own (JSON_SEQUENCE), white
 * space must follow, because it may be cut short otherwise (RFC 7464 2.4). */
static step end_scalar(json_scanner *s, const uint8_t *p, const uint8_t *end) {
    bool is_record = s->options.form == JSON_SEQUENCE && s->depth == 0;
    if (p == end) {
        if (!is_last(s)) return WAIT;
        return is_record ? fail(s, JSON_RECORD_CUT) : end_value(s);
    }
    bool ended = json_is_blank(*p) || (!is_record && (*p == ',' || *p == ']' || *p == '}'));
    if (ended) return end_value(s);
    return fail(s, s->number != 0 ? JSON_INVALID_NUMBER : JSON_EXPECTED_VALUE);
}

static step number(json_scanner *s, const uint8_t *p, const uint8_t *end) {
    const uint8_t *begin = p;
    for (int next; p < end && (next = json_number_after(s->number, *p)) != 0; s->number = next) {
        p++;
        if (next == JSON_INTEGER || next == JSON_FRACTION)
            while (p < end && json_is_digit(*p)) p++;
    }
    s->at += (size_t)(p - begin);
    if (p == end && !is_last(s)) return WAIT;
    if (!json_number_is_complete(s->number)) return p == end ? WAIT : fail(s, JSON_INVALID_NUMBER);
    s->state = SCALAR_ENDED;
    return end_scalar(s, p, end);
}

static step literal(json_scanner *s, const uint8_t *p, const uint8_t *end) {
    size_t available = (size_t)(end - p);
    const char *word = json_literal_of(*p, s->options.nan);
    if (word == NULL) return fail(s, JSON_EXPECTED_VALUE);
    size_t length = strlen(word);
    for (size_t i = 1; i < length && i < available; i++)
        if (p[i] != (uint8_t)word[i])
            return fail_at(s, s->at + i, *p == '-' ? JSON_INVALID_NUMBER : JSON_EXPECTED_VALUE);
    if (available < length) return WAIT;
    s->at += length;
    s->number = 0;
    s->state = SCALAR_ENDED;
    return end_scalar(s, p + length, end);
}

/* ---- elements and members ---- */

/* Compares the position of the value that begins at `at` with the path. `opens`: the value is an
 * array or an object. */
static void compare_with_path(json_scanner *s, bool opens, bool is_array) {
    const json_path *path = &s->options.path;
    bool matches = s->depth == 0;
    if (!matches) {
        const json_segment *segment = &path->segments[s->depth - 1];
        uint64_t index = s->positions[s->depth];
        matches = s->in_array ? segment->any || segment->index == index : s->on_name;
    }
    if (matches && s->depth == path->length) {
        s->wanted = true;
        s->read = false;
        s->wanted_at = s->depth;
        s->mark = s->at;
        s->value_line = s->line;
    } else if (matches && opens) {
        s->on_path++;
        s->positions[s->on_path] = is_array ? 0 : JSON_UNKNOWN;
    }
}

/* Returns whether the scanner is in an array whose elements are all wanted. */
static bool is_in_row(const json_scanner *s) {
    return s->in_array && s->depth > 0 && s->options.path.segments[s->depth - 1].any;
}

/* Lets the reader read the wanted value at `p` and those after it. Returns false when the scanner
 * has to scan the value itself. */
static bool read_wanted(json_scanner *s, const uint8_t *p, const uint8_t *end, step *next) {
    const json_reader *reader = &s->options.reader;
    size_t count = 1;
    uint64_t lines = 0;
    const uint8_t *stop =
        reader->read(reader->context, p, end, s->depth, is_in_row(s), &count, &lines);
    if (stop == NULL || (lines > 0 && s->options.form == JSON_LINES)) return false;
    s->read = true;
    s->at += (size_t)(stop - p);
    s->line += lines;
    if (count > 1) s->positions[s->depth] += count - 1;
    if (s->depth > 0 || *p == '"' || *p == '[' || *p == '{') return *next = end_value(s), true;
    s->number = json_is_digit(stop[-1]) ? JSON_INTEGER : 0;
    s->state = SCALAR_ENDED;
    return *next = end_scalar(s, stop, end), true;
}

static step begin_value(json_scanner *s, const uint8_t *p, const uint8_t *end) {
    bool is_array = *p == '[', opens = is_array || *p == '{';
    step next;
    if (!s->wanted && s->depth == s->on_path) {
        compare_with_path(s, opens, is_array);
        if (s->wanted && s->options.reader.read != NULL && read_wanted(s, p, end, &next))
            return next;
    }
    if (opens) return open_container(s, is_array);
    if (*p == '"') {
        s->at++;
        s->is_name = false;
        s->state = STRING;
        return string(s, p + 1, end);
    }
    if (*p == '-' || (*p >= '0' && *p <= '9')) {
        if (*p == '-' && s->options.nan) {
            if (end - p == 1 && !s->finished) return WAIT;
            if (end - p > 1 && p[1] == 'I') return literal(s, p, end);
        }
        s->number = *p == '-' ? JSON_MINUS : *p == '0' ? JSON_ZERO : JSON_INTEGER;
        s->at++;
        s->state = NUMBER;
        return number(s, p + 1, end);
    }
    return literal(s, p, end);
}

static step begin_name(json_scanner *s, uint8_t c) {
    if (c != '"') return fail(s, JSON_EXPECTED_NAME);
    s->at++;
    s->is_name = true;
    s->on_name = false;
    if (is_on_path(s)) {
        s->on_name = s->options.path.segments[s->depth - 1].any;
        s->positions[s->depth] = s->on_name ? JSON_MEMBER : JSON_UNKNOWN;
        if (!s->on_name) s->mark = s->at;
    }
    s->state = STRING;
    return GO_ON;
}

static step after_comma(json_scanner *s) {
    s->at++;
    if (s->in_array) {
        if (is_on_path(s)) s->positions[s->depth]++;
        s->state = s->options.trailing_comma ? FIRST_ELEMENT : VALUE;
    } else {
        if (is_on_path(s)) s->positions[s->depth] = JSON_UNKNOWN;
        s->state = s->options.trailing_comma ? FIRST_NAME : NAME;
    }
    return GO_ON;
}

static step after_value(json_scanner *s, uint8_t c) {
    if (c == ',') return after_comma(s);
    if (c == (s->in_array ? ']' : '}')) return close_container(s);
    return fail(s, s->in_array ? JSON_EXPECTED_COMMA_IN_ARRAY : JSON_EXPECTED_COMMA_IN_OBJECT);
}

/* ---- the stream ---- */

static void detect(json_scanner *s, uint8_t c) {
    s->options.form = c == RECORD_SEPARATOR ? JSON_SEQUENCE
                      : c == '['            ? JSON_DOCUMENT
                                            : JSON_DETECTED;
    if (c != '[') json_path_free(&s->options.path);
}

/* Begins the stream, and skips a byte order mark (RFC 8259 8.1). */
static step start(json_scanner *s, const uint8_t *p, size_t available) {
    static const uint8_t mark[] = {0xEF, 0xBB, 0xBF};
    size_t compared = available < sizeof(mark) ? available : sizeof(mark);
    if (s->offset + s->at == 0 && memcmp(p, mark, compared) == 0) {
        if (compared < sizeof(mark) && !s->finished) return WAIT;
        if (compared == sizeof(mark)) return s->at += sizeof(mark), GO_ON;
    }
    if (s->options.form == JSON_DETECTED) detect(s, *p);
    s->state = s->options.form == JSON_SEQUENCE ? ROOT_ENDED : ROOT;
    return GO_ON;
}

static step between(json_scanner *s, const uint8_t *p, const uint8_t *end) {
    json_form form = s->options.form;
    if (form == JSON_SEQUENCE && *p == RECORD_SEPARATOR) {
        s->at++;
        s->state = ROOT;
        return GO_ON;
    }
    if (s->state == ROOT || (s->line_ended && !is_document(s) && form != JSON_SEQUENCE)) {
        s->state = VALUE;
        s->positions[0]++;
        return begin_value(s, p, end);
    }
    return fail(s, form == JSON_DOCUMENT   ? JSON_EXPECTED_END
                   : form == JSON_SEQUENCE ? JSON_EXPECTED_RECORD
                                           : JSON_EXPECTED_LINE_END);
}

/* Skips whitespace. Returns false when a line ends where it must not. */
static bool skip_blanks(json_scanner *s, const uint8_t **at, const uint8_t *end) {
    const uint8_t *p = *at;
    for (; p < end && json_is_blank(*p); p++) {
        if (*p != '\n') continue;
        if (s->options.form == JSON_LINES && s->depth > 0) {
            s->at += (size_t)(p - *at);
            return false;
        }
        s->line++;
        s->line_ended = true;
    }
    s->at += (size_t)(p - *at);
    *at = p;
    return true;
}

static step take_step(json_scanner *s, const uint8_t *p, const uint8_t *end) {
    switch (s->state) {
    case STRING: return p == end ? WAIT : string(s, p, end);
    case NUMBER: return number(s, p, end);
    case SCALAR_ENDED: return end_scalar(s, p, end);
    default: break;
    }
    if (p < end && *p <= ' ' && !skip_blanks(s, &p, end)) return fail(s, JSON_LINE_ENDED);
    if (p == end) return WAIT;
    switch (s->state) {
    case START: return start(s, p, (size_t)(end - p));
    case ROOT:
    case ROOT_ENDED: return between(s, p, end);
    case FIRST_ELEMENT:
        if (*p == ']') return close_container(s);
        return begin_value(s, p, end);
    case FIRST_NAME:
        if (*p == '}') return close_container(s);
        return begin_name(s, *p);
    case NAME: return begin_name(s, *p);
    case COLON:
        if (*p != ':') return fail(s, JSON_EXPECTED_COLON);
        s->at++;
        s->state = VALUE;
        return GO_ON;
    case VALUE: return begin_value(s, p, end);
    default: return after_value(s, *p);
    }
}

/* Returns the result of json_scanner_next after json_scanner_finish, when no more can be scanned.
 */
static json_result end(json_scanner *s) {
    bool nothing = s->offset + buffer_length(&s->bytes) == 0;
    bool may_be_empty = !is_document(s) || nothing;
    bool all_scanned = s->at == buffer_length(&s->bytes);
    if (all_scanned && s->state == ROOT_ENDED) return JSON_END;
    if (all_scanned && (s->state == START || s->state == ROOT) && may_be_empty) return JSON_END;
    fail_at(s, buffer_length(&s->bytes),
            s->options.form == JSON_SEQUENCE ? JSON_RECORD_CUT : JSON_CUT);
    return JSON_FAILED;
}

/* Stores the value that ends before `at` in *value. */
static json_result take(json_scanner *s, json_value *value) {
    if (!s->read && s->at - s->mark > s->options.value_bytes)
        return fail(s, JSON_TOO_LARGE), JSON_FAILED;
    value->bytes = buffer_head(&s->bytes) + s->mark;
    value->length = s->at - s->mark;
    value->read = s->read;
    location_at(s, s->mark, s->value_line, &value->location);
    s->wanted = false;
    s->mark = NO_MARK;
    return JSON_VALUE;
}

json_result json_scanner_next(json_scanner *s, json_value *value) {
    if (s->failure != JSON_NO_FAILURE) return JSON_FAILED;
    const uint8_t *head = buffer_head(&s->bytes);
    if (head == NULL) return s->finished ? JSON_END : JSON_MORE;
    size_t length = buffer_length(&s->bytes);
    step next;
    do next = take_step(s, head + s->at, head + length);
    while (next == GO_ON);
    if (next == TAKE) return take(s, value);
    if (next == FAIL) return JSON_FAILED;
    if (s->wanted && !s->read && length - s->mark > s->options.value_bytes)
        return fail_at(s, length, JSON_TOO_LARGE), JSON_FAILED;
    return s->finished ? end(s) : JSON_MORE;
}
