#ifndef TRUNKLINE_TEST_CHECK_H
#define TRUNKLINE_TEST_CHECK_H

#include <stdbool.h>
#include <stdio.h>

/* Counts what held and what did not, and says what did not: CHECK(holds, "format", ...). */

static int checks_passed, checks_failed;

#define CHECK(holds, ...)                          \
    do {                                           \
        if (holds) {                               \
            checks_passed++;                       \
        } else {                                   \
            checks_failed++;                       \
            printf("%s:%d: ", __FILE__, __LINE__); \
            printf(__VA_ARGS__);                   \
            printf("\n");                          \
        }                                          \
    } while (0)

/* The program's exit status. A program that checked nothing has failed. */
static inline int check_report(void) {
    printf("%d passed, %d failed\n", checks_passed, checks_failed);
    return checks_failed > 0 || checks_passed == 0;
}

#endif
