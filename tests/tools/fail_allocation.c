// Makes one allocation of a program fail, that of the number in FAIL_ALLOCATION, from 1 on. Where that
// is 0, none fails, and the last line on standard error says how many there were. For LD_PRELOAD.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static atomic_long count;
static long which = -1;

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);

static int fails(void) {
  if (which < 0) return 0;
  if (atomic_fetch_add(&count, 1) + 1 != which) return 0;
  errno = ENOMEM;
  return 1;
}

void *malloc(size_t size) { return fails() ? NULL : __libc_malloc(size); }
void *calloc(size_t n, size_t size) { return fails() ? NULL : __libc_calloc(n, size); }
void *realloc(void *p, size_t size) { return fails() ? NULL : __libc_realloc(p, size); }

__attribute__((constructor)) static void begin(void) {
  const char *text = getenv("FAIL_ALLOCATION");
  if (text != NULL) which = atol(text);
  unsetenv("LD_PRELOAD");  // not in what the program starts
}
__attribute__((destructor)) static void end(void) {
  if (which == 0) fprintf(stderr, "allocations: %ld\n", atomic_load(&count));
}
