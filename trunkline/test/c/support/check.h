#ifndef TRUNKLINE_TEST_CHECK_H
#define TRUNKLINE_TEST_CHECK_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

/*
 * Counts cases. A case is a test, or one row of a table; it fails when one of its checks fails.
 *
 *     RUN(test_order());                     a test, which must check something
 *     check_case("%s", rows[i].title);       the next row of a table, inside a test
 *     CHECK(length == 5, "%d bytes", length) a condition, and the text to print if it fails
 */

static struct {
    int cases_passed, cases_failed;
    int done, failed;               /* checks of the whole program */
    int done_before, failed_before; /* the same numbers when the current case began */
    char title[160];
} checks;

/* Counts the current case as ended, if it checked anything. */
static inline void check_case_ended(void) {
    if (checks.failed > checks.failed_before)
        checks.cases_failed++;
    else if (checks.done > checks.done_before)
        checks.cases_passed++;
    checks.done_before = checks.done;
    checks.failed_before = checks.failed;
}

/* Begins a case with this title, and ends the one before. */
__attribute__((format(printf, 1, 2))) static inline void check_case(const char *format, ...) {
    check_case_ended();
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(checks.title, sizeof(checks.title), format, arguments);
    va_end(arguments);
}

#define CHECK(holds, ...)                                            \
    do {                                                             \
        checks.done++;                                               \
        if (!(holds)) {                                              \
            checks.failed++;                                         \
            printf("%s:%d: %s: ", __FILE__, __LINE__, checks.title); \
            printf(__VA_ARGS__);                                     \
            printf("\n");                                            \
        }                                                            \
    } while (0)

#define RUN(test)                                               \
    do {                                                        \
        int done_before = checks.done;                          \
        check_case("%s", #test);                                \
        test;                                                   \
        CHECK(checks.done > done_before, "it checked nothing"); \
    } while (0)

/* Prints how many cases passed and failed. Returns the program's exit status: 1 if one failed or
 * none ran. */
static inline int check_report(void) {
    check_case_ended();
    printf("%d passed, %d failed\n", checks.cases_passed, checks.cases_failed);
    return checks.cases_failed > 0 || checks.cases_passed == 0;
}

#endif
