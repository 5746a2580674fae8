#ifndef TRUNKLINE_TEST_FRAMES_H
#define TRUNKLINE_TEST_FRAMES_H

#include "protocol/buffer.h"

#include <stdio.h>

/*
 * HTTP/2 frames from a script, one frame per line, as a server might send them:
 *
 *     SETTINGS 3=100,4=65535          identifier=value; "SETTINGS ack"
 *     HEADERS 1 end :status=200|a=b   flags: end (of the stream), open (CONTINUATION follows)
 *     CONTINUATION 1 open a=b
 *     DATA 1 end pad=3 text           "x*1000": the text repeated that often
 *     RST_STREAM 1 8
 *     PING ack
 *     GOAWAY 1 0 text                 the last stream, the code, debug data
 *     WINDOW_UPDATE 1 1000
 *     PRIORITY 1
 *     PUSH_PROMISE 1 2 :method=GET
 *     FRAME 77 0 text                 of any type, on any stream
 *     HEX 00ff                        the raw bytes
 *
 * "repeat 100 PING" sends the frame 100 times. Fields are literals, never indexed (RFC 7541 6.2.2).
 */

static inline void frame_append(buffer *out, const void *bytes, size_t length) {
    if (!buffer_append(out, bytes, length)) abort();
}

static inline void frame_number(buffer *out, uint32_t value, int octets) {
    for (int i = octets - 1; i >= 0; i--) {
        uint8_t octet = (uint8_t)(value >> (8 * i));
        frame_append(out, &octet, 1);
    }
}

static inline void frame_put(buffer *out, int type, int flags, uint32_t stream, const void *payload,
                             size_t length) {
    frame_number(out, (uint32_t)length, 3);
    frame_number(out, (uint32_t)type, 1);
    frame_number(out, (uint32_t)flags, 1);
    frame_number(out, stream, 4);
    frame_append(out, payload, length);
}

/* RFC 7541 5.1, with a prefix of seven bits. */
static inline void frame_string(buffer *out, const char *text, size_t length) {
    if (length < 127) {
        frame_number(out, (uint32_t)length, 1);
    } else {
        size_t rest = length - 127;
        frame_number(out, 127, 1);
        for (; rest >= 128; rest /= 128) frame_number(out, (uint32_t)(rest % 128 + 128), 1);
        frame_number(out, (uint32_t)rest, 1);
    }
    frame_append(out, text, length);
}

static inline void frame_field(buffer *out, const char *name, size_t name_length, const char *value,
                               size_t value_length) {
    frame_number(out, 0, 1);
    frame_string(out, name, name_length);
    frame_string(out, value, value_length);
}

/* ---- scripts ---- */

/* Returns the next word of the line, or "" at its end. */
static inline const char *frame_word(char **line) {
    char *word = *line + strspn(*line, " ");
    char *end = word + strcspn(word, " ");
    *line = *end ? end + 1 : end;
    *end = '\0';
    return word;
}

static inline uint32_t frame_next_number(char **line) {
    return (uint32_t)strtoul(frame_word(line), NULL, 10);
}

static inline bool frame_flag(char **line, const char *word) {
    size_t length = strlen(word);
    if (strncmp(*line, word, length) != 0 || ((*line)[length] != ' ' && (*line)[length] != '\0'))
        return false;
    *line += length + ((*line)[length] == ' ');
    return true;
}

static inline void frame_fields(buffer *out, char *fields) {
    while (*fields) {
        size_t length = strcspn(fields, "|"), name = strcspn(fields + 1, "=") + 1;
        frame_field(out, fields, name, fields + name + 1, length - name - 1);
        fields += length + (fields[length] == '|');
    }
}

/* "text*1000" is the text repeated 1000 times. */
static inline void frame_text(buffer *out, const char *text) {
    const char *star = strrchr(text, '*');
    size_t length = star ? (size_t)(star - text) : strlen(text);
    for (unsigned long n = star ? strtoul(star + 1, NULL, 10) : 1; n > 0; n--)
        frame_append(out, text, length);
}

