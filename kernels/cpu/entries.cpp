// The entries of workspaces and arrays that entries.h declares. They call C++ code, and return status codes.
#include "entries.h"

#include <cstring>
#include <new>
#include <vector>

#include "keys_sort.hpp"
#include "pairs.hpp"
#include "workspace.hpp"

namespace {

// The result of work(); NO_MEMORY if memory runs out.
template <typename Work>
int64_t guarded(Work work)
{
    try {
        return work();
    } catch (const std::bad_alloc&) {
        return NO_MEMORY;
    }
}

// An array of items at an aligned address: the given array, or a copy if its address is not aligned.
class Aligned {
public:
    Aligned(const Byte* items, int64_t nbytes, int64_t width) : at_(items)
    {
        if (reinterpret_cast<uintptr_t>(items) % width == 0) return;
        at_ = copy_.reserve(nbytes);
        if (nbytes > 0) std::memcpy(copy_.data(), items, nbytes);
    }

    const Byte* data() const { return at_; }

private:
    const Byte* at_;
    Buffer copy_;
};

// Arrays of items at aligned addresses.
struct AlignedRuns {
    std::vector<Run> runs;
    int64_t nbytes = 0;

    AlignedRuns(const Byte* const* arrays, const int64_t* counts, int64_t inputs, int64_t width)
    {
        for (int64_t run = 0; run < inputs; ++run) {
            copies_.push_back(std::make_unique<Aligned>(arrays[run], counts[run] * width, width));
            runs.push_back({copies_.back()->data(), counts[run]});
            nbytes += counts[run] * width;
        }
    }

private:
    std::vector<std::unique_ptr<Aligned>> copies_;
};

// Calls work(out). If `out` is not aligned to items, work writes to an aligned copy, which is moved to `out`.
template <typename Work>
void with_aligned(Byte* out, int64_t nbytes, int64_t width, Work work)
{
    if (reinterpret_cast<uintptr_t>(out) % width == 0) return work(out);
    Buffer room;
    work(room.reserve(nbytes));
    if (nbytes > 0) std::memcpy(out, room.data(), nbytes);
}

// Calls work(merging) with the object that merges keys of this order.
template <typename Work>
int64_t with_keys(const OrderSpec& order, const LaunchSpec& launch, int64_t threads, Work work)
{
    return guarded([&] {
        const Team team(static_cast<int>(threads));
        Buffer spare;
        work(KeyMerge{order, *key_functions(order), order.width, launch, team, spare});
        return DONE;
    });
}

int64_t smallest(int64_t x, int64_t y, int64_t z)
{
    const int64_t both = x < y ? x : y;
    return both < z ? both : z;
}

}  // namespace

Workspace* gm_open(const OrderSpec* order, int64_t capacity, int64_t threads)
{
    Workspace* opened = nullptr;
    guarded([&] {
        std::unique_ptr<Workspace> workspace = make_workspace(*order, static_cast<int>(threads));
        if (workspace != nullptr) {
            workspace->staging.reserve(capacity);
            workspace->capacity = capacity;
        }
        opened = workspace.release();
        return DONE;
    });
    return opened;
}

void gm_close(Workspace* workspace) { delete workspace; }

void gm_margin(Workspace* workspace, const Margin* margin) { workspace->margin = *margin; }

unsigned char* gm_staging(Workspace* workspace, int64_t nbytes)
{
    unsigned char* staging = nullptr;
    guarded([&] {
        staging = workspace->staging.reserve(nbytes);
        return DONE;
    });
    return staging;
}

int64_t gm_upload(Workspace* workspace, const int64_t* lengths, int64_t runs)
{
    return guarded([&] {
        workspace->upload(lengths, runs);
        return DONE;
    });
}

void gm_counts(Workspace* workspace, int64_t* counts) { workspace->counts(counts); }

int64_t gm_disorder(Workspace* workspace, int64_t strict, Failure* failure)
{
    return guarded([&] { return workspace->in_order(strict != 0, *failure) ? DONE : DISORDER; });
}

int64_t gm_fault(Workspace* workspace, Failure* failure)
{
    return guarded([&] { return workspace->find_fault(*failure) ? DISORDER : DONE; });
}

