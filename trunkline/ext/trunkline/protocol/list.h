#ifndef TRUNKLINE_PROTOCOL_LIST_H
#define TRUNKLINE_PROTOCOL_LIST_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A doubly linked list whose links lie in its items: it allocates nothing, and an item leaves in
 * constant time wherever it stands. A zeroed list is empty. An item has a node for each list that
 * it can be in at the same time; what a node holds means nothing while it is in none.
 */
typedef struct list_node {
    struct list_node *previous, *next;
} list_node;

typedef struct {
    list_node *first, *last;
} list;

/* Adds `n`, which is in no list, at the end. */
static inline void list_append(list *l, list_node *n) {
    n->next = NULL;
    n->previous = l->last;
    *(l->last != NULL ? &l->last->next : &l->first) = n;
    l->last = n;
}

/* Adds `n`, which is in no list, at the front. */
static inline void list_prepend(list *l, list_node *n) {
    n->previous = NULL;
    n->next = l->first;
    *(l->first != NULL ? &l->first->previous : &l->last) = n;
    l->first = n;
}

/* Takes `n` out of `l`, which holds it. */
static inline void list_remove(list *l, const list_node *n) {
    *(n->previous != NULL ? &n->previous->next : &l->first) = n->next;
    *(n->next != NULL ? &n->next->previous : &l->last) = n->previous;
}

/* Takes out the first node and returns it; NULL when the list is empty. */
static inline list_node *list_shift(list *l) {
    list_node *n = l->first;
    if (n != NULL) list_remove(l, n);
    return n;
}

/* Moves `n`, which `l` holds, to the end. A list whose items are moved so at each use is in the
 * order of use: its first item is the least recently used one, which a bounded cache evicts. */
static inline void list_touch(list *l, list_node *n) {
    if (n == l->last) return;
    list_remove(l, n);
    list_append(l, n);
}

static inline void *list_item_at(const list_node *n, size_t offset) {
    return n != NULL ? (char *)n - offset : NULL;
}

/* The item of `type` whose `member` is the node `n`; NULL for NULL. */
#define LIST_ITEM(n, type, member) ((type *)list_item_at(n, offsetof(type, member)))

#define LIST_FIRST(l, type, member) LIST_ITEM((l)->first, type, member)

/* Visits each item, from the first to the last; the body may remove the item that it visits. */
#define LIST_EACH(type, item, l, member)                                                   \
    for (type *item = LIST_FIRST(l, type, member), *item##_next;                           \
         item != NULL && (item##_next = LIST_ITEM(item->member.next, type, member), true); \
         item = item##_next)

#endif
