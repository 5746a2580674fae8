#include "check.h"
#include "protocol/comma_list.h"

static void test_elements(void) {
    static const struct {
        const char *list;
        int count;
        const char *elements[4];
    } rows[] = {
        {"gzip", 1, {"gzip"}},
        {"gzip,br", 2, {"gzip", "br"}},
        {" gzip \t,\t br ", 2, {"gzip", "br"}},
        {"a b", 1, {"a b"}},
        {"", 1, {""}},
        {"  ", 1, {""}},
        {",", 2, {"", ""}},
        {"a,,b", 3, {"a", "", "b"}},
        {"a, ", 2, {"a", ""}},
        {"\"a,b\"", 2, {"\"a", "b\""}}, /* quoted strings are not recognised */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        check_case("the list \"%s\"", rows[i].list);
        comma_list l = {.rest = rows[i].list, .end = rows[i].list + strlen(rows[i].list)};
        int count = 0;
        for (; comma_list_next(&l) && count < rows[i].count; count++) {
            const char *wanted = rows[i].elements[count];
            CHECK(l.length == strlen(wanted) && memcmp(l.element, wanted, l.length) == 0,
                  "element %d: %.*s", count, (int)l.length, l.element);
        }
        CHECK(count == rows[i].count && l.rest == NULL, "%d elements", count);
    }
}

/* Bytes from ->end on are not read. */
static void test_the_end(void) {
    const char *text = "a, bc,d";
    comma_list l = {.rest = text, .end = text + 4};
    CHECK(comma_list_next(&l) && l.length == 1, "the first");
    CHECK(comma_list_next(&l) && l.length == 1 && *l.element == 'b', "a part of the second");
    CHECK(!comma_list_next(&l), "no third");
    CHECK(!comma_list_next(&l), "and none after that");
}

int main(void) {
    RUN(test_elements());
    RUN(test_the_end());
    return check_report();
}
