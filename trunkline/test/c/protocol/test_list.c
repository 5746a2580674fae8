#include "check.h"
#include "protocol/list.h"

#include <string.h>

typedef struct {
    char name;
    list_node node;
} item;

static item items[4] = {{.name = 'a'}, {.name = 'b'}, {.name = 'c'}, {.name = 'd'}};

/* Returns the names in order, and checks that the list is the same from its end. */
static const char *names(const list *l) {
    static char text[8];
    size_t length = 0;
    LIST_EACH (item, i, l, node) text[length++] = i->name;
    text[length] = '\0';
    for (const list_node *n = l->last; n != NULL; n = n->previous)
        CHECK(length > 0 && LIST_ITEM(n, item, node)->name == text[--length], "from the end");
    CHECK(length == 0, "%zu are missing from the end", length);
    return text;
}

/* Each step: an operation and an item. +: append, ^: prepend, -: remove, !: touch, <: shift. */
static void test_operations(void) {
    static const struct {
        const char *steps, *names;
    } rows[] = {
        {"", ""},
        {"+a", "a"},
        {"+a+b+c", "abc"},
        {"^a^b^c", "cba"},
        {"+a+b^c", "cab"},
        {"+a-a", ""},
        {"+a+b+c-a", "bc"},
        {"+a+b+c-b", "ac"},
        {"+a+b+c-c", "ab"},
        {"+a+b+c-b+b", "acb"},
        {"+a+b+c!a", "bca"},
        {"+a+b+c!b", "acb"},
        {"+a+b+c!c", "abc"},
        {"+a!a", "a"},
        {"+a+b+c<a", "bc"},
        {"+a<a+b", "b"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        check_case("the steps \"%s\"", rows[i].steps);
        list l = {0};
        for (const char *step = rows[i].steps; *step != '\0'; step += 2) {
            list_node *n = &items[step[1] - 'a'].node;
            switch (*step) {
            case '+': list_append(&l, n); break;
            case '^': list_prepend(&l, n); break;
            case '-': list_remove(&l, n); break;
            case '!': list_touch(&l, n); break;
            default: CHECK(list_shift(&l) == n, "shifted another item");
            }
        }
        const char *found = names(&l);
        CHECK(strcmp(found, rows[i].names) == 0, "%s", found);
    }
}

static void test_an_empty_list(void) {
    list l = {0};
    CHECK(list_shift(&l) == NULL, "it has a first node");
    CHECK(LIST_FIRST(&l, item, node) == NULL, "it has a first item");
}

static void test_removal_while_visiting(void) {
    list l = {0};
    for (size_t i = 0; i < 4; i++) list_append(&l, &items[i].node);
    LIST_EACH (item, i, &l, node)
        if (i->name != 'c') list_remove(&l, &i->node);
    const char *found = names(&l);
    CHECK(strcmp(found, "c") == 0, "%s", found);
}

int main(void) {
    RUN(test_operations());
    RUN(test_an_empty_list());
    RUN(test_removal_while_visiting());
    return check_report();
}
