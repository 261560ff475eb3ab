/*
 * The words of a command, kept in the form they have on the wire ("$3\r\nGET\r\n"), so that a
 * call copies them once and numbers need no storage of their own.
 */
#include <stdlib.h>
#include <string.h>

#include "redis/conn.h"

void dlock_args_init(dlock_args *args)
{
    *args = (dlock_args){0};
}

void dlock_args_clear(dlock_args *args)
{
    args->len = 0;
    args->count = 0;
    args->failed = false;
}

void dlock_args_free(dlock_args *args)
{
    free(args->buf);
    dlock_args_init(args);
}

static bool reserve(dlock_args *args, size_t more)
{
    if (args->len + more <= args->cap)
        return true;
    size_t cap = args->cap ? args->cap * 2 : 256;
    while (cap < args->len + more)
        cap *= 2;
    char *buf = realloc(args->buf, cap);
    if (!buf) {
        args->failed = true;
        return false;
    }
    args->buf = buf;
    args->cap = cap;
    return true;
}

size_t dlock_put_decimal(char *to, uint64_t number)
{
    char digits[20];
    size_t len = 0;
    do
        digits[sizeof(digits) - ++len] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    memcpy(to, digits + sizeof(digits) - len, len);
    return len;
}

void dlock_args_bytes(dlock_args *args, const void *bytes, size_t len)
{
    enum { FRAME = 32 }; /* '$', the length's digits, two line ends */
    if (!reserve(args, len + FRAME))
        return;
    char *to = args->buf + args->len;
    *to++ = '$';
    to += dlock_put_decimal(to, len);
    memcpy(to, "\r\n", 2);
    to += 2;
    if (len > 0)
        memcpy(to, bytes, len);
    memcpy(to + len, "\r\n", 2);
    args->len = (size_t)(to + len + 2 - args->buf);
    args->count++;
}

void dlock_args_wire(dlock_args *args, const char *wire, size_t len, int count)
{
    if (count == 0 || !reserve(args, len))
        return;
    memcpy(args->buf + args->len, wire, len);
    args->len += len;
    args->count += count;
}

void dlock_args_text(dlock_args *args, const char *text)
{
    dlock_args_bytes(args, text, strlen(text));
}

void dlock_args_int(dlock_args *args, int64_t number)
{
    char text[24] = "-";
    size_t sign = number < 0;
    size_t len = dlock_put_decimal(text + sign, sign ? 0 - (uint64_t)number : (uint64_t)number);
    dlock_args_bytes(args, text, sign + len);
}

const char *dlock_args_first(const dlock_args *args, size_t *ret_len)
{
    char *line_end;
    *ret_len = strtoul(args->buf + 1, &line_end, 10);
    return line_end + 2;
}
