// Merges and sorts any number of runs, of any kind of items, with a team of host threads.
//
// A merge of two runs is cut by co-rank, one piece a thread. More runs are cut into pieces, and the cascade of two-way merges
// of a piece stays in a core's cache. Pieces of very many runs are sorted by digits; then more runs need no more steps.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "cascade.hpp"
#include "entries.h"
#include "memory.hpp"
#include "team.hpp"

namespace merging {

constexpr int64_t LEAST_BYTES = 1 << 17;  // a thread's piece: a smaller one is merged before another thread has started
constexpr int64_t MOST_CUTS = 1 << 22;    // pieces times runs
constexpr int64_t SAMPLES = 16;           // samples of a piece; an eighth of the runs adds more

}  // namespace merging

// True if a kernel needs scratch memory. A tile of path and vector is a part of the output.
inline bool stages(const LaunchSpec& launch)
{
    return launch.kernel > VECTOR && launch.tile > 0;
}

// Merges the items of a Kind. A Kind has these members. Only reserve() may throw, and addresses are aligned to items:
//     co_rank(rank, a, m, b, n)                       the co-rank of output position `rank`
//     merge(a, m, b, n, out, launch, scratch)         scratch: room for 2 * launch.tile items if the kernel stages
//     mark(item), before(mark, mark)                  a mark says where an item belongs in the order
//     bound(items, count, mark, through)              the number of sorted items ahead of the mark; through: or equal to it
//     Sorter; reserve(sorter, items); sort_piece(sorter, items, count, out)
//                                                     sorts by digits, stably, with one thread; overwrites the items
//     PIECE_BYTES                                     the bytes of a piece; its cascade needs twice as many more
//     MOST_CASCADED                                   the most runs of a cascade; for more, sort_piece is faster
// `spare` is kept from merge to merge.
template <typename Kind>
struct Merging {
    const Kind& kind;
    int64_t width;
    const LaunchSpec& launch;
    const Team& team;
    Buffer& spare;

    // Merges the runs to out, which must share no memory with them. Equal items keep the order of the runs. Throws
    // std::bad_alloc.
    void merge(const std::vector<Run>& runs, Byte* out) const;
    // Sorts `count` items to out, stably, by merges. It knows all algorithms but SORT_RADIX. items and out must share no
    // memory, and the items do not change. sort_tiles(tile, out) sorts each tile of `tile` items to out. Throws
    // std::bad_alloc.
    template <typename SortTiles>
    void sort(const Byte* items, int64_t count, Byte* out, SortTiles sort_tiles) const;

private:
    // The bytes of scratch that a kernel needs for staging.
    int64_t scratch_bytes() const { return stages(launch) ? 2 * launch.tile * width : 0; }
    // Merges two runs. All threads share the work.
    void merge_two(Run a, Run b, Byte* out) const;
    // Does one level of a merge sort: merges neighbouring runs of `length` items in pairs. alone: one thread for each pair.
    void merge_level(const Byte* items, int64_t count, int64_t length, bool alone, Byte* out) const;
    void merge_by_passes(std::vector<Run> runs, Byte* out) const;
    void merge_by_pieces(const std::vector<Run>& runs, int64_t total, Byte* out) const;
    // Sorts items in place. `spare` has room for as many.
    void sort_halves(Byte* items, int64_t count, Byte* spare, Byte* scratch) const;
};

template <typename Kind>
void Merging<Kind>::merge_two(Run a, Run b, Byte* out) const
{
    const int64_t total = a.count + b.count;
    const int64_t parts = std::clamp<int64_t>(total * width / merging::LEAST_BYTES, 1, team.size());
    std::vector<int64_t> ranks(parts + 1), cuts(parts + 1);
    for (int64_t part = 1; part <= parts; ++part) {
        // The search is in the rest of both runs. So cuts never go backwards, even if items are not sorted.
        const int64_t i = cuts[part - 1], j = ranks[part - 1] - i;
        ranks[part] = total / parts * part + total % parts * part / parts;
        cuts[part] = i + kind.co_rank(ranks[part] - ranks[part - 1], a.items + i * width, a.count - i,
            b.items + j * width, b.count - j);
    }
    Buffer room;
    if (scratch_bytes() > 0) room.reserve(parts * scratch_bytes());
    team.share(parts, 1, [&](int64_t first, int64_t last, int) {
        for (int64_t part = first; part < last; ++part) {
            const int64_t i = cuts[part], j = ranks[part] - i;
            kind.merge(a.items + i * width, cuts[part + 1] - i, b.items + j * width, ranks[part + 1] - cuts[part + 1] - j,
                out + ranks[part] * width, launch, room.data() + part * scratch_bytes());
        }
    });
}

