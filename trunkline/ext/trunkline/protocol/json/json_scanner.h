#ifndef TRUNKLINE_PROTOCOL_JSON_JSON_SCANNER_H
#define TRUNKLINE_PROTOCOL_JSON_JSON_SCANNER_H

#include "protocol/buffer.h"
#include "protocol/json/json_path.h"

/*
 * Finds where each wanted value of a stream of JSON (RFC 8259) begins and ends, wherever the stream
 * is divided. It checks the syntax of everything it passes, what is skipped included, and keeps no
 * more than the value that it is in. UTF-8 is not checked.
 *
 * The order of calls: json_scanner_init; json_scanner_feed, then json_scanner_next until it returns
 * JSON_MORE, as often as there are bytes; json_scanner_finish, then json_scanner_next until it
 * returns JSON_END; json_scanner_free.
 */

typedef enum {
    JSON_DOCUMENT, /* one value; those at the path in it are wanted */
    JSON_LINES,    /* values, each on a line of its own */
    JSON_SEQUENCE, /* values, each behind the byte 1E (RFC 7464) */
    /* By the first byte: 1E: JSON_SEQUENCE; '[': the elements of that document; any other: values
     * divided by line ends, which may also be within them. */
    JSON_DETECTED
} json_form;

/* Reads wanted values itself, which spares that they are looked at twice. */
typedef struct {
    /* Reads the value that begins at `p`, with so many arrays and objects around it, and, where
     * `row` says so, elements that follow it. Keeps them until they are given out. The end of the
     * last; NULL when not even the first is read: because more bytes are needed to tell where it
     * ends, because it is not valid or longer than is allowed, or for reasons of the reader's own.
     * `count` is how many there are, `lines` how many lines end in and between them. */
    const uint8_t *(*read)(void *context, const uint8_t *p, const uint8_t *end, size_t depth,
                           bool row, size_t *count, uint64_t *lines);
    void *context;
} json_reader;

typedef struct {
    json_form form;
    json_path path;          /* of JSON_DOCUMENT; owned by the scanner once it is initialized */
    size_t value_bytes;      /* the longest value */
    size_t max_nesting;      /* arrays and objects around each other; 0: any number */
    bool nan;                /* take NaN, Infinity and -Infinity */
    bool trailing_comma;     /* take one behind the last element or member */
    bool control_characters; /* take them in strings */
    bool invalid_escape;     /* take a backslash before any character but a control character */
    json_reader reader;      /* of wanted values that are there whole; zeroed: none */
} json_options;

/* name, words */
#define JSON_FAILURES(X)                                                    \
    X(JSON_NO_FAILURE, "")                                                  \
    X(JSON_EXPECTED_VALUE, "expected a value")                              \
    X(JSON_EXPECTED_NAME, "expected the name of a member")                  \
    X(JSON_EXPECTED_COLON, "expected ':'")                                  \
    X(JSON_EXPECTED_COMMA_IN_ARRAY, "expected ',' or ']'")                  \
    X(JSON_EXPECTED_COMMA_IN_OBJECT, "expected ',' or '}'")                 \
    X(JSON_EXPECTED_END, "expected nothing more")                           \
    X(JSON_EXPECTED_LINE_END, "expected the end of the line")               \
    X(JSON_EXPECTED_RECORD, "expected a record, which begins with byte 1E") \
    X(JSON_LINE_ENDED, "the line ends within a value")                      \
    X(JSON_RECORD_CUT, "the record is cut short")                           \
    X(JSON_CUT, "it is cut short")                                          \
    X(JSON_INVALID_NUMBER, "invalid number")                                \
    X(JSON_CONTROL_CHARACTER, "a control character in a string")            \
    X(JSON_INVALID_ESCAPE, "invalid escape in a string")                    \
    X(JSON_TOO_DEEP, "nested too deeply")                                   \
    X(JSON_TOO_LARGE, "a value is too large")                               \
    X(JSON_OUT_OF_MEMORY, "out of memory")

typedef enum {
#define JSON_FAILURE_NAME(name, words) name,
    JSON_FAILURES(JSON_FAILURE_NAME)
#undef JSON_FAILURE_NAME
} json_failure;

/* The words of a failure, for an error message. */
const char *json_failure_words(json_failure failure);

/* What json_place.positions has for a level whose value is no element of an array. */
#define JSON_MEMBER UINT64_MAX        /* the member that the path's segment names */
#define JSON_UNKNOWN (UINT64_MAX - 1) /* one that is not on the path, or none */

/* Where something is in the stream. */
typedef struct {
    uint64_t byte; /* from 1 */
    uint64_t line; /* from 1 */
    /* What is around it: of a document, for each level of the path an index, JSON_MEMBER, or
     * JSON_UNKNOWN, behind which there is nothing; of others, the index of the value in the stream.
     * The scanner's, until the next call. */
    const uint64_t *positions;
    size_t levels;
} json_place;

typedef struct {
    const uint8_t *bytes; /* the scanner's, until it is fed or freed */
    size_t length;
    json_place place; /* of its first byte */
    bool read;        /* the reader has it, and those behind it that it read as well */
} json_value;

typedef enum {
    JSON_MORE,  /* all that was fed is scanned: feed more, or finish */
    JSON_VALUE, /* here is the next value */
    JSON_END,   /* the stream is complete */
    JSON_FAILED /* see json_scanner_failure; every further call returns the same */
} json_result;

typedef struct {
    json_options options;
    buffer bytes; /* fed and not needed any more: none before `mark`, or before `at` without one */
    size_t at;    /* the next to be scanned; offsets are relative to the first of `bytes` */
    size_t mark;  /* where a wanted value, or a name that is compared, begins */
    uint64_t offset; /* bytes of the stream before those */
    uint64_t line;
    uint64_t value_line; /* the line on which the wanted value begins */
    int state, number;
    bool finished, line_ended, in_array;
    bool wanted;      /* it is in a wanted value, */
    size_t wanted_at; /* which is within so many arrays and objects */
    bool is_name;     /* the string that it is in is the name of a member */
    bool on_name;     /* the last name is on the path */
    bool read;        /* the reader has read the wanted value */
    size_t depth;     /* arrays and objects around it, */
    size_t on_path;   /* of which so many lead to wanted values */
    uint64_t *arrays; /* owned; a bit for each of them: whether it is an array */
    size_t arrays_room;
    uint64_t *positions; /* owned; the first is of values in a stream, the others of levels */
    json_failure failure;
} json_scanner;

/*
 * Begins a stream. `options->path` becomes the scanner's, whatever is returned.
 * False when there is no memory; json_scanner_free is still to be called.
 */
bool json_scanner_init(json_scanner *s, const json_options *options);

/* Adds bytes to the stream, which are copied. False when there is no memory. */
bool json_scanner_feed(json_scanner *s, const void *bytes, size_t count);

/* No more bytes come. */
void json_scanner_finish(json_scanner *s);

/* Scans on. `value` is written for JSON_VALUE alone. */
json_result json_scanner_next(json_scanner *s, json_value *value);

/* What went wrong, and where: the first byte that does not belong there, or the last byte of the
 * stream when one is missing. */
json_failure json_scanner_failure(const json_scanner *s, json_place *place);

void json_scanner_free(json_scanner *s);

#endif
