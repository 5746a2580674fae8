#ifndef TRUNKLINE_XML_DOCUMENT_H
#define TRUNKLINE_XML_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A parsed document as a list of events. No Ruby here: libxml2 calls back while it is parsing, and
 * a Ruby exception must not jump over it; so what it tells is noted down, and made into objects
 * later.
 */
typedef enum { EVENT_OPEN, EVENT_ATTRIBUTE, EVENT_TEXT, EVENT_CLOSE } event_kind;

typedef struct {
    event_kind kind;
    int name;        /* of an element (local part) or attribute (with prefix): index in names */
    bool referenced; /* a text that stood there as a character or entity reference */
    size_t offset;   /* of the value or text, in bytes */
    size_t size;
} event;

typedef struct {
    const char *prefix; /* NULL for none */
    const char *local;
} document_name;

/* libxml2 expands entities inside each other only so far, and not quite so far. */
enum { DEEPEST_EXPANSION = 64 };

typedef struct {
    size_t bytes;   /* of the text that the document may come to, all entities expanded */
    int expansions; /* of declared entities */
    int depth;      /* of elements inside each other */
} document_limits;

typedef struct {
    char message[256];
    int line, column; /* in the document: of the reference, when an entity's content is at fault */
} document_error;

typedef struct {
    event *events;
    size_t event_count, event_capacity;
    char *bytes;
    size_t byte_count, byte_capacity;
    document_name
        *names; /* the strings belong to the parser, which lives as long as the document */
    int name_count, name_capacity;
    int *name_slots; /* hash table over names, name_slot_count long, -1 for empty */
    int name_slot_count;
    void *parser;
    document_limits limits;
    int depth;
    int expansions;
    const void *expanding[DEEPEST_EXPANSION]; /* entities, each inside the one before; some NULL */
    bool has_defaults;                        /* the DTD has default values for attributes */
    bool failed;
    document_error error;
} document;

/* Once, before the first document. Returns NULL, or why there can be none. */
const char *document_setup(void);

/* Parses; returns NULL when there is no memory at all. A document that is not well formed, or goes
 * beyond a limit, has `failed` set and says why in `error`. `encoding` is what the bytes are
 * whatever they declare, or NULL. The bytes are not needed afterwards. */
document *document_parse(const char *bytes, size_t size, const char *encoding,
                         document_limits limits);

void document_free(document *doc);

/* Bytes of memory that the document takes, without the parser's. */
size_t document_memory(const document *doc);

#endif
