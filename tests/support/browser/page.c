/* page.c - what is done with a page: see webdriver.h. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/browser/session.h"

/* WebDriver's name for a reference to an element. */
#define ELEMENT "element-6066-11e4-a52e-4f735466cecf"

enum { PHONE_MOST = 500, SHOWN_MOST = 800 };

static cJSON *object_with(const char *name, const char *value)
{
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, name, value);
    return object;
}

void fx_browser_open(fx_browser *b, const char *url)
{
    session_order(b, "/url", object_with("url", url));
}

/* ---- scripts --------------------------------------------------------------------------------- */

static char *print(const char *format, va_list args)
{
    char *text;
    if (vasprintf(&text, format, args) < 0)
        abort();
    return text;
}

/* Takes the script over. */
static cJSON *run(fx_browser *b, char *script)
{
    cJSON *body = object_with("script", script);
    free(script);
    cJSON_AddArrayToObject(body, "args");
    return session_command(b, "POST", "/execute/sync", body);
}

#define RUN(b, script, ret)                                                                        \
    do {                                                                                           \
        va_list args;                                                                              \
        va_start(args, script);                                                                    \
        *(ret) = run(b, print(script, args));                                                      \
        va_end(args);                                                                              \
    } while (0)

cJSON *fx_browser_run(fx_browser *b, const char *script, ...)
{
    cJSON *value;
    RUN(b, script, &value);
    return value;
}

void fx_browser_do(fx_browser *b, const char *script, ...)
{
    cJSON *value;
    RUN(b, script, &value);
    cJSON_Delete(value);
}

const char *fx_browser_text(fx_browser *b, const char *script, ...)
{
    cJSON *value;
    RUN(b, script, &value);
    if (!cJSON_IsString(value))
        fail_msg("no text: %s", script);
    free(b->text);
    b->text = strdup(value->valuestring);
    cJSON_Delete(value);
    return b->text;
}

double fx_browser_number(fx_browser *b, const char *script, ...)
{
    cJSON *value;
    RUN(b, script, &value);
    if (!cJSON_IsNumber(value))
        fail_msg("no number: %s", script);
    double number = value->valuedouble;
    cJSON_Delete(value);
    return number;
}

static bool holds(fx_browser *b, const char *condition)
{
    cJSON *value = fx_browser_run(b, "return Boolean(%s);", condition);
    bool yes = cJSON_IsTrue(value);
    cJSON_Delete(value);
    return yes;
}

bool fx_browser_holds(fx_browser *b, const char *condition, ...)
{
    va_list args;
    va_start(args, condition);
    char *text = print(condition, args);
    va_end(args);
    bool yes = holds(b, text);
    free(text);
    return yes;
}

typedef struct wish {
    fx_browser *b;
    const char *condition;
} wish;

static bool comes_true(void *arg)
{
    wish *w = arg;
    return holds(w->b, w->condition);
}

void fx_browser_await(fx_browser *b, const char *condition, ...)
{
    va_list args;
    va_start(args, condition);
    char *text = print(condition, args);
    va_end(args);
    if (!fx_wait_until(comes_true, &(wish){b, text}, BROWSER_MS)) {
        char *console = cJSON_PrintUnformatted(fx_browser_console(b));
        fail_msg("never: %s; the browser: %.*s; the page: %.*s", text, SHOWN_MOST, console,
                 SHOWN_MOST, fx_browser_text(b, "return document.body.innerText;"));
    }
    free(text);
}

/* ---- as a person ----------------------------------------------------------------------------- */

/* The path of a command to an element, in buf. */
static const char *find(fx_browser *b, const char *selector, const char *command, char *buf,
                        size_t len)
{
    cJSON *body = object_with("using", "css selector");
    cJSON_AddStringToObject(body, "value", selector);
    cJSON *found = session_command(b, "POST", "/element", body);
    const cJSON *id = cJSON_GetObjectItemCaseSensitive(found, ELEMENT);
    assert_true(cJSON_IsString(id));
    snprintf(buf, len, "/element/%s/%s", id->valuestring, command);
    cJSON_Delete(found);
    return buf;
}

void fx_browser_click(fx_browser *b, const char *selector)
{
    char path[256];
    session_order(b, find(b, selector, "click", path, sizeof(path)), cJSON_CreateObject());
}

void fx_browser_type(fx_browser *b, const char *selector, const char *text)
{
    char path[256];
    session_order(b, find(b, selector, "clear", path, sizeof(path)), cJSON_CreateObject());
    session_order(b, find(b, selector, "value", path, sizeof(path)), object_with("text", text));
}

