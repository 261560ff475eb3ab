/*
 * verify.h - `loadtest verify`: judges recorded histories, each by itself.
 */
#ifndef LOADTEST_VERIFY_H
#define LOADTEST_VERIFY_H

/* Judges the files of the command line, whose first word is "verify", and prints the findings.
 * Returns the exit code: 1 the worst is a broken promise, 3 something proves nothing or can not
 * be read, 64 usage. */
int verify_files(int argc, char **argv);

#endif
