/* Measures how much processor time each turn of an event loop takes: from the end of a wait for events to the beginning
 * of the next one. Loaded into a server with LD_PRELOAD; the results are shared through the file TURNS_FILE.
 *
 * Processor time is that of the thread alone: other processes on the machine do not count, and neither does a wait for
 * the disk. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct turns {
    uint64_t count;
    uint64_t longest_ns; /* zeroed by the reader */
};

typedef int (*epoll_pwait_function)(int, struct epoll_event *, int, int, const sigset_t *);

static struct turns *turns;
static epoll_pwait_function real_epoll_pwait;
static uint64_t begun_ns;

static uint64_t thread_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

__attribute__((constructor)) static void share(void)
{
    const char *path = getenv("TURNS_FILE");
    int file = path ? open(path, O_RDWR) : -1;
    real_epoll_pwait = (epoll_pwait_function)dlsym(RTLD_NEXT, "epoll_pwait");
    if (file >= 0) {
        void *mapped = mmap(NULL, sizeof(struct turns), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        turns = mapped == MAP_FAILED ? NULL : mapped;
        close(file);
    }
}

int epoll_pwait(int epoll, struct epoll_event *events, int events_max, int timeout_ms, const sigset_t *signals)
{
    int is_loop = turns && gettid() == getpid();
    if (is_loop && begun_ns) {
        uint64_t taken_ns = thread_ns() - begun_ns;
        turns->count++;
        if (taken_ns > turns->longest_ns)
            turns->longest_ns = taken_ns;
    }
    int found = real_epoll_pwait(epoll, events, events_max, timeout_ms, signals);
    if (is_loop)
        begun_ns = thread_ns();
    return found;
}

int epoll_wait(int epoll, struct epoll_event *events, int events_max, int timeout_ms)
{
    return epoll_pwait(epoll, events, events_max, timeout_ms, NULL);
}
