/* verify - `loadtest verify` without the rest of loadtest, for the archive: scripts/evidence. */
#include "loadtest/cli/verify.h"

int main(int argc, char **argv)
{
    return verify_files(argc, argv);
}