void fx_browser_choose(fx_browser *b, const char *selector, const char *value)
{
    char option[256];
    static const char place[] =
        "[...document.querySelector('%s').options].findIndex(o => o.value === '%s')";
    char *found = NULL;
    if (asprintf(&found, place, selector, value) < 0)
        abort();
    fx_browser_await(b, "%s >= 0", found);
    int at = (int)fx_browser_number(b, "return %s;", found);
    free(found);
    snprintf(option, sizeof(option), "%s option:nth-of-type(%d)", selector, at + 1);
    fx_browser_click(b, option);
}

/* The bytes of the first character of a text in UTF-8. */
static int character_length(const char *text)
{
    int len = 1;
    while (((unsigned char)text[len] & 0xc0) == 0x80)
        len++;
    return len;
}

static void add_key(cJSON *actions, const char *type, const char *key)
{
    cJSON *action = object_with("type", type);
    cJSON_AddStringToObject(action, "value", key);
    cJSON_AddItemToArray(actions, action);
}

void fx_browser_press(fx_browser *b, const char *keys)
{
    cJSON *body = cJSON_CreateObject();
    cJSON *source = object_with("type", "key");
    cJSON_AddStringToObject(source, "id", "keyboard");
    cJSON *actions = cJSON_AddArrayToObject(source, "actions");
    for (int len; *keys; keys += len) {
        char key[8];
        len = character_length(keys);
        snprintf(key, sizeof(key), "%.*s", len, keys);
        add_key(actions, "keyDown", key);
        add_key(actions, "keyUp", key);
    }
    cJSON_AddItemToArray(cJSON_AddArrayToObject(body, "actions"), source);
    session_order(b, "/actions", body);
}

/* ---- how it looks ---------------------------------------------------------------------------- */

cJSON *fx_browser_command(fx_browser *b, const char *name, cJSON *params)
{
    cJSON *body = object_with("cmd", name);
    cJSON_AddItemToObject(body, "params", params ? params : cJSON_CreateObject());
    return session_command(b, "POST", "/goog/cdp/execute", body);
}

cJSON *fx_browser_plant(fx_browser *b, const char *script)
{
    return fx_browser_command(b, "Page.addScriptToEvaluateOnNewDocument",
                              object_with("source", script));
}

void fx_browser_weed(fx_browser *b, cJSON *planted)
{
    cJSON_Delete(fx_browser_command(b, "Page.removeScriptToEvaluateOnNewDocument", planted));
}

void fx_browser_resize(fx_browser *b, int width, int height)
{
    cJSON *size = cJSON_CreateObject();
    cJSON_AddNumberToObject(size, "width", width);
    cJSON_AddNumberToObject(size, "height", height);
    cJSON_AddNumberToObject(size, "deviceScaleFactor", 1);
    cJSON_AddBoolToObject(size, "mobile", width < PHONE_MOST);
    cJSON_Delete(fx_browser_command(b, "Emulation.setDeviceMetricsOverride", size));
}

void fx_browser_prefer(fx_browser *b, const char *colours)
{
    cJSON *params = cJSON_CreateObject(), *feature = object_with("name", "prefers-color-scheme");
    cJSON_AddStringToObject(feature, "value", colours);
    cJSON_AddItemToArray(cJSON_AddArrayToObject(params, "features"), feature);
    cJSON_Delete(fx_browser_command(b, "Emulation.setEmulatedMedia", params));
}

/* Writes what a text in base64 stands for. */
static void write_base64(FILE *out, const char *text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned bits = 0;
    int have = 0;
    for (const char *at; *text && (at = strchr(digits, *text)); text++) {
        bits = bits << 6 | (unsigned)(at - digits);
        have += 6;
        if (have >= 8) {
            have -= 8;
            fputc((int)(bits >> have & 0xff), out);
        }
    }
}

static void shoot(fx_browser *b, const char *path, bool whole)
{
    cJSON *params = cJSON_CreateObject();
    cJSON_AddBoolToObject(params, "captureBeyondViewport", whole);
    cJSON *shot = fx_browser_command(b, "Page.captureScreenshot", params);
    const cJSON *data = cJSON_GetObjectItemCaseSensitive(shot, "data");
    assert_true(cJSON_IsString(data));
    FILE *out = fopen(path, "we");
    assert_non_null(out);
    write_base64(out, data->valuestring);
    assert_int_equal(fclose(out), 0);
    cJSON_Delete(shot);
}

void fx_browser_shoot(fx_browser *b, const char *path)
{
    shoot(b, path, true);
}

void fx_browser_clip(fx_browser *b, const char *path)
{
    shoot(b, path, false);
}
