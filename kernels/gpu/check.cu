// Finds the first disorder of a run, or any, the first line with an invalid key, and the items that a rule for equals keeps.
#include "../corank.cuh"
#include "../places.cuh"
#include "sizes.cuh"

// Lowers *first to the least base + i for which run[i] goes before run[i - 1] or, with `strict`, does not go after it. All
// bits of *first must be 1 at the start.
// Any grid: threads stride over the run.
extern "C" __global__ void __launch_bounds__(MAX_BLOCK_SIZE) check_order(
    const Item* run, long long count, long long base, long long strict, unsigned long long* first,
    const unsigned char* text, const long long* starts)
{
    const Lines lines{text, starts};
    const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x + 1; i < count; i += stride) {
        if (strict ? !before(run[i - 1], run[i], lines) : before(run[i], run[i - 1], lines)) {
            atomicMin(first, static_cast<unsigned long long>(base + i));
            return;  // all further items of this thread lie behind this one
        }
    }
}

// *found becomes 1 if any item of a run goes before the item ahead of it. It may lie in the host's memory.
// Any grid: threads stride over the run.
extern "C" __global__ void __launch_bounds__(MAX_BLOCK_SIZE) any_disorder(
    const Item* run, long long count, long long* found, const unsigned char* text, const long long* starts)
{
    const Lines lines{text, starts};
    const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x + 1; i < count; i += stride) {
        if (!before(run[i], run[i - 1], lines)) continue;
        *found = 1;
        return;
    }
}

#if ROWS && !RECORD_SIZE

// Lowers *first to the least line of which a key is invalid that has the flag CHECKED. All bits of *first must be 1 at the start.
// Any grid: threads stride over the lines.
extern "C" __global__ void __launch_bounds__(MAX_BLOCK_SIZE) check_values(
    const unsigned char* text, const long long* starts, long long count, unsigned long long* first)
{
    const Lines lines{text, starts};
    const LineOrder& order = order_of(lines);
    const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long line = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; line < count; line += stride) {
        const Text here = text_of(lines, line);
        if (!is_at_fault(order, FieldMarks(order, here), 0)) continue;
        atomicMin(first, static_cast<unsigned long long>(line));
        return;  // all further lines of this thread lie behind this one
    }
}

#endif

// keeps[i] becomes 1 where `equals`, a rule of places, keeps items[i] of the sorted items, else 0. An item is compared with a
// neighbour only if that decides anything.
// Any grid: threads stride over the items.
extern "C" __global__ void __launch_bounds__(MAX_BLOCK_SIZE) mark_places(
    const Item* items, long long count, long long equals, unsigned char* keeps,
    const unsigned char* text, const long long* starts)
{
    const Lines lines{text, starts};
    const Equals rule = static_cast<Equals>(equals);
    const bool by_ahead = stays(rule, false, false) != stays(rule, true, false) || stays(rule, false, true) != stays(rule, true, true);
    const bool by_behind = stays(rule, false, false) != stays(rule, false, true) || stays(rule, true, false) != stays(rule, true, true);
    const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride) {
        const bool ahead = i == 0 ? (rule & CONTINUED) != 0 : by_ahead && !before(items[i - 1], items[i], lines);
        const bool behind = i + 1 == count ? (rule & FOLLOWED) != 0 : by_behind && !before(items[i], items[i + 1], lines);
        keeps[i] = static_cast<unsigned char>(stays(rule, ahead, behind));
    }
}
