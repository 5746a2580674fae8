#ifndef TRUNKLINE_PROTOCOL_JSON_JSON_SCANNER_H
#define TRUNKLINE_PROTOCOL_JSON_JSON_SCANNER_H

#include "protocol/buffer.h"
#include "protocol/json/json_path.h"

/*
 * Finds where each wanted value of a JSON stream (RFC 8259) begins and ends. The stream may be
 * split anywhere. The scanner checks the syntax of all values, including skipped ones, and keeps no
 * more than the current value. It does not check UTF-8.
 *
 * The order of calls: json_scanner_init; json_scanner_feed, then json_scanner_next until it returns
 * JSON_MORE, as often as there are bytes; json_scanner_finish, then json_scanner_next until it
 * returns JSON_END; json_scanner_free.
 */

typedef enum {
    JSON_DOCUMENT, /* one document; the values that its path selects are wanted */
    JSON_LINES,    /* values, each on a line of its own */
    JSON_SEQUENCE, /* values, each after the byte 1E (RFC 7464) */
    /* Decided by the first byte: 1E: JSON_SEQUENCE; '[': the elements of a document; any other:
     * values separated by line ends, which may also contain line ends. */
    JSON_DETECTED
} json_form;

/* A callback that parses wanted values itself, so that they are not scanned twice. */
typedef struct {
    /* Reads the value that begins at `p`, nested in `depth` arrays and objects, and, if `row`, the
     * elements that follow it. Keeps them until json_scanner_next returns them. Returns the end of
     * the last value, or NULL when it has not read the first: because more bytes are needed to find
     * its end, because it is invalid or too long, or because the reader declines it. Stores the
     * number of values in *count, and the number of line ends in and between them in *lines. */
    const uint8_t *(*read)(void *context, const uint8_t *p, const uint8_t *end, size_t depth,
                           bool row, size_t *count, uint64_t *lines);
    void *context;
} json_reader;

typedef struct {
    json_form form;
    json_path path;          /* for JSON_DOCUMENT; json_scanner_init takes ownership */
    size_t value_bytes;      /* most bytes of a value */
    size_t max_nesting;      /* most arrays and objects in each other; 0: no limit */
    bool nan;                /* accept NaN, Infinity and -Infinity */
    bool trailing_comma;     /* accept a comma after the last element or member */
    bool control_characters; /* accept them in strings */
    bool invalid_escape;     /* accept a backslash before any character but a control character */
    json_reader reader;      /* reads wanted values that are complete in `bytes`; zeroed: none */
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

/* Returns the text of a failure, for an error message. */
const char *json_failure_words(json_failure failure);

/* Values in json_location.positions for a level whose value is not an element of an array. */
#define JSON_MEMBER UINT64_MAX        /* the member that the path's segment names */
#define JSON_UNKNOWN (UINT64_MAX - 1) /* a member that is not on the path, or none */

/* A position in the stream. */
typedef struct {
    uint64_t byte; /* from 1 */
    uint64_t line; /* from 1 */
    /* In a document: for each level of the path an index, JSON_MEMBER, or JSON_UNKNOWN, which ends
     * the list. In other forms: the index of the value in the stream. Owned by the scanner, valid
     * until its next call. */
    const uint64_t *positions;
    size_t levels;
} json_location;

typedef struct {
    const uint8_t *bytes; /* owned by the scanner, valid until it is fed or freed */
    size_t length;
    json_location location; /* of the first byte */
    bool read;              /* the reader has read it, perhaps with values that follow it */
} json_value;

typedef enum {
    JSON_MORE,  /* all bytes fed have been scanned: feed more, or finish */
    JSON_VALUE, /* the next value was stored */
    JSON_END,   /* the stream is complete */
    JSON_FAILED /* see json_scanner_failure; every further call returns the same */
} json_result;

typedef struct {
    json_options options;
    buffer bytes;    /* a feed drops the bytes before `mark`, or before `at` without a mark */
    size_t at;       /* the next byte to be scanned; offsets are relative to the first of `bytes` */
    size_t mark;     /* the beginning of a wanted value, or of a name to be compared */
    uint64_t offset; /* bytes of the stream before `bytes` */
    uint64_t line;
    uint64_t value_line; /* the line on which the wanted value begins */
    int state, number;
    bool finished, line_ended, in_array;
    bool wanted;      /* a wanted value is being scanned */
    size_t wanted_at; /* depth of the wanted value */
    bool is_name;     /* the current string is the name of a member */
    bool on_name;     /* the last name is on the path */
    bool read;        /* the reader has read the wanted value */
    size_t depth;     /* number of open arrays and objects */
    size_t on_path;   /* number of those that lead to wanted values */
    uint64_t *arrays; /* owned; one bit for each open array or object: whether it is an array */
    size_t arrays_room;
    uint64_t *positions; /* owned; [0]: index of the top-level value; [n]: position at level n */
    json_failure failure;
} json_scanner;

/*
 * Begins a stream. The scanner takes ownership of `options->path` in any case.
 * Returns false without memory; json_scanner_free must still be called.
 */
bool json_scanner_init(json_scanner *s, const json_options *options);

/* Adds a copy of the bytes to the stream. Returns false without memory. */
bool json_scanner_feed(json_scanner *s, const void *bytes, size_t count);

/* Marks the end of the stream: no more bytes are fed. */
void json_scanner_finish(json_scanner *s);

/* Scans up to the end of the next wanted value. `value` is written only for JSON_VALUE. */
json_result json_scanner_next(json_scanner *s, json_value *value);

/* Returns the failure, and stores where it is in *location: the first invalid byte, or the last
 * byte of the stream when a byte is missing. */
json_failure json_scanner_failure(const json_scanner *s, json_location *location);

/* Frees what the scanner owns, but not the struct. */
void json_scanner_free(json_scanner *s);

#endif
