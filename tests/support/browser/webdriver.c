/*
 * webdriver.c - see webdriver.h: the two programs, and commands over HTTP.
 *
 * The browser is started here, not by its driver, which is told its port: so both are children of
 * this program, and the kernel ends both with it. chromium's other processes end with the first.
 */
#include "tests/support/browser/webdriver.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/browser/session.h"
#include "tests/support/http.h"

enum { START_MS = 60000, DRIVER_TRIES = 5 };

bool fx_browser_is_there(void)
{
    return fx_shell("command -v chromium && command -v chromedriver", "", 10000) == 0;
}

/* ---- the programs ---------------------------------------------------------------------------- */

/* The first line of the file is the port. */
static bool browser_listens(void *browser)
{
    fx_browser *b = browser;
    char path[512];
    snprintf(path, sizeof(path), "%s/DevToolsActivePort", b->profile);
    FILE *file = fopen(path, "re");
    char line[32] = "";
    bool whole = file && fgets(line, sizeof(line), file) && strchr(line, '\n');
    if (file)
        fclose(file);
    b->browser_port = (int)strtol(line, NULL, 10);
    return whole;
}

static bool driver_listens(void *browser)
{
    fx_browser *b = browser;
    return strstr(fx_process_stdout(b->driver), "started successfully");
}

static bool driver_said(void *browser)
{
    fx_browser *b = browser;
    return driver_listens(b) || strstr(fx_process_stdout(b->driver), "Exiting");
}

/* It is told its port: without IPv6, one that chooses says that it has port 0. What is free in one
 * family of addresses may be taken in the other: then it ends, and another one takes another. */
static void start_driver(fx_browser *b)
{
    char port[32];
    for (int tries = 0; tries < DRIVER_TRIES; tries++) {
        b->driver_port = fx_free_port();
        snprintf(port, sizeof(port), "--port=%d", b->driver_port);
        b->driver = fx_spawn((const char *const[]){"chromedriver", port, NULL}, true);
        if (fx_wait_until(driver_said, b, START_MS) && driver_listens(b))
            return;
        if (tries + 1 < DRIVER_TRIES)
            fx_process_free(b->driver);
    }
    fail_msg("chromedriver does not listen: %s", fx_process_stderr(b->driver));
}

static void start_programs(fx_browser *b)
{
    char profile[300];
    fx_dir_make(b->profile, sizeof(b->profile));
    snprintf(profile, sizeof(profile), "--user-data-dir=%s", b->profile);
    const char *const words[] = {"chromium",
                                 "--headless",
                                 "--no-sandbox",
                                 "--disable-gpu",
                                 "--disable-dev-shm-usage",
                                 "--disable-background-networking",
                                 "--hide-scrollbars",
                                 "--no-first-run",
                                 "--window-size=1280,900",
                                 "--remote-debugging-port=0",
                                 profile,
                                 "about:blank",
                                 NULL};
    b->browser = fx_spawn(words, false);
    if (!fx_wait_until(browser_listens, b, START_MS))
        fail_msg("chromium does not listen: %s", fx_process_stderr(b->browser));
    start_driver(b);
}

/* ---- commands -------------------------------------------------------------------------------- */

/* A refusal's sentence ends at its stack, which nobody reads. */
static void complain(const char *what, const fx_reply *reply)
{
    cJSON *answer = cJSON_Parse(reply->body);
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(answer, "value");
    const cJSON *message = cJSON_GetObjectItemCaseSensitive(value, "message");
    fail_msg("%s: %d %s%s", what, reply->status,
             cJSON_IsString(message) ? message->valuestring : reply->body, reply->error);
}