int64_t gm_merge(Workspace* workspace, const LaunchSpec* launch, int64_t equals)
{
    return guarded([&] {
        workspace->merge(*launch, static_cast<Equals>(equals));
        return DONE;
    });
}

int64_t gm_sort(Workspace* workspace, const LaunchSpec* launch, int64_t equals)
{
    return guarded([&] {
        workspace->sort(*launch, static_cast<Equals>(equals));
        return DONE;
    });
}

int64_t gm_sort_rows(Workspace* workspace, const LaunchSpec* launch, int64_t equals)
{
    return guarded([&] {
        workspace->sort_rows(*launch, static_cast<Equals>(equals));
        return DONE;
    });
}

unsigned char* gm_result(Workspace* workspace, int64_t* nbytes, int64_t* items)
{
    if (nbytes != nullptr) *nbytes = workspace->result_bytes;
    if (items != nullptr) *items = workspace->result_items;
    return const_cast<unsigned char*>(workspace->result);
}

int64_t gm_bytes_ahead(const Workspace* workspace, int64_t items) { return workspace->bytes_ahead(items); }

int64_t* gm_equals(Workspace* workspace)
{
    return workspace->margin.kind >= COUNT_APART ? workspace->group_sizes.data() : nullptr;
}

void gm_receive(Workspace* workspace, int64_t position, int64_t nbytes, unsigned char* out)
{
    workspace->receive(position, nbytes, out);
}

int64_t gm_merge_arrays(const OrderSpec* order, const LaunchSpec* launch, const unsigned char* const* runs,
    const int64_t* counts, int64_t inputs, unsigned char* out, int64_t threads)
{
    return with_keys(*order, *launch, threads, [&](const KeyMerge& merging) {
        const AlignedRuns aligned(runs, counts, inputs, order->width);
        with_aligned(out, aligned.nbytes, order->width, [&](Byte* to) { merging.merge(aligned.runs, to); });
    });
}

int64_t gm_merge_pairs(const OrderSpec* order, const LaunchSpec* launch, const unsigned char* const* runs,
    const unsigned char* const* values, const int64_t* counts, int64_t inputs, int64_t value_bytes, unsigned char* out,
    unsigned char* out_values, int64_t threads)
{
    return guarded([&] {
        const AlignedRuns aligned(runs, counts, inputs, order->width);
        std::vector<PairRun> pairs;
        for (int64_t run = 0; run < inputs; ++run) pairs.push_back({aligned.runs[run].items, values[run], counts[run]});
        const Team team(static_cast<int>(threads));
        const PairMerge merging{*order, *key_functions(*order), *launch, value_bytes, team};
        with_aligned(out, aligned.nbytes, order->width, [&](Byte* to) { merging.merge(pairs, to, out_values); });
        return DONE;
    });
}

int64_t gm_combine_arrays(const OrderSpec* order, const LaunchSpec* launch, const unsigned char* const* runs,
    const int64_t* counts, int64_t inputs, int64_t equals, unsigned char* out, int64_t* kept, int64_t threads)
{
    return with_keys(*order, *launch, threads, [&](const KeyMerge& merging) {
        const AlignedRuns aligned(runs, counts, inputs, order->width);
        const KeySets kind{merging.keys, *launch};
        Buffer distinct;
        const Combining<KeySets> combining{kind, order->width, merging.team, merging.spare, distinct};
        with_aligned(out, aligned.nbytes, order->width, [&](Byte* to) {
            const Run found = combining.combine(aligned.runs, static_cast<Equals>(equals), to);
            if (found.items != to && found.count > 0)
                std::memcpy(to, found.items, static_cast<size_t>(found.count * order->width));
            *kept = found.count;
        });
    });
}

int64_t gm_sort_array(const OrderSpec* order, const LaunchSpec* launch, const unsigned char* items, int64_t count,
    unsigned char* out, int64_t threads)
{
    return with_keys(*order, *launch, threads, [&](const KeyMerge& merging) {
        const int64_t nbytes = count * order->width;
        const Aligned aligned(items, nbytes, order->width);
        with_aligned(out, nbytes, order->width,
            [&](Byte* to) { sort_keys(merging, aligned.data(), count, to); });
    });
}

