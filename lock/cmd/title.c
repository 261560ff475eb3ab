/* A process's title: its name, and the memory of main()'s words, from which /proc/PID/cmdline is
 * read. */
#include "cmd/title.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* How long the words are; 0: not known. The kernel gives their memory as it is, with every NUL. */
static size_t words_len(void)
{
    char part[4096];
    size_t len = 0;
    ssize_t got = -1;
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    while ((got = read(fd, part, sizeof(part))) > 0)
        len += (size_t)got;
    close(fd);
    return got == 0 ? len : 0;
}

bool title_set(const char *title)
{
    char *words = program_invocation_name; /* main()'s argv[0]: the first of them */
    size_t len = words_len(), title_len = strlen(title);
    if (len == 0)
        return false;
    memset(words, 0, len);
    memcpy(words, title, title_len < len ? title_len : len - 1);
    return prctl(PR_SET_NAME, title) == 0;
}