cJSON *session_command(fx_browser *b, const char *method, const char *path, cJSON *body)
{
    char url[512];
    fx_reply reply;
    char *text = body ? cJSON_PrintUnformatted(body) : NULL;
    snprintf(url, sizeof(url), "http://127.0.0.1:%d/session%s%s%s", b->driver_port,
             b->session[0] ? "/" : "", b->session, path);
    const char *const json[] = {"Content-Type: application/json", NULL};
    if (fx_http(method, url, text ? json : NULL, text, BROWSER_MS, &reply) != 200)
        complain(text ? text : path, &reply);
    cJSON *answer = cJSON_Parse(reply.body);
    cJSON *value = cJSON_DetachItemFromObjectCaseSensitive(answer, "value");
    if (!value)
        fail_msg("%s: no value in %s", path, reply.body);
    cJSON_Delete(answer);
    cJSON_Delete(body);
    free(text);
    fx_reply_free(&reply);
    return value;
}

void session_order(fx_browser *b, const char *path, cJSON *body)
{
    cJSON_Delete(session_command(b, "POST", path, body));
}

static void start_session(fx_browser *b)
{
    char text[512];
    snprintf(text, sizeof(text),
             "{\"capabilities\":{\"alwaysMatch\":{\"browserName\":\"chrome\","
             "\"goog:loggingPrefs\":{\"browser\":\"ALL\",\"performance\":\"ALL\"},"
             "\"goog:chromeOptions\":{\"debuggerAddress\":\"127.0.0.1:%d\"}}}}",
             b->browser_port);
    cJSON *value = session_command(b, "POST", "", cJSON_Parse(text));
    const cJSON *id = cJSON_GetObjectItemCaseSensitive(value, "sessionId");
    assert_true(cJSON_IsString(id));
    snprintf(b->session, sizeof(b->session), "%s", id->valuestring);
    cJSON_Delete(value);
}

fx_browser *fx_browser_start(void)
{
    fx_browser *b = calloc(1, sizeof(*b));
    if (!b)
        fail_msg("out of memory");
    start_programs(b);
    start_session(b);
    return b;
}

/* The browser goes first, so that nothing writes into its profile any more. */
void fx_browser_stop(fx_browser *b)
{
    if (!b)
        return;
    fx_process_signal(b->browser, SIGTERM);
    fx_process_wait(b->browser, START_MS);
    fx_process_free(b->browser);
    fx_process_free(b->driver);
    fx_dir_remove(b->profile);
    free(b->text);
    free(b);
}

/* ---- what it said and asked ------------------------------------------------------------------ */

static cJSON *read_log(fx_browser *b, const char *type)
{
    cJSON *body = cJSON_CreateObject();
    cJSON_AddStringToObject(body, "type", type);
    return session_command(b, "POST", "/se/log", body);
}

cJSON *fx_browser_console(fx_browser *b)
{
    return read_log(b, "browser");
}

/* An entry is JSON in a text: {"message":{"method":"Network.requestWillBeSent","params":...}}. */
static void put_address(FILE *out, const cJSON *entry)
{
    cJSON *event = cJSON_Parse(cJSON_GetObjectItemCaseSensitive(entry, "message")->valuestring);
    const cJSON *message = cJSON_GetObjectItemCaseSensitive(event, "message");
    const cJSON *method = cJSON_GetObjectItemCaseSensitive(message, "method");
    const cJSON *params = cJSON_GetObjectItemCaseSensitive(message, "params");
    const cJSON *request = cJSON_GetObjectItemCaseSensitive(params, "request");
    const cJSON *url = cJSON_GetObjectItemCaseSensitive(request, "url");
    if (cJSON_IsString(method) && strcmp(method->valuestring, "Network.requestWillBeSent") == 0 &&
        cJSON_IsString(url))
        fprintf(out, "%s\n", url->valuestring);
    cJSON_Delete(event);
}

char *fx_browser_asked(fx_browser *b)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    const cJSON *entry;
    cJSON *log = read_log(b, "performance");
    cJSON_ArrayForEach(entry, log)
        put_address(out, entry);
    cJSON_Delete(log);
    fclose(out);
    return text;
}
