/*
 * look.h - the live document of an item, for the tests of this folder: asked for, read, and waited
 * for until it says something.
 */
#ifndef TESTS_SERVER_DASHBOARD_LOOK_H
#define TESTS_SERVER_DASHBOARD_LOOK_H

#include <stdio.h>
#include <string.h>

#include "tests/support/service.h"

enum { LOOK_WAIT_MS = 60000 };

/* Free with cJSON_Delete(). */
static inline cJSON *look(fx_server *server, const char *item)
{
    cJSON *document = cJSON_Parse(fx_expect(server, 200, "GET /dashboard?item=%s", item));
    assert_non_null(document);
    return document;
}

/* A member of an object; fails the test when it is not there. */
static inline const cJSON *member(const cJSON *object, const char *name)
{
    const cJSON *found = cJSON_GetObjectItemCaseSensitive(object, name);
    if (!found)
        fail_msg("there is no %s in %s", name, cJSON_PrintUnformatted(object));
    return found;
}

static inline const char *name_of(fx_server *server, char name[65])
{
    fx_copy_member(fx_expect(server, 200, "GET /dashboard"), "instance", name, 65);
    return name;
}

/* The instance of that name; NULL: there is none. */
static inline const cJSON *find_instance(const cJSON *document, const char *name)
{
    const cJSON *each;
    cJSON_ArrayForEach(each, member(document, "instances"))
        if (strcmp(fx_json_text(each, "name"), name) == 0)
            return each;
    return NULL;
}

/* What a document is to say, asked of `server` about `item` until it does. */
typedef struct awaited {
    fx_server *server;
    const char *item;
    bool (*says)(const cJSON *document, const void *arg);
    const void *arg;
    char last[8192];
} awaited;

static inline bool is_said(void *arg)
{
    awaited *a = arg;
    cJSON *document = look(a->server, a->item);
    bool said = a->says(document, a->arg);
    char *text = cJSON_PrintUnformatted(document);
    snprintf(a->last, sizeof(a->last), "%s", text);
    cJSON_free(text);
    cJSON_Delete(document);
    return said;
}

/* Fails the test, with the last document, when it does not come to that. */
static inline void await_document(fx_server *server, const char *item,
                                  bool (*says)(const cJSON *document, const void *arg),
                                  const void *arg, const char *what)
{
    static awaited a;
    a = (awaited){.server = server, .item = item, .says = says, .arg = arg};
    if (!fx_wait_until(is_said, &a, LOOK_WAIT_MS))
        fail_msg("%s: not so in %s", what, a.last);
}

/* The instance and the state that it is to be in. */
typedef struct instance_wish {
    const char *name, *state;
} instance_wish;

static inline bool has_state(const cJSON *document, const void *arg)
{
    const instance_wish *wish = arg;
    const cJSON *found = find_instance(document, wish->name);
    return found && strcmp(fx_json_text(found, "state"), wish->state) == 0;
}

static inline void await_state(fx_server *server, const char *name, const char *state)
{
    const instance_wish wish = {name, state};
    await_document(server, "P0001", has_state, &wish, state);
}

/* `orders` in the sale. */
static inline bool has_orders(const cJSON *document, const void *arg)
{
    const cJSON *sale = member(document, "sale");
    return cJSON_IsObject(sale) && (int)fx_json_number(sale, "orders") == *(const int *)arg;
}

static inline void await_orders(fx_server *server, const char *item, int orders)
{
    await_document(server, item, has_orders, &orders, "orders");
}

#endif
