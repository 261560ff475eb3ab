/* scripts_seen.c - reads the scripts' files, and a MONITOR's lines. */
#include "tests/support/redis/scripts_seen.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/fixture.h"

enum { SCRIPTS_MAX = 64, LINE_MAX_LEN = 256 };

typedef struct script {
    char path[128];
    char *text;
    char line[LINE_MAX_LEN]; /* what it is known by */
    bool seen;
} script;

struct fx_scripts {
    script all[SCRIPTS_MAX];
    size_t len;
    redisContext *monitor, *marks;
    int looks;
};

/* ---- the files ------------------------------------------------------------------------------- */

static char *read_file(const char *path)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    ssize_t len = getdelim(&text, &size, '\0', file);
    fclose(file);
    assert_true(len > 0);
    return text;
}

/* As MONITOR shows it: without what it would escape. */
static bool is_shown_as_is(const char *line)
{
    for (; *line != '\0'; line++)
        if (*line < ' ' || *line > '~' || *line == '"' || *line == '\\')
            return false;
    return true;
}

static bool is_elsewhere(const fx_scripts *scripts, const script *own, const char *line)
{
    for (size_t i = 0; i < scripts->len; i++)
        if (&scripts->all[i] != own && strstr(scripts->all[i].text, line))
            return true;
    return false;
}

static void choose_line(const fx_scripts *scripts, script *own)
{
    for (const char *at = own->text; *at != '\0'; at += strcspn(at, "\n"), at += *at == '\n') {
        char line[LINE_MAX_LEN];
        const char *begin = at + strspn(at, " ");
        size_t len = strcspn(begin, "\n");
        snprintf(line, sizeof(line), "%.*s", (int)len, begin);
        if (strncmp(line, "--", 2) != 0 && strlen(line) > strlen(own->line) &&
            is_shown_as_is(line) && !is_elsewhere(scripts, own, line))
            memcpy(own->line, line, sizeof(line));
    }
    if (own->line[0] == '\0')
        fail_msg("%s has no line of its own", own->path);
}

static void read_scripts(fx_scripts *scripts, const char *folder)
{
    char pattern[128];
    glob_t found;
    snprintf(pattern, sizeof(pattern), "%s/*/*.lua", folder);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    assert_in_range(found.gl_pathc, 1, SCRIPTS_MAX);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        script *one = &scripts->all[scripts->len++];
        snprintf(one->path, sizeof(one->path), "%s", found.gl_pathv[i]);
        one->text = read_file(one->path);
    }
    globfree(&found);
    for (size_t i = 0; i < scripts->len; i++)
        choose_line(scripts, &scripts->all[i]);
}

/* ---- the server ------------------------------------------------------------------------------ */

static redisContext *connect_to(int port)
{
    redisContext *ctx = redisConnect("127.0.0.1", port);
    if (!ctx || ctx->err)
        fail_msg("no connection to the Redis at port %d", port);
    return ctx;
}

fx_scripts *fx_scripts_watch(int port, const char *folder)
{
    fx_scripts *scripts = calloc(1, sizeof(*scripts));
    assert_non_null(scripts);
    read_scripts(scripts, folder);
    scripts->marks = connect_to(port);
    scripts->monitor = connect_to(port);
    redisReply *reply = redisCommand(scripts->monitor, "MONITOR");
    assert_true(reply && reply->type == REDIS_REPLY_STATUS);
    freeReplyObject(reply);
    return scripts;
}

void fx_scripts_free(fx_scripts *scripts)
{
    if (!scripts)
        return;
    for (size_t i = 0; i < scripts->len; i++)
        free(scripts->all[i].text);
    redisFree(scripts->monitor);
    redisFree(scripts->marks);
    free(scripts);
}

static void take_line(fx_scripts *scripts, const char *line)
{
    for (size_t i = 0; i < scripts->len; i++)
        if (!scripts->all[i].seen && strstr(line, scripts->all[i].line))
            scripts->all[i].seen = true;
}

void fx_scripts_look(fx_scripts *scripts)
{
    char mark[32];
    bool done = false;
    snprintf(mark, sizeof(mark), "\"looked-%d\"", ++scripts->looks);
    freeReplyObject(redisCommand(scripts->marks, "ECHO looked-%d", scripts->looks));
    while (!done) {
        redisReply *reply = NULL;
        if (redisGetReply(scripts->monitor, (void **)&reply) != REDIS_OK)
            fail_msg("MONITOR ended: %s", scripts->monitor->errstr);
        done = strstr(reply->str, mark) != NULL;
        take_line(scripts, reply->str);
        freeReplyObject(reply);
    }
}

const char *fx_scripts_missing(const fx_scripts *scripts)
{
    for (size_t i = 0; i < scripts->len; i++)
        if (!scripts->all[i].seen)
            return scripts->all[i].path;
    return NULL;
}
