/*
 * matrix - strategies x faults: which of them oversell, lose, duplicate or get stuck, and when.
 *
 *     matrix run [--quick | --selection] [--seed N] [--runs N] [--jobs N] [--out DIR]
 *                [--rows ROW,...] [--faults FAULT,...] [--planted PLANTED,CAUGHT]
 *     matrix cell --row ROW --fault FAULT [--seed N] [--out DIR]
 *     matrix soak [--minutes N] [--seed N] [--row ROW] [--out DIR]
 *     matrix list
 *
 * Exit code of `cell`: 1 if its verdict is BROKEN, 0 if it is another one; of `run` and `soak`: 0
 * if all was as expected, 1 if not; 64: a wrong word, 74: what was found can not be written.
 *
 * Start with README.md in this folder.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/chaos/faults/fault.h"
#include "tests/chaos/judge.h"
#include "tests/chaos/matrix/run.h"
#include "tests/chaos/soak/soak.h"

enum { USAGE = 64, MISPLACED = 69, UNWRITABLE = 74 };

static const char help[] =
    "usage: matrix run  [--quick | --selection] [--seed N] [--runs N] [--jobs N]\n"
    "                   [--rows ROW,...] [--faults FAULT,...] [--out DIR]\n"
    "                   [--planted PLANTED,CAUGHT]\n"
    "       matrix cell --row ROW --fault FAULT [--seed N] [--out DIR]\n"
    "       matrix list\n"
    "       matrix soak [--minutes N] [--seed N] [--row ROW] [--out DIR]\n"
    "exit code of cell: 1 if it is BROKEN, 0 if it is not; of run and soak: 0 if all is as\n"
    "expected, 1 if not. 64: wrong usage; 69: this is not the project's top directory;\n"
    "74: what a cell finds can not be written\n";

static int usage(const char *why)
{
    fprintf(stderr, "matrix: %s\n%s", why, help);
    return USAGE;
}

static int list(void)
{
    for (int i = 0; faults[i]; i++)
        printf("%-18s %s\n", faults[i]->name, faults[i]->says);
    for (int i = 0; plan_row(i); i++)
        printf("row %s\n", plan_row(i));
    return 0;
}

static bool write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    bool written = file && fputs(text, file) >= 0;
    return file && fclose(file) == 0 && written;
}

static int run_cell(const matrix_options *options)
{
    static cell c;
    char path[512];
    c.fault = fault_find(options->faults);
    c.seed = options->seed;
    if (!c.fault || !row_read(options->rows, &c.row))
        return usage("no such row or fault: see `matrix list`");
    mkdir(options->out, 0777);
    if (access(options->out, W_OK | X_OK) != 0) {
        fprintf(stderr, "matrix: %s can not be written to\n", options->out);
        return UNWRITABLE;
    }
    snprintf(c.histories[0], sizeof(c.histories[0]), "%s/%s.%s.%llu.buys", options->out, c.row.name,
             c.fault->name, (unsigned long long)c.seed);
    snprintf(path, sizeof(path), "%s/%s.%s.%llu.json", options->out, c.row.name, c.fault->name,
             (unsigned long long)c.seed);
    int failed = cell_run(&c);
    cJSON *verdict = judge_cell(&c, failed);
    char *text = cJSON_Print(verdict);
    bool written = write_text(path, text);
    puts(text);
    free(text);
    const cJSON *word = cJSON_GetObjectItemCaseSensitive(verdict, "verdict");
    bool broken = strcmp(word->valuestring, "BROKEN") == 0;
    cJSON_Delete(verdict);
    return !written ? UNWRITABLE : broken ? 1 : 0;
}

static bool read_number(const char *text, unsigned long long *ret)
{
    char *end;
    *ret = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0';
}

/* False when an option is wrong. */
static bool read_options(int argc, char **argv, matrix_options *o)
{
    static const struct option known[] = {{"quick", no_argument, NULL, 'q'},
                                          {"selection", no_argument, NULL, 'e'},
                                          {"seed", required_argument, NULL, 's'},
                                          {"runs", required_argument, NULL, 'n'},
                                          {"jobs", required_argument, NULL, 'j'},
                                          {"rows", required_argument, NULL, 'r'},
                                          {"row", required_argument, NULL, 'r'},
                                          {"planted", required_argument, NULL, 'p'},
                                          {"faults", required_argument, NULL, 'f'},
                                          {"fault", required_argument, NULL, 'f'},
                                          {"out", required_argument, NULL, 'o'},
                                          {"minutes", required_argument, NULL, 'm'},
                                          {NULL, 0, NULL, 0}};
    unsigned long long number = 0;
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (strchr("snjm", option) && !read_number(optarg, &number))
            return false;
        switch (option) {
        case 'q':
            o->size = MATRIX_QUICK;
            break;
        case 'e':
            o->size = MATRIX_SELECTION;
            break;
        case 's':
            o->seed = number;
            break;
        case 'n':
            o->runs = (int)number;
            break;
        case 'j':
            o->jobs = (int)number;
            break;
        case 'm':
            o->minutes = (int)number;
            break;
        case 'r':
            o->rows = optarg;
            break;
        case 'f':
            o->faults = optarg;
            break;
        case 'p':
            if (sscanf(optarg, "%d,%d", &o->planted, &o->caught) != 2 || o->planted < 1 ||
                o->caught > o->planted)
                return false;
            break;
        case 'o':
            o->out = optarg;
            break;
        default:
            return false;
        }
    }
    return optind == argc;
}

int main(int argc, char **argv)
{
    matrix_options options = {.seed = 1, .out = "build/chaos", .minutes = 20};
    const char *what = argc > 1 ? argv[1] : "";
    bool soaks = strcmp(what, "soak") == 0;
    if (soaks)
        options =
            (matrix_options){.seed = (uint64_t)time(NULL), .out = "build/soak", .minutes = 20};
    signal(SIGPIPE, SIG_IGN); /* servers that are killed close the connections that we have */
    if (strcmp(what, "--help") == 0 || strcmp(what, "-h") == 0)
        return fputs(help, stdout) < 0;
    if (argc < 2 || !read_options(argc - 1, argv + 1, &options))
        return usage("what is to be done?");
    if (strcmp(what, "list") == 0)
        return list();
    if (access("scripts/redis-topology", X_OK) != 0) {
        fputs("matrix: start it in the project's top directory\n", stderr);
        return MISPLACED;
    }
    if (soaks && plan_knows(options.rows, options.faults))
        return soak_run(&options);
    if (strcmp(what, "cell") == 0 && options.rows && options.faults)
        return run_cell(&options);
    if (strcmp(what, "run") == 0 && plan_knows(options.rows, options.faults))
        return matrix_run(&options);
    if (strcmp(what, "run") == 0)
        return usage("no such row or fault: see `matrix list`");
    return usage("what is to be done?");
}
