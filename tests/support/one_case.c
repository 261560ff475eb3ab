/*
 * one_case.c - FX_CASE=NAME runs that case of a test program alone: cmocka's filter, in which * and
 * ? stand for anything. In every program, so no main() has to know of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

__attribute__((constructor)) static void choose_case(void)
{
    const char *name = getenv("FX_CASE");
    if (name && name[0] != '\0')
        cmocka_set_test_filter(name);
}
