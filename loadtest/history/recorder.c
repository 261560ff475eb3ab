/*
 * A line is put together by hand in its pen's buffer: a run of 60,000 requests a second writes as
 * many lines, and printf would cost more than the rest of the recording. The file is opened for
 * appending, so lines of several pens never mix.
 */
#include "loadtest/history/recorder.h"

#include "loadtest/history/format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PEN_BYTES  (64 * 1024)
#define LINE_BYTES (16 * 1024) /* the longest line */
#define TEXT_BYTES 512

struct lt_recorder {
    int fd;
    _Atomic int failed; /* errno of the first write that failed */
    char path[4096];
};

struct lt_pen {
    lt_recorder *recorder;
    size_t length;
    char text[PEN_BYTES];
};

/* ---- the file -------------------------------------------------------------------------------- */

static void write_all(lt_recorder *recorder, const char *text, size_t length)
{
    while (length > 0 && recorder->failed == 0) {
        ssize_t written = write(recorder->fd, text, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            recorder->failed = written < 0 ? errno : ENOSPC;
            return;
        }
        text += written;
        length -= (size_t)written;
    }
}

static int open_unnamed(char *path, size_t size)
{
    const char *folder = getenv("TMPDIR");
    snprintf(path, size, "%s/history.XXXXXX", folder && *folder ? folder : "/tmp");
    int fd = mkostemp(path, O_APPEND | O_CLOEXEC);
    if (fd < 0)
        return fd;
    unlink(path);
    snprintf(path, size, "/proc/self/fd/%d", fd);
    return fd;
}

lt_recorder *recorder_open(const char *path, char *err, size_t err_len)
{
    lt_recorder *recorder = calloc(1, sizeof(*recorder));
    if (!recorder) {
        snprintf(err, err_len, "out of memory");
        return NULL;
    }
    snprintf(recorder->path, sizeof(recorder->path), "%s", path ? path : "");
    recorder->fd =
        path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NONBLOCK | O_CLOEXEC, 0666)
             : open_unnamed(recorder->path, sizeof(recorder->path));
    struct stat is;
    bool regular = recorder->fd >= 0 && fstat(recorder->fd, &is) == 0 && S_ISREG(is.st_mode);
    if (!regular) {
        snprintf(err, err_len, "the history can not be written to %s: %s", recorder->path,
                 recorder->fd < 0 ? strerror(errno) : "it is no regular file");
        if (recorder->fd >= 0)
            close(recorder->fd);
        free(recorder);
        return NULL;
    }
    write_all(recorder, HISTORY_FIRST_LINE "\n", strlen(HISTORY_FIRST_LINE "\n"));
    return recorder;
}

const char *recorder_path(const lt_recorder *recorder)
{
    return recorder->path;
}

void recorder_end(lt_recorder *recorder)
{
    write_all(recorder, "end\n", 4);
}

void recorder_free(lt_recorder *recorder)
{
    if (!recorder)
        return;
    close(recorder->fd);
    free(recorder);
}

/* ---- lines ----------------------------------------------------------------------------------- */

lt_pen *pen_new(lt_recorder *recorder)
{
    lt_pen *pen = malloc(sizeof(*pen));
    if (pen) {
        pen->recorder = recorder;
        pen->length = 0;
    }
    return pen;
}

void pen_free(lt_pen *pen)
{
    if (pen)
        write_all(pen->recorder, pen->text, pen->length);
    free(pen);
}

static void add(lt_pen *pen, const char *text, size_t length)
{
    memcpy(pen->text + pen->length, text, length);
    pen->length += length;
}

void pen_word(lt_pen *pen, const char *word)
{
    if (pen->length + LINE_BYTES > PEN_BYTES) {
        write_all(pen->recorder, pen->text, pen->length);
        pen->length = 0;
    }
    add(pen, word, strlen(word));
}

static void add_name(lt_pen *pen, const char *name)
{
    pen->text[pen->length++] = ' ';
    add(pen, name, strlen(name));
    pen->text[pen->length++] = '=';
}

void pen_number(lt_pen *pen, const char *name, int64_t value)
{
    char digits[20];
    int count = 0;
    uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
    add_name(pen, name);
    if (value < 0)
        pen->text[pen->length++] = '-';
    do {
        digits[count++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    while (count > 0)
        pen->text[pen->length++] = digits[--count];
}

void pen_text(lt_pen *pen, const char *name, const char *value)
{
    static const char hex[] = "0123456789ABCDEF";
    bool special = (value[0] == '-' || value[0] == '?') && value[1] == '\0';
    add_name(pen, name);
    for (size_t i = 0; value[i] != '\0' && i < TEXT_BYTES; i++) {
        unsigned char c = (unsigned char)value[i];
        if (c > ' ' && c != '%' && c != 127 && !special) {
            pen->text[pen->length++] = (char)c;
            continue;
        }
        pen->text[pen->length++] = '%';
        pen->text[pen->length++] = hex[c >> 4];
        pen->text[pen->length++] = hex[c & 15];
    }
}

void pen_raw(lt_pen *pen, const char *name, const char *value)
{
    add_name(pen, name);
    add(pen, value, strlen(value));
}

void pen_line(lt_pen *pen)
{
    pen->text[pen->length++] = '\n';
}
