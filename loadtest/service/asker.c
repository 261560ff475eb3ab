/* A blocking easy handle, a connection to each target, and a pen. */
#include "loadtest/service/asker.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define URL_MAX     1024
#define QUESTION_MS 5000 /* an answer that is not there by then is none */
#define SHARES_MAX  15
#define LAST_NS     NS_PER_S /* likewise, when the run is interrupted */

struct lt_asker {
    const lt_plan *plan;
    const char *sale;
    lt_recorder *recorder;
    CURL *easy;
    lt_pen *pen;
    lt_body body;
    mono_ns deadline;
};

lt_asker *asker_new(const lt_plan *plan, const char *sale, lt_recorder *recorder)
{
    lt_asker *asker = calloc(1, sizeof(*asker));
    if (!asker)
        return NULL;
    *asker = (lt_asker){.plan = plan,
                        .sale = sale,
                        .recorder = recorder,
                        .easy = curl_easy_init(),
                        .pen = pen_new(recorder),
                        .deadline = INT64_MAX};
    if (asker->easy && asker->pen)
        return asker;
    asker_free(asker);
    return NULL;
}

void asker_free(lt_asker *asker)
{
    if (!asker)
        return;
    curl_easy_cleanup(asker->easy);
    pen_free(asker->pen);
    body_release(&asker->body);
    free(asker);
}

lt_pen *asker_pen(lt_asker *asker)
{
    return asker->pen;
}

void asker_limit(lt_asker *asker, mono_ns deadline)
{
    asker->deadline = deadline;
}

bool asker_is_late(const lt_asker *asker)
{
    return clock_now() >= asker->deadline;
}

volatile sig_atomic_t asker_interrupted;

/* libcurl asks about once a second whether to go on. */
static int go_on(void *from, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    (void)a, (void)b, (void)c, (void)d;
    return asker_interrupted && clock_now() - *(const mono_ns *)from > LAST_NS;
}

/* How long the next question may take: a ms at least, for 0 means without limit. */
static long timeout_ms(const lt_asker *asker)
{
    int64_t left = (asker->deadline - clock_now()) / NS_PER_MS;
    int64_t most = asker->plan->timeout_ms < QUESTION_MS ? asker->plan->timeout_ms : QUESTION_MS;
    most = left < most ? left : most;
    return most < 1 ? 1 : (long)most;
}

/* Performs the question at `url` and writes it down. */
static void perform(lt_asker *asker, const char *url, lt_question *question,
                    struct curl_slist *headers, lt_answer *ret)
{
    CURL *easy = asker->easy;
    asker->body.length = 0;
    asker->body.cut = false;
    curl_easy_reset(easy);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, timeout_ms(asker));
    curl_easy_setopt(easy, CURLOPT_MAXCONNECTS, (long)PLAN_TARGETS_MAX);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, body_receive);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &asker->body);
    if (question->user) {
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, "");
        curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    }
    curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, go_on);
    curl_easy_setopt(easy, CURLOPT_XFERINFODATA, &question->from);
    question->from = clock_now();
    CURLcode code = curl_easy_perform(easy);
    question->to = clock_now();
    answer_read(easy, code, &asker->body, ret);
    answer_write(asker->pen, question, ret);
}

void asker_buy(lt_asker *asker, lt_question question, lt_answer *ret)
{
    char url[URL_MAX], key[128];
    const char *sale = question.asked ? question.asked : asker->sale;
    struct curl_slist type = {.data = (char *)"Content-Type:"};
    struct curl_slist headers = {.data = key, .next = &type};
    snprintf(key, sizeof(key), "Idempotency-Key: %s", question.request);
    int len = snprintf(url, sizeof(url), "%s/buy?item=%s%s%s&user=%s&quantity=%" PRId64,
                       asker->plan->targets[question.target], asker->plan->item,
                       sale[0] != '\0' ? "&sale=" : "", sale, question.user, question.quantity);
    if (asker->plan->reserve_s > 0)
        len += snprintf(url + len, sizeof(url) - (size_t)len, "&reserve_s=%ld",
                        asker->plan->reserve_s);
    if (question.not_after_us > 0)
        snprintf(url + len, sizeof(url) - (size_t)len, "&not_after=%" PRId64,
                 question.not_after_us);
    perform(asker, url, &question, &headers, ret);
}

void asker_end(lt_asker *asker, lt_question question, lt_answer *ret)
{
    char url[URL_MAX];
    struct curl_slist type = {.data = (char *)"Content-Type:"};
    snprintf(url, sizeof(url), "%s/orders/%s/%s?item=%s&sale=%s&user=%s",
             asker->plan->targets[question.target], question.request, question.ending,
             asker->plan->item, asker->sale, question.user);
    perform(asker, url, &question, &type, ret);
}

void asker_look(lt_asker *asker, const char *request, int target, lt_answer *ret)
{
    char url[URL_MAX];
    lt_question question = {.request = request, .target = target};
    snprintf(url, sizeof(url), "%s/orders/%s?item=%s&sale=%s", asker->plan->targets[target],
             request, asker->plan->item, asker->sale);
    perform(asker, url, &question, NULL, ret);
}

/* ---- several at once ------------------------------------------------------------------------- */

typedef struct lt_share {
    const lt_asker *like;
    void (*work)(lt_asker *asker, void *arg);
    void *arg;
} lt_share;

static void *take_share(void *arg)
{
    const lt_share *share = arg;
    lt_asker *asker = asker_new(share->like->plan, share->like->sale, share->like->recorder);
    if (asker) {
        asker->deadline = share->like->deadline;
        share->work(asker, share->arg);
    }
    asker_free(asker);
    return NULL;
}

void asker_share(lt_asker *asker, int threads, void (*work)(lt_asker *asker, void *arg), void *arg)
{
    lt_share share = {asker, work, arg};
    pthread_t others[SHARES_MAX];
    int started = 0;
    while (started < threads - 1 && started < SHARES_MAX &&
           pthread_create(&others[started], NULL, take_share, &share) == 0)
        started++;
    work(asker, arg);
    for (int i = 0; i < started; i++)
        pthread_join(others[i], NULL);
}
