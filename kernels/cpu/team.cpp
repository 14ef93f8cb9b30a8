// Threads that share work. The templates of team.hpp call this one function, so that none of them holds a copy of it.
#include "team.hpp"

#include <pthread.h>

namespace {

struct Part {
    TeamWork work;
    int64_t first, last;
    int number;
    bool started;
    pthread_t thread;

    static void* run(void* one)
    {
        const Part& part = *static_cast<Part*>(one);
        part.work.call(part.work.context, part.first, part.last, part.number);
        return nullptr;
    }
};

}  // namespace

int Team::share_work(int64_t count, int64_t least, TeamWork work) const
{
    const int64_t most = count / (least < 1 ? 1 : least);
    const int parts = most < 1 ? 1 : most > threads_ ? threads_ : static_cast<int>(most);
    Part all[MOST];
    int64_t first = 0;
    for (int number = 0; number < parts; ++number) {
        const int64_t last = first + count / parts + (number < count % parts);
        all[number] = {work, first, last, number, false, {}};
        first = last;
    }
    for (int number = 1; number < parts; ++number)
        all[number].started = pthread_create(&all[number].thread, nullptr, Part::run, &all[number]) == 0;
    // The caller does its own part, and the parts of threads that the system could not start.
    for (int number = 0; number < parts; ++number)
        if (!all[number].started) Part::run(&all[number]);
    for (int number = 1; number < parts; ++number)
        if (all[number].started) pthread_join(all[number].thread, nullptr);
    return parts;
}
