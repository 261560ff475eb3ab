/* patience.c - see patience.h. */
#include "tests/support/patience.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>

enum { LOOK_MS = 1000, AGAIN_MS = 50, LEASE_MOST = 5 };

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double read_crowding(void)
{
    cpu_set_t set;
    int processors = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
    double minute = 0;
    int now = 0;
    FILE *file = fopen("/proc/loadavg", "re");
    if (!file)
        return 1;
    if (fscanf(file, "%lf %*f %*f %d", &minute, &now) != 2)
        now = 0;
    fclose(file);
    double crowding = (minute > now ? minute : now) / processors;
    return crowding > 1 ? crowding : 1;
}

double fx_crowding(void)
{
    static _Thread_local double known, known_ms;
    if (known == 0 || now_ms() - known_ms > AGAIN_MS) {
        known = read_crowding();
        known_ms = now_ms();
    }
    return known;
}

bool fx_is_crowded(void)
{
    return fx_crowding() > 4;
}

int fx_patient_ms(int ms)
{
    double patient = ms < LOOK_MS ? ms : ms * fx_crowding();
    return patient < INT_MAX ? (int)patient : INT_MAX;
}

int fx_lease_ms(int ms)
{
    double crowding = fx_crowding();
    return (int)(ms * (crowding < LEASE_MOST ? crowding : LEASE_MOST));
}
