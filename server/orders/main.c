/* main.c - flashsale-orders: brings what a flash sale has sold into a database. */
#include <stdio.h>
#include <string.h>

static const char help[] =
    "flashsale-orders - keep a database's orders those of flashsale's ledger\n"
    "\n"
    "usage:\n"
    "  flashsale-orders follow --from URL[,URL...] --to DATABASE [options]\n"
    "  flashsale-orders check --from URL[,URL...] --to DATABASE [options]\n"
    "  flashsale-orders export --csv --to DATABASE [--item ITEM] [--sale SALE]\n"
    "\n"
    "  --version                  print the version\n"
    "  -h, --help                 print this\n"
    "\n"
    "Exit codes:\n"
    "  0   done\n"
    "  1   check found differences\n"
    "  64  a mistake in options or environment\n"
    "  69  the database or the instances can not be reached\n"
    "\n"
    "Example: flashsale-orders follow --from http://127.0.0.1:7000 --to sqlite:orders.db\n";

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[argc - 1], "--version") == 0) {
        printf("flashsale-orders %s\n", FLASHSALE_VERSION);
        return 0;
    }
    if (argc > 1 && (strcmp(argv[argc - 1], "--help") == 0 || strcmp(argv[argc - 1], "-h") == 0)) {
        fputs(help, stdout);
        return 0;
    }
    fputs("flashsale-orders: not there yet\n", stderr);
    return 64;
}
