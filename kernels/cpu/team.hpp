// Host threads that share one piece of work; a team of one is the caller alone and starts no thread.
#pragma once

#include <pthread.h>

#include <cstdint>

class Team {
public:
    explicit Team(int threads) : threads_(threads < 1 ? 1 : threads > MOST ? MOST : threads) {}

    int size() const { return threads_; }

    // Calls work(first, last, part) for `size()` parts of [0, count), or fewer, none shorter than `least` but the last;
    // returns when all are done. work must not throw. Returns the number of parts.
    template <typename Work>
    int share(int64_t count, int64_t least, Work work) const
    {
        struct Part {
            Work* work;
            int64_t first, last;
            int number;
            bool started;
            pthread_t thread;
            static void* run(void* one)
            {
                Part& part = *static_cast<Part*>(one);
                (*part.work)(part.first, part.last, part.number);
                return nullptr;
            }
        };
        const int64_t most = count / (least < 1 ? 1 : least);
        const int parts = most < 1 ? 1 : most > threads_ ? threads_ : static_cast<int>(most);
        Part all[MOST];
        int64_t first = 0;
        for (int number = 0; number < parts; ++number) {
            const int64_t last = first + count / parts + (number < count % parts);
            all[number] = {&work, first, last, number, false, {}};
            first = last;
        }
        for (int number = 1; number < parts; ++number)
            all[number].started = pthread_create(&all[number].thread, nullptr, Part::run, &all[number]) == 0;
        // The caller does its part, and those of threads that the system has no room for.
        for (int number = 0; number < parts; ++number)
            if (!all[number].started) Part::run(&all[number]);
        for (int number = 1; number < parts; ++number)
            if (all[number].started) pthread_join(all[number].thread, nullptr);
        return parts;
    }

private:
    static constexpr int MOST = 256;
    int threads_;
};