static inline void frame_settings(buffer *out, char *line) {
    while (*line) {
        frame_number(out, (uint32_t)strtoul(line, &line, 10), 2);
        frame_number(out, (uint32_t)strtoul(line + 1, &line, 10), 4);
        if (*line) line++;
    }
}

static inline void frame_hex(buffer *out, const char *hex) {
    for (unsigned octet; sscanf(hex, "%2x", &octet) == 1; hex += 2) frame_number(out, octet, 1);
}

static inline bool frame_named(const char *kind, const char *name) {
    return strcmp(kind, name) == 0;
}

/* Makes the frame's payload and its flags from the rest of the line. */
static inline int frame_payload(buffer *payload, const char *kind, char *line) {
    bool open = false, end = false, ack = false;
    while ((frame_flag(&line, "open") && (open = true)) ||
           (frame_flag(&line, "end") && (end = true)) ||
           (frame_flag(&line, "ack") && (ack = true))) {
    }
    if (frame_named(kind, "HEADERS") || frame_named(kind, "CONTINUATION")) {
        frame_fields(payload, line);
        return (end ? 1 : 0) | (open ? 0 : 4);
    }
    if (frame_named(kind, "PUSH_PROMISE")) {
        frame_number(payload, frame_next_number(&line), 4);
        frame_fields(payload, line);
        return 4;
    }
    if (frame_named(kind, "DATA")) {
        static const uint8_t zeros[256];
        unsigned pad = 0;
        bool padded = sscanf(line, "pad=%u", &pad) == 1;
        if (padded) {
            frame_word(&line);
            frame_number(payload, pad, 1);
        }
        frame_text(payload, line);
        frame_append(payload, zeros, pad);
        return (end ? 1 : 0) | (padded ? 8 : 0);
    }
    if (frame_named(kind, "SETTINGS")) {
        frame_settings(payload, line);
    } else if (frame_named(kind, "PING")) {
        frame_append(payload, "pingpong", 8);
    } else if (frame_named(kind, "RST_STREAM") || frame_named(kind, "WINDOW_UPDATE")) {
        frame_number(payload, frame_next_number(&line), 4);
    } else if (frame_named(kind, "PRIORITY")) {
        frame_append(payload, "\0\0\0\0\x10", 5);
    } else if (frame_named(kind, "GOAWAY")) {
        frame_number(payload, frame_next_number(&line), 4);
        frame_number(payload, frame_next_number(&line), 4);
        frame_text(payload, line);
    } else {
        frame_text(payload, line);
    }
    return ack ? 1 : 0;
}

static inline void frame_line(buffer *out, char *line) {
    static const char *const kinds[] = {"DATA",          "HEADERS",      "PRIORITY", "RST_STREAM",
                                        "SETTINGS",      "PUSH_PROMISE", "PING",     "GOAWAY",
                                        "WINDOW_UPDATE", "CONTINUATION"};
    const char *kind = frame_word(&line);
    uint32_t type = 0, stream = 0;
    while (type < 10 && !frame_named(kind, kinds[type])) type++;
    if (frame_named(kind, "HEX")) {
        frame_hex(out, line);
        return;
    }
    if (frame_named(kind, "FRAME")) type = frame_next_number(&line);
    if (type != 4 && type != 6 && type != 7) stream = frame_next_number(&line);
    buffer payload = {0};
    int flags = frame_payload(&payload, kind, line);
    frame_put(out, (int)type, flags, stream, payload.bytes, buffer_length(&payload));
    buffer_free(&payload);
}

static inline void frames(buffer *out, const char *script) {
    while (*script) {
        size_t length = strcspn(script, "\n"), before = out->end;
        char *line = strndup(script, length), *rest = line;
        unsigned long times = 1;
        if (line == NULL) abort();
        if (frame_flag(&rest, "repeat")) times = frame_next_number(&rest);
        frame_line(out, rest);
        size_t made = out->end - before;
        if (!buffer_reserve(out, made * times)) abort();
        while (--times > 0) frame_append(out, out->bytes + before, made);
        free(line);
        script += length + (script[length] == '\n');
    }
}

#endif
