// The command `gpumerge`: runs gpumerge-start, which lies beside it, with SIGINT held back.
//
// While Python starts, before any line of the program runs, its own handler of SIGINT ends in a traceback. Held back,
// the signal waits until the program has set its handlers and lets it through. That needs to know that the mask is not
// one that the parent process set: the variable below then holds this process's number, which exec does not change.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

namespace {

constexpr char MARK[] = "_GPUMERGE_HELD_SIGINT";
constexpr char SUFFIX[] = "-start";
constexpr int LONGEST = 4096;

int fail(const char* place, const char* what) {
    fprintf(stderr, "gpumerge: %s: %s; install gpumerge again\n", place, what);
    return 2;
}

}  // namespace

int main(int, char** arguments) {
    sigset_t held, before;
    sigemptyset(&held);
    sigaddset(&held, SIGINT);
    sigprocmask(SIG_BLOCK, &held, &before);

    static char start[LONGEST + sizeof SUFFIX];
    if (readlink("/proc/self/exe", start, LONGEST) < 0) {  // no /proc is mounted
        const char* given = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
        if (given == nullptr || realpath(given, start) == nullptr) return fail(arguments[0], strerror(errno));
    }
    strcpy(start + strlen(start), SUFFIX);

    static char number[16];
    snprintf(number, sizeof number, "%d", getpid());
    if (sigismember(&before, SIGINT) == 0 && setenv(MARK, number, 1) != 0) return fail(start, strerror(errno));
    execv(start, arguments);
    return fail(start, strerror(errno));
}
