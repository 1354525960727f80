// Makes one allocation of a program fail, that of the number in FAIL_ALLOCATION, from 1 on. Where that
// is 0, none fails, and the last line on standard error says how many there were. The library that
// asked for the memory that failed is written into the file FAIL_ALLOCATION_CALLER. For LD_PRELOAD.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_long count;
static long which = -1;

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);

static void name_library(void *caller) {
  const char *path = getenv("FAIL_ALLOCATION_CALLER");
  Dl_info of;
  if (path == NULL || dladdr(caller, &of) == 0) return;
  const int file = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0644);
  if (file < 0 || write(file, of.dli_fname, strlen(of.dli_fname)) < 0) abort();
  close(file);
}

static int fails(void *caller) {
  if (which < 0) return 0;
  if (atomic_fetch_add(&count, 1) + 1 != which) return 0;
  name_library(caller);
  errno = ENOMEM;
  return 1;
}

#define FAILS fails(__builtin_return_address(0))
void *malloc(size_t size) { return FAILS ? NULL : __libc_malloc(size); }
void *calloc(size_t n, size_t size) { return FAILS ? NULL : __libc_calloc(n, size); }
void *realloc(void *p, size_t size) { return FAILS ? NULL : __libc_realloc(p, size); }
char *strdup(const char *text) {  // libc's own asks for memory in the name of libc
  const size_t size = strlen(text) + 1;
  return FAILS ? NULL : memcpy(__libc_malloc(size), text, size);
}

__attribute__((constructor)) static void begin(void) {
  const char *text = getenv("FAIL_ALLOCATION");
  if (text != NULL) which = atol(text);
  unsetenv("LD_PRELOAD");  // not in what the program starts
}
__attribute__((destructor)) static void end(void) {
  if (which == 0) fprintf(stderr, "allocations: %ld\n", atomic_load(&count));
}