int64_t gm_sort_ranks(const OrderSpec* order, const LaunchSpec* launch, const unsigned char* items, int64_t count,
    int64_t* ranks, int64_t threads)
{
    return with_keys(*order, *launch, threads, [&](const KeyMerge& merging) {
        const Aligned aligned(items, count * order->width, order->width);
        with_aligned(reinterpret_cast<Byte*>(ranks), count * 8, 8,
            [&](Byte* to) { sort_key_ranks(merging, aligned.data(), count, reinterpret_cast<int64_t*>(to)); });
    });
}

int64_t gm_select(const OrderSpec* order, const unsigned char* items, int64_t count, const unsigned char* bound,
    int64_t selects, int64_t* indices, int64_t room, int64_t* found, int64_t threads)
{
    return guarded([&] {
        const Aligned aligned(items, count * order->width, order->width);
        const KeyFunctions& keys = *key_functions(*order);
        const Team team(static_cast<int>(threads));
        // The first part writes to the output itself. Others write to memory of their own, as far as a part may need it: parts
        // are as many as the team's threads, or else shorter than two times LEAST.
        constexpr int64_t LEAST = 1 << 16;
        const int64_t each = smallest(count / team.size() + 2 * LEAST, room, count);
        const int64_t most = smallest(count / LEAST, team.size(), count);
        std::vector<Room<int64_t>> rooms(static_cast<size_t>(most));
        for (int64_t part = 1; part < most; ++part) rooms[static_cast<size_t>(part)].reserve(static_cast<size_t>(each));
        std::vector<int64_t> counts(static_cast<size_t>(team.size()));
        const int parts = team.share(count, LEAST, [&](int64_t first, int64_t last, int part) {
            int64_t* const to = part == 0 ? indices : rooms[static_cast<size_t>(part)].data();
            counts[static_cast<size_t>(part)] =
                keys.select(aligned.data(), first, last, bound, selects, to, part == 0 ? room : each);
        });
        *found = 0;
        for (int part = 0; part < parts; ++part) {
            const int64_t here = counts[static_cast<size_t>(part)], kept = smallest(here, room - *found, here);
            if (part > 0 && kept > 0)
                std::memcpy(indices + *found, rooms[static_cast<size_t>(part)].data(), static_cast<size_t>(kept * 8));
            *found += here;
        }
        return DONE;
    });
}

int64_t gm_asof(const OrderSpec* order, const ArrayAsofSpec* spec, int64_t* indices, int64_t threads)
{
    return guarded([&] {
        const Aligned a(spec->a, spec->a_count * order->width, order->width);
        const Aligned b(spec->b, spec->b_count * order->width, order->width);
        ArrayAsofSpec aligned = *spec;
        aligned.a = a.data();
        aligned.b = b.data();
        const KeyFunctions& keys = *key_functions(*order);
        const Team team(static_cast<int>(threads));
        team.share(spec->a_count, 1 << 14, [&](int64_t first, int64_t last, int) { keys.asof(aligned, first, last, indices); });
        return DONE;
    });
}

int64_t gm_vector_bytes(const OrderSpec* order)
{
    const KeyFunctions* const keys = key_functions(*order);
    return keys == nullptr ? 0 : keys->vector_bytes;
}

int64_t gm_first_disorder(const OrderSpec* order, const unsigned char* items, int64_t count, int64_t strict)
{
    if (reinterpret_cast<uintptr_t>(items) % order->width == 0)
        return key_functions(*order)->first_disorder(items, 0, count, strict != 0);
    // Works on one small stretch at a time, because this entry has no status to report missing memory.
    alignas(8) Byte stretch[1 << 13];
    const int64_t held = sizeof stretch / order->width;
    for (int64_t first = 0; first < count - 1; first += held - 1) {
        const int64_t here = count - first < held ? count - first : held;
        std::memcpy(stretch, items + first * order->width, here * order->width);
        const int64_t found = key_functions(*order)->first_disorder(stretch, 0, here, strict != 0);
        if (found >= 0) return first + found;
    }
    return -1;
}
