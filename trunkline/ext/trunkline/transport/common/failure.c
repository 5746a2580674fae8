#include "failure.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const words[] = {
#define X(name, class_name, text) text,
    FAILURE_CODES(X)
#undef X
};

static const char *const classes[] = {
#define X(name, class_name, text) class_name,
    FAILURE_CODES(X)
#undef X
};

static const char *const phases[] = {
#define X(name, word) word,
    PHASES(X)
#undef X
};

bool failure_set(failure *f, failure_code code, call_phase phase, int system_error,
                 const char *format, ...) {
    f->code = code;
    f->phase = phase;
    f->system_error = system_error;
    f->detail[0] = '\0';
    if (format != NULL) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(f->detail, sizeof(f->detail), format, arguments);
        va_end(arguments);
    }
    return false;
}

const char *failure_words(failure_code code) {
    return words[code];
}

const char *failure_class(failure_code code) {
    return classes[code];
}

const char *phase_word(call_phase phase) {
    return phases[phase];
}