template <typename Kind>
void Merging<Kind>::merge_level(const Byte* items, int64_t count, int64_t length, bool alone, Byte* out) const
{
    const int64_t pairs = (count + 2 * length - 1) / (2 * length);
    const auto run_at = [&](int64_t start) {
        start = std::min(start, count);
        return Run{items + start * width, std::min(length, count - start)};
    };
    if (!alone && pairs < 4 * team.size()) {
        for (int64_t start = 0; start < count; start += 2 * length)
            merge_two(run_at(start), run_at(start + length), out + start * width);
        return;
    }
    Buffer room;
    if (scratch_bytes() > 0) room.reserve(team.size() * scratch_bytes());
    team.share(pairs, 1, [&](int64_t first, int64_t last, int part) {
        for (int64_t start = first * 2 * length; start < std::min(last * 2 * length, count); start += 2 * length) {
            const Run a = run_at(start), b = run_at(start + length);
            kind.merge(a.items, a.count, b.items, b.count, out + start * width, launch,
                room.data() + part * scratch_bytes());
        }
    });
}

template <typename Kind>
void Merging<Kind>::merge(const std::vector<Run>& all, Byte* out) const
{
    std::vector<Run> runs;
    int64_t total = 0;
    for (const Run& run : all) {
        if (run.count > 0) runs.push_back(run);
        total += run.count;
    }
    if (runs.empty()) return;
    if (runs.size() == 1) std::memcpy(out, runs[0].items, total * width);
    else if (runs.size() == 2) merge_two(runs[0], runs[1], out);
    else if (launch.kernel <= VECTOR) merge_by_pieces(runs, total, out);
    else merge_by_passes(runs, out);
}

// Merges neighbouring runs level by level, back and forth between out and spare room.
template <typename Kind>
void Merging<Kind>::merge_by_passes(std::vector<Run> runs, Byte* out) const
{
    int64_t total = 0;
    for (const Run& run : runs) total += run.count;
    int levels = 0;
    while ((size_t{1} << levels) < runs.size()) ++levels;
    Byte* const spares = spare.reserve(2 * total * width);
    for (int level = levels; level-- > 0;) {
        Byte* target = level == 0 ? out : spares + level % 2 * total * width;
        std::vector<Run> merged;
        for (size_t at = 0; at < runs.size(); at += 2) {
            const Run a = runs[at], b = at + 1 < runs.size() ? runs[at + 1] : Run{a.items, 0};
            if (b.count > 0) merge_two(a, b, target);
            else std::memcpy(target, a.items, a.count * width);
            merged.push_back({target, a.count + b.count});
            target += (a.count + b.count) * width;
        }
        runs.swap(merged);
    }
}

