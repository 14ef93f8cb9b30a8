// A team: host threads that share one piece of work. A team of one is only the caller, and starts no thread.
#pragma once

#include <pthread.h>

#include <cstdint>

class Team {
public:
    explicit Team(int threads) : threads_(threads < 1 ? 1 : threads > MOST ? MOST : threads) {}

    int size() const { return threads_; }

    // Calls work(first, last, part) for at most size() parts of [0, count), and waits for all of them. No part but the last
    // is shorter than `least`. work must not throw. Returns the number of parts.
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
        // The caller does its own part, and the parts of threads that the system could not start.
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
