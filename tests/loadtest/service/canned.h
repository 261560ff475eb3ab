/*
 * canned.h - an HTTP service that answers what it was given, request after request, and keeps what
 * it was asked. One connection a request.
 */
#ifndef TESTS_LOADTEST_SERVICE_CANNED_H
#define TESTS_LOADTEST_SERVICE_CANNED_H

#include "tests/support/fixture.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CANNED_MAX = 128 };

typedef struct canned_answer {
    int status; /* 0: hangs up */
    const char *body;
    const char *type; /* NULL: application/json; "": of no type */
} canned_answer;

static struct {
    int fd, port;
    pthread_t thread;
    canned_answer answers[CANNED_MAX]; /* the last one again and again */
    int answers_len;
    char asked[CANNED_MAX][1024]; /* "GET /stock?item=P BODY" */
    int asked_len;
} canned;

/* Reads one request, headers and body; false when there is none. */
static bool canned_hear(int fd, char *text, size_t size)
{
    size_t len = 0;
    for (;;) {
        text[len] = '\0';
        const char *end = strstr(text, "\r\n\r\n"), *length = strstr(text, "Content-Length: ");
        if (end && strlen(end + 4) >= (length ? strtoul(length + 16, NULL, 10) : 0))
            return true;
        ssize_t got = len + 1 < size ? read(fd, text + len, size - 1 - len) : 0;
        if (got <= 0)
            return false;
        len += (size_t)got;
    }
}

static void canned_answer_one(int fd)
{
    char text[4096], head[256];
    if (!canned_hear(fd, text, sizeof(text)))
        return;
    int at = canned.asked_len < canned.answers_len ? canned.asked_len : canned.answers_len - 1;
    const canned_answer *answer = &canned.answers[at];
    const char *body = strstr(text, "\r\n\r\n") + 4, *type = answer->type;
    if (canned.asked_len < CANNED_MAX)
        snprintf(canned.asked[canned.asked_len], sizeof(canned.asked[0]), "%.*s%s%.700s",
                 (int)(strstr(text, " HTTP") - text), text, *body ? " " : "", body);
    canned.asked_len++;
    if (answer->status == 0)
        return;
    snprintf(head, sizeof(head),
             "HTTP/1.1 %d X\r\nContent-Length: %zu\r\nConnection: close\r\n%s%s%s\r\n",
             answer->status, strlen(answer->body), type && !*type ? "" : "Content-Type: ",
             type ? type : "application/json; charset=utf-8", type && !*type ? "" : "\r\n");
    (void)!write(fd, head, strlen(head));
    (void)!write(fd, answer->body, strlen(answer->body));
}

static void *canned_serve(void *unused)
{
    (void)unused;
    for (int fd; (fd = accept(canned.fd, NULL, NULL)) >= 0; close(fd))
        canned_answer_one(fd);
    return NULL;
}

static int canned_start(void **unused)
{
    (void)unused;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    canned.fd = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(canned.fd, (struct sockaddr *)&address, len) != 0 || listen(canned.fd, 16) != 0 ||
        getsockname(canned.fd, (struct sockaddr *)&address, &len) != 0)
        return -1;
    canned.port = ntohs(address.sin_port);
    return pthread_create(&canned.thread, NULL, canned_serve, NULL);
}

static int canned_stop(void **unused)
{
    (void)unused;
    shutdown(canned.fd, SHUT_RDWR);
    pthread_join(canned.thread, NULL);
    return close(canned.fd);
}

/* Forgets what was asked; answers these from now on. */
static void canned_set(const canned_answer *answers, int len)
{
    memcpy(canned.answers, answers, (size_t)len * sizeof(answers[0]));
    canned.answers_len = len;
    canned.asked_len = 0;
}

#endif
