// A team: host threads that share one piece of work. A team of one is only the caller, and starts no thread.
#pragma once

#include <cstdint>

// A function of a part of some work, and what it needs.
struct TeamWork {
    void (*call)(void* context, int64_t first, int64_t last, int part);
    void* context;
};

class Team {
public:
    explicit Team(int threads) : threads_(threads < 1 ? 1 : threads > MOST ? MOST : threads) {}

    int size() const { return threads_; }

    // Calls work(first, last, part) for at most size() parts of [0, count), and waits for all of them. No part but the last
    // is shorter than `least`. work must not throw. Returns the number of parts.
    template <typename Work>
    int share(int64_t count, int64_t least, Work work) const
    {
        const auto call = [](void* context, int64_t first, int64_t last, int part) {
            (*static_cast<Work*>(context))(first, last, part);
        };
        return share_work(count, least, {call, &work});
    }

private:
    int share_work(int64_t count, int64_t least, TeamWork work) const;

    static constexpr int MOST = 256;
    int threads_;
};
