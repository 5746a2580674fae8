#include "check.h"
#include "transport/events/clock.h"

#include <math.h>

/* Time spans that callers give, from the shortest to spans that exceed any clock. */
static void test_spans(void) {
    static const struct {
        double seconds;
        nanoseconds span;
    } rows[] = {
        {0.25, 250 * MILLISECOND},
        {1e9, 1000000000 * SECOND},
        {9e9, 9000000000 * SECOND},
        {9223372036.854776, NEVER},
        {1e10, NEVER},
        {1e300, NEVER},
        {INFINITY, NEVER},
        {0, 0},
        {5e-324, 0},
        {-0.0, 0},
        {-1, 0},
        {-1e300, 0},
        {-INFINITY, 0},
        {NAN, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        check_case("a span of %g seconds", rows[i].seconds);
        nanoseconds span = clock_span(rows[i].seconds);
        CHECK(span == rows[i].span, "%g seconds: %lld", rows[i].seconds, (long long)span);
        nanoseconds until = clock_after(clock_now(), span);
        CHECK(until > 0 && (span < NEVER || until == NEVER), "%g seconds from now",
              rows[i].seconds);
    }
}

int main(void) {
    RUN(test_spans());
    return check_report();
}
