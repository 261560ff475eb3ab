/* There are some dozens of scripts at most: a list will do. */
#include "tests/tools/faultproxy/scripts.h"

#include <stdlib.h>
#include <string.h>

struct script {
    char sha[SCRIPT_SHA_LEN];
    char *text;
    size_t len;
};

struct fp_scripts {
    struct script *list;
    size_t len;
};

fp_scripts *scripts_new(void)
{
    return calloc(1, sizeof(fp_scripts));
}

void scripts_free(fp_scripts *scripts)
{
    if (!scripts)
        return;
    for (size_t i = 0; i < scripts->len; i++)
        free(scripts->list[i].text);
    free(scripts->list);
    free(scripts);
}

void scripts_learn(fp_scripts *scripts, const char *sha, const char *text, size_t len)
{
    size_t known_len;
    if (scripts_text(scripts, sha, &known_len))
        return;
    struct script *list = realloc(scripts->list, (scripts->len + 1) * sizeof(*list));
    char *copy = malloc(len + 1);
    if (!list || !copy)
        abort();
    memcpy(copy, text, len);
    scripts->list = list;
    struct script *script = &list[scripts->len++];
    memcpy(script->sha, sha, SCRIPT_SHA_LEN);
    script->text = copy;
    script->len = len;
}

const char *scripts_text(const fp_scripts *scripts, const char *sha, size_t *ret_len)
{
    for (size_t i = 0; i < scripts->len; i++) {
        if (memcmp(scripts->list[i].sha, sha, SCRIPT_SHA_LEN) == 0) {
            *ret_len = scripts->list[i].len;
            return scripts->list[i].text;
        }
    }
    return NULL;
}
