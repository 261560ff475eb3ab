/* front.c - haproxy, its instances, and how a test asks them. */
#include "tests/support/docker/front.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/raw.h"

enum { ANSWER_MS = 15000, START_MS = 60000 };

int fx_front_port;
char fx_front_url[64];
fx_process *fx_front_proxy;

static int server_port[FX_INSTANCES], metrics_port;

fx_server *fx_front_instance(int i)
{
    char listen[32];
    snprintf(listen, sizeof(listen), "127.0.0.1:%d", server_port[i]);
    return fx_server_start(fx_redis_url(fx.redis), FX_ARGS("--listen", listen, FX_P0001, "--stock",
                                                           "1000000", "--strategy", "combined"));
}

void fx_front_set(const char *name, int port)
{
    char address[32];
    snprintf(address, sizeof(address), "127.0.0.1:%d", port);
    setenv(name, address, 1);
}

int fx_front_ask(const char *method, const char *path, const char *body, fx_reply *ret)
{
    char url[256];
    snprintf(url, sizeof(url), "%s%s", fx_front_url, path);
    return fx_http(method, url, NULL, body, ANSWER_MS, ret);
}

bool fx_front_is_ready(void *unused)
{
    (void)unused;
    fx_reply reply;
    int status = fx_front_ask("GET", "/readyz", NULL, &reply);
    fx_reply_free(&reply);
    return status == 200;
}

int fx_front_orders(void)
{
    fx_reply reply;
    assert_int_equal(fx_front_ask("GET", "/stock?item=P0001", NULL, &reply), 200);
    cJSON *stock = fx_reply_json(&reply);
    int n = (int)fx_json_number(stock, "orders");
    cJSON_Delete(stock);
    fx_reply_free(&reply);
    return n;
}

void fx_front_send(const char *from, const char *bytes, char *reply, size_t len)
{
    int fd = fx_raw_connect(fx_front_port, from);
    assert_true(fd >= 0);
    assert_true(fx_raw_send(fd, bytes, strlen(bytes)));
    fx_raw_read(fd, reply, len, ANSWER_MS, NULL);
    close(fd);
}

double fx_front_metric(const char *sample)
{
    char url[64], line[160];
    fx_reply reply;
    snprintf(url, sizeof(url), "http://127.0.0.1:%d/metrics", metrics_port);
    snprintf(line, sizeof(line), "\n%s ", sample);
    fx_http("GET", url, NULL, NULL, ANSWER_MS, &reply);
    const char *found = strstr(reply.body, line);
    double value = found ? strtod(found + strlen(line), NULL) : -1;
    fx_reply_free(&reply);
    return value;
}

static fx_process *spawn(int metrics)
{
    fx_front_set("FLASHSALE_PROXY_METRICS", metrics);
    return fx_spawn((const char *const[]){"haproxy", "-db", "-f", "docker/haproxy.cfg", NULL},
                    true);
}

fx_process *fx_front_another(void)
{
    return spawn(fx_free_port());
}

int fx_front_start(void **state)
{
    fx_service_start(state);
    for (int i = 0; i < FX_INSTANCES; i++) {
        char name[32];
        server_port[i] = fx_free_port();
        fx.server[i] = fx_front_instance(i);
        snprintf(name, sizeof(name), "FLASHSALE_INSTANCE_%d", i + 1);
        fx_front_set(name, server_port[i]);
    }
    fx_front_port = fx_free_port();
    metrics_port = fx_free_port();
    snprintf(fx_front_url, sizeof(fx_front_url), "http://127.0.0.1:%d", fx_front_port);
    fx_front_set("FLASHSALE_FRONT", fx_front_port);
    setenv("FLASHSALE_ADDRESS_REQUESTS", "1000000", 1);
    if (fx_shell("command -v haproxy >/dev/null", NULL, 5000) != 0)
        return 0;
    fx_front_proxy = spawn(metrics_port);
    return fx_wait_until(fx_front_is_ready, NULL, START_MS) ? 0 : -1;
}

int fx_front_stop(void **state)
{
    fx_process_free(fx_front_proxy);
    return fx_service_stop(state);
}

void fx_front_need(void)
{
    if (fx_front_proxy == NULL)
        fx_skip("no haproxy here");
}
