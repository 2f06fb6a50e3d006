/* Runs a kernel on memory that a file describes, and writes what the memory is afterwards. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int KERNEL(void **, void **, void *, void *);

static int64_t number(void) {
    int64_t value;
    if (fread(&value, sizeof value, 1, stdin) != 1) exit(9);
    return value;
}

int main(void) {
    int64_t n = number(), *size = malloc(8 * n), *end;
    char **memory = malloc(8 * n);
    void *nothing = NULL, *error = NULL;
    for (int64_t i = 0; i < n; i++) {
        memory[i] = malloc((size[i] = number()) + 64);
        if (fread(memory[i], 1, size[i], stdin) != (size_t)size[i]) exit(9);
    }
    /* the first memory is the arguments; here are its pointers to the others */
    for (int64_t left = number(); left; left--) {
        int64_t where = number(), to = number();
        *(char **)(memory[0] + where) = memory[to] + number();
    }
    int status = KERNEL(&nothing, &error, memory[0], malloc(64));
    for (int64_t i = 1; i < n; i++) fwrite(memory[i], 1, size[i], stdout);
    return status == 0 || status == -2 ? 0 : 1;
}
