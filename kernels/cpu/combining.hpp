// Sets of any number of sorted runs, of any kind of items: see ../sets.cuh.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "cascade.hpp"
#include "entries.h"
#include "memory.hpp"
#include "merging.hpp"
#include "team.hpp"

// Combines the items of a Kind. A Kind has these members. Addresses are aligned to items:
//     walk(a, m, b, n, out, equals)         the number of items that went out
//     walk_cut(rank, a, m, b, n, passed)    passed[0] and passed[1] become those of sets.cuh
//     drop_equals(items, count)             see KeyFunctions
// spare, distinct: kept from one set to the next.
template <typename Kind>
struct Combining {
    const Kind& kind;
    int64_t width;
    const Team& team;
    Buffer& spare;
    Buffer& distinct;

    // The items that go out of the runs. They lie in `out`, which has room for all items, in a run, or in a buffer. More
    // than two runs are folded from the left. Throws std::bad_alloc.
    Run combine(std::vector<Run> runs, Equals equals, Byte* out) const
    {
        if (!leave_out_empty(runs, equals)) return {out, 0};
        std::vector<int64_t> starts(1, 0);
        for (const Run& run : runs) starts.push_back(starts.back() + run.count);
        if (equals & DISTINCT) keep_distinct(runs, starts);
        Byte* const other = runs.size() > 2 ? spare.reserve(static_cast<size_t>(starts.back() * width)) : nullptr;
        return fold({runs.data(), starts.data(), equals}, 0, static_cast<int64_t>(runs.size()), out, other);
    }

private:
    struct Task {
        const Run* runs;
        const int64_t* starts;
        Equals equals;
    };

    static constexpr unsigned UNION = EQUAL | ONLY_A | ONLY_B;

    // Whether any item can go out. Leaves out empty runs where they change nothing.
    static bool leave_out_empty(std::vector<Run>& runs, Equals equals)
    {
        const auto is_empty = [](const Run& run) { return run.count == 0; };
        const bool needs_first = (equals & ONLY_B) == 0, needs_all = (equals & ONLY_A) == 0;
        if (runs.empty() || (needs_first && is_empty(runs[0]))) return false;
        if (needs_all && !needs_first) return true;
        if (needs_all && std::any_of(runs.begin(), runs.end(), is_empty)) return false;
        runs.erase(std::remove_if(runs.begin(), runs.end(), is_empty), runs.end());
        return !runs.empty();
    }

    void keep_distinct(std::vector<Run>& runs, const std::vector<int64_t>& starts) const
    {
        Byte* const copies = distinct.reserve(static_cast<size_t>(starts.back() * width));
        team.share(static_cast<int64_t>(runs.size()), 1, [&](int64_t first, int64_t last, int) {
            for (int64_t at = first; at < last; ++at) {
                Run& run = runs[static_cast<size_t>(at)];
                Byte* const copy = copies + starts[static_cast<size_t>(at)] * width;
                if (run.count > 0) std::memcpy(copy, run.items, static_cast<size_t>(run.count * width));
                run = {copy, kind.drop_equals(copy, run.count)};
            }
        });
    }

    // The runs [first, last). The result of a union is the same in whatever order its runs are taken, so halves are joined.
    Run fold(const Task& task, int64_t first, int64_t last, Byte* target, Byte* other) const
    {
        if (last - first == 1) return task.runs[first];
        const int64_t middle = (task.equals & UNION) == UNION ? first + (last - first) / 2 : last - 1;
        const Run a = fold(task, first, middle, other, target), b = fold(task, middle, last, other, target);
        return two(a, b, task.equals, target + task.starts[first] * width);
    }

    Run two(Run a, Run b, Equals equals, Byte* out) const
    {
        const int64_t total = a.count + b.count;
        const int64_t parts = std::clamp<int64_t>(total * width / merging::LEAST_BYTES, 1, team.size());
        if (parts == 1) return {out, kind.walk(a.items, a.count, b.items, b.count, out, equals)};
        struct Piece {
            int64_t i = 0, j = 0, count = 0;
        };
        std::vector<Piece> pieces(static_cast<size_t>(parts) + 1);
        for (int64_t part = 1; part < parts; ++part) {
            const Piece& last = pieces[static_cast<size_t>(part) - 1];
            const int64_t m = a.count - last.i, n = b.count - last.j;
            const int64_t rank = std::clamp<int64_t>(total / parts * part - last.i - last.j, 0, m + n);
            int64_t passed[2];
            kind.walk_cut(rank, a.items + last.i * width, m, b.items + last.j * width, n, passed);
            pieces[static_cast<size_t>(part)] = {last.i + passed[0], last.j + passed[1], 0};
        }
        pieces.back() = {a.count, b.count, 0};
        team.share(parts, 1, [&](int64_t first, int64_t last, int) {
            for (int64_t part = first; part < last; ++part) {
                Piece& here = pieces[static_cast<size_t>(part)];
                const Piece& next = pieces[static_cast<size_t>(part) + 1];
                here.count = kind.walk(a.items + here.i * width, next.i - here.i, b.items + here.j * width, next.j - here.j,
                    out + (here.i + here.j) * width, equals);
            }
        });
        int64_t count = 0;
        for (int64_t part = 0; part < parts; ++part) {
            const Piece& here = pieces[static_cast<size_t>(part)];
            const int64_t at = here.i + here.j;
            if (at != count) std::memmove(out + count * width, out + at * width, static_cast<size_t>(here.count * width));
            count += here.count;
        }
        return {out, count};
    }
};
