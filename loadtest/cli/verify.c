/* verify.c - `loadtest verify`. It has options of its own; its --json names no file. */
#include "loadtest/cli/verify.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>

#include "loadtest/base/number.h"
#include "loadtest/base/plain.h"
#include "loadtest/base/plan.h"
#include "loadtest/cli/options.h"
#include "loadtest/judge/judge.h"
#include "loadtest/result/comparison.h"

typedef struct lt_verify {
    lt_judge_options options;
    bool json, help;
} lt_verify;

static bool read_us(const char *text, int64_t *ret)
{
    long us;
    bool good = number_parse_long(text, 1, LONG_MAX / 2, &us);
    if (good)
        *ret = us;
    else
        plain_complain("\"%s\" is not a number of us", text);
    return good;
}

static bool read_options(int argc, char **argv, lt_verify *ret)
{
    static const struct option names[] = {{"help", no_argument, NULL, 'h'},
                                          {"json", no_argument, NULL, 'j'},
                                          {"i7-us", required_argument, NULL, '7'},
                                          {"final-us", required_argument, NULL, 'f'},
                                          {NULL, 0, NULL, 0}};
    for (int name; (name = getopt_long(argc, argv, "h", names, NULL)) >= 0;) {
        if (name == 'h')
            return ret->help = true;
        if (name == 'j')
            ret->json = true;
        else if (name == '?' ||
                 !read_us(optarg, name == '7' ? &ret->options.i7_us : &ret->options.final_us))
            return false;
    }
    if (optind == argc)
        plain_complain("verify takes histories; loadtest --help explains");
    return optind < argc;
}

static lt_exit_code verify_file(const char *path, const lt_verify *verify)
{
    char err[512];
    lt_judgement *judgement = judge_file(path, &verify->options, err, sizeof(err));
    if (!judgement) {
        plain_complain("%s", err);
        return EXIT_INVALID;
    }
    lt_verdict verdict = judgement->verdict;
    if (verify->json)
        judgement_print_json(path, judgement, stdout);
    else
        judgement_print(path, judgement, stdout);
    judgement_free(judgement);
    return verdict_is_broken(verdict) ? EXIT_BROKEN
           : verdict == VERDICT_SAFE  ? EXIT_SAFE
                                      : EXIT_INVALID;
}

int verify_files(int argc, char **argv)
{
    lt_verify verify = {.json = false};
    lt_exit_code worst = EXIT_SAFE;
    if (!read_options(argc, argv, &verify))
        return EXIT_USAGE;
    if (verify.help)
        return fputs(help_text, stdout) >= 0 && fflush(stdout) == 0 ? EXIT_SAFE : EXIT_INVALID;
    for (; optind < argc; optind++) {
        lt_exit_code code = verify_file(argv[optind], &verify);
        if (worst == EXIT_SAFE || code == EXIT_BROKEN)
            worst = code;
    }
    return fflush(stdout) == 0 ? (int)worst : (int)EXIT_INVALID;
}