template <typename Kind>
void Merging<Kind>::merge_by_pieces(const std::vector<Run>& runs, int64_t total, Byte* out) const
{
    const int64_t inputs = static_cast<int64_t>(runs.size());
    const int64_t samples = merging::SAMPLES + inputs / 8;
    const int64_t piece = std::max(Kind::PIECE_BYTES / width, total / (merging::MOST_CUTS / inputs + 1));
    const int64_t pieces = (total + piece - 1) / piece;
    // A place in the merge of all runs: directly ahead of this item of this run.
    struct Splitter {
        typename Kind::Mark mark;
        int64_t run, position;
    };
    std::vector<Splitter> splitters;
    if (pieces > 1) {
        const int64_t stride = std::max<int64_t>(1, piece / samples);
        int64_t at = stride / 2;
        for (int64_t run = 0; run < inputs; at -= runs[run++].count)
            for (; at < runs[run].count; at += stride)
                splitters.push_back({kind.mark(runs[run].items + at * width), run, at});
        // It is not inlined, because std::sort would hold a score of copies.
        std::sort(splitters.begin(), splitters.end(), [&](const Splitter& x, const Splitter& y) __attribute__((noinline)) {
            if (kind.before(x.mark, y.mark)) return true;
            if (kind.before(y.mark, x.mark)) return false;
            return x.run != y.run ? x.run < y.run : x.position < y.position;
        });
    }
    // cuts[p * inputs + i]: the number of items of run i ahead of piece p.
    std::vector<int64_t> cuts((pieces + 1) * inputs), starts(pieces + 1);
    int64_t longest = 0;
    for (int64_t p = 1; p <= pieces; ++p) {
        const int64_t *const ahead = &cuts[(p - 1) * inputs];
        int64_t* const here = &cuts[p * inputs];
        const int64_t number = static_cast<int64_t>(splitters.size()) * p / pieces;
        for (int64_t run = 0; run < inputs; ++run) {
            const int64_t left = runs[run].count - ahead[run];
            if (p == pieces) here[run] = runs[run].count;
            else if (splitters[number].run == run) here[run] = std::max(ahead[run], splitters[number].position);
            else here[run] = ahead[run] + kind.bound(runs[run].items + ahead[run] * width, left, splitters[number].mark,
                run < splitters[number].run);
            starts[p] += here[run];
        }
        longest = std::max(longest, starts[p] - starts[p - 1]);
    }
    struct Room {
        Buffer other;
        typename Kind::Sorter sorter;
        std::vector<Run> runs;
        std::vector<int64_t> ends;
    };
    const int64_t parts = std::min<int64_t>(team.size(), pieces);
    std::vector<Room> rooms(parts);
    for (Room& room : rooms) {
        room.other.reserve(longest * width);
        if (inputs > Kind::MOST_CASCADED) kind.reserve(room.sorter, longest);
        room.runs.reserve(inputs);
        room.ends.reserve(inputs);
    }
    std::atomic<int64_t> next{0};
    team.share(parts, 1, [&](int64_t, int64_t, int part) {
        Room& room = rooms[part];
        for (int64_t p; (p = next++) < pieces;) {
            room.runs.clear();
            room.ends.clear();
            for (int64_t run = 0, end = 0; run < inputs; ++run) {
                const int64_t from = cuts[p * inputs + run], count = cuts[(p + 1) * inputs + run] - from;
                if (count == 0) continue;
                room.runs.push_back({runs[run].items + from * width, count});
                room.ends.push_back(end += count);
            }
            if (room.runs.empty()) continue;
            if (static_cast<int64_t>(room.runs.size()) > Kind::MOST_CASCADED) {
                Byte* to = room.other.data();
                for (const Run& run : room.runs) {
                    std::memcpy(to, run.items, run.count * width);
                    to += run.count * width;
                }
                kind.sort_piece(room.sorter, room.other.data(), room.ends.back(), out + starts[p] * width);
                continue;
            }
            const Cascade<Kind> cascade{kind, width, launch, room.runs.data(), room.ends.data()};
            const int64_t inputs_here = static_cast<int64_t>(room.runs.size());
            Byte* const target = out + starts[p] * width;
            const Byte* const merged = cascade.merge(0, inputs_here, target, room.other.data());
            if (merged != target) std::memcpy(target, merged, room.ends.back() * width);
        }
    });
}

template <typename Kind>
void Merging<Kind>::sort_halves(Byte* items, int64_t count, Byte* spare, Byte* scratch) const
{
    if (count < 2) return;
    const int64_t half = count / 2;
    Byte *const back = items + half * width, *const back_spare = spare + half * width;
    sort_halves(items, half, spare, scratch);
    sort_halves(back, count - half, back_spare, scratch);
    std::memcpy(spare, items, count * width);
    kind.merge(spare, half, back_spare, count - half, items, launch, scratch);
}

template <typename Kind>
template <typename SortTiles>
void Merging<Kind>::sort(const Byte* items, int64_t count, Byte* out, SortTiles sort_tiles) const
{
    const int64_t nbytes = count * width;
    if (count == 0) return;
    if (launch.algorithm == SORT_RECURSIVE) {
        Buffer scratch;
        std::memcpy(out, items, nbytes);
        return sort_halves(out, count, spare.reserve(nbytes), scratch.reserve(scratch_bytes()));
    }
    const int64_t tile = std::max<int64_t>(1, launch.sort_tile);
    int levels = 0;
    for (int64_t length = tile; length < count; length *= 2) ++levels;
    Byte* other = levels > 0 ? spare.reserve(nbytes) : nullptr;
    Byte* here = levels % 2 == 0 ? out : std::exchange(other, out);
    if (tile > 1) sort_tiles(tile, here);
    else std::memcpy(here, items, nbytes);
    for (int64_t length = tile; length < count; length *= 2) {
        merge_level(here, count, length, launch.algorithm == SORT_ITERATIVE, other);
        std::swap(here, other);
    }
}
