/* command.c - see command.h. */
#include "server/store/command.h"

static void put_words(dlock_args *args, const char *const *words)
{
    for (; *words; words++)
        dlock_args_text(args, *words);
}

dlock_redis_outcome asking(fs_store *store, dlock_time deadline, redisReply **ret,
                           const char *const *words)
{
    dlock_args args;
    dlock_args_init(&args);
    put_words(&args, words);
    const char *key = words[1]; /* NULL after a command of one word, which goes anywhere */
    dlock_redis_outcome outcome = dlock_redis_command(store->redis, key, &args, deadline, ret);
    dlock_args_free(&args);
    return outcome;
}

dlock_redis_outcome asking_script(fs_store *store, dlock_time deadline, redisReply **ret,
                                  dlock_script *script, const char *key,
                                  const char *const *arguments)
{
    dlock_args args;
    dlock_args_init(&args);
    dlock_args_text(&args, key);
    put_words(&args, arguments);
    dlock_redis_outcome outcome = dlock_redis_eval(store->redis, script, 1, &args, deadline, ret);
    dlock_args_free(&args);
    return outcome;
}
