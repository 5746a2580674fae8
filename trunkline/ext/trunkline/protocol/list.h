#ifndef TRUNKLINE_PROTOCOL_LIST_H
#define TRUNKLINE_PROTOCOL_LIST_H

#include <stdbool.h>
#include <stddef.h>

/*
 * An intrusive doubly linked list: it allocates nothing, and removes an item in constant time. A
 * zeroed list is empty. An item has one node for each list that it can be in at the same time; the
 * contents of a node are undefined while it is in no list.
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

/* Removes `n` from `l`, which must contain it. */
static inline void list_remove(list *l, const list_node *n) {
    *(n->previous != NULL ? &n->previous->next : &l->first) = n->next;
    *(n->next != NULL ? &n->next->previous : &l->last) = n->previous;
}

/* Removes the first node and returns it; NULL when the list is empty. */
static inline list_node *list_shift(list *l) {
    list_node *n = l->first;
    if (n != NULL) list_remove(l, n);
    return n;
}

/* Moves `n`, which `l` must contain, to the end. If each use of an item calls this, the first item
 * is the least recently used one, which a bounded cache evicts. */
static inline void list_touch(list *l, list_node *n) {
    if (n == l->last) return;
    list_remove(l, n);
    list_append(l, n);
}

/* Returns the struct that has the node at `offset`; NULL for NULL. For LIST_ITEM. */
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
