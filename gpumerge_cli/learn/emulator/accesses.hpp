// Sees each access of a kernel: whether it is within an array, was written before, and is free of races.
#pragma once

#include <string.h>
#include <sys/mman.h>

#include "state.hpp"

namespace emulator {
namespace {

void* mapped(Address bytes)
{
    void* const place = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (place == MAP_FAILED) {
        fputs("no memory\n", stderr);
        _exit(4);
    }
    return place;
}

Array& add_array(const char* name, Address bytes, unsigned item, bool shared)
{
    if (array_count == MOST_ARRAYS) stop("arrays", "");
    Array& made = arrays[array_count++];
    strncpy(made.name, name, sizeof made.name - 1);
    made.shared = shared;
    made.bytes = bytes;
    made.item = item;
    made.begin = static_cast<char*>(mapped(bytes + 2 * GUARD)) + GUARD;
    memset(made.begin, UNWRITTEN, bytes);
    made.places = static_cast<Place*>(mapped((bytes / item + 1) * sizeof(Place)));
    for (Address number = 0; number <= bytes / item; ++number) made.places[number] = Place();
    return made;
}

void remove_array(Array& array)
{
    munmap(array.begin - GUARD, array.bytes + 2 * GUARD);
    munmap(array.places, (array.bytes / array.item + 1) * sizeof(Place));
    array = Array();
}

void mark_written(Array& array)
{
    for (Address number = 0; number < array.bytes / array.item; ++number) array.places[number].written = true;
}

bool in_one_warp(int one, int other) { return one / WARP == other / WARP; }

bool race(const Access& before, const Access& now)
{
    if (before.thread < 0 || (before.atomic && now.atomic)) return false;
    if (before.block != now.block) return true;
    if (before.thread == now.thread || before.barriers != now.barriers) return false;
    return !in_one_warp(before.thread, now.thread) || before.warp_barriers == now.warp_barriers;
}

[[noreturn]] void outside(const Array& array, Address at, bool writes, Address code)
{
    char rest[400];
    const long place = static_cast<long>(at) - reinterpret_cast<long>(array.begin);
    const long item = array.item, index = place >= 0 ? place / item : -((item - 1 - place) / item);
    snprintf(rest, sizeof rest, "%d %s %s %ld %lu", writes, in_file(own_access(code).code), array.name, index,
             array.bytes / item);
    stop("outside", rest);
}

[[noreturn]] void found_race(const Array& array, Address index, bool writes, const Access& own, const Access& before,
                             bool before_writes)
{
    char rest[600];
    snprintf(rest, sizeof rest, "%d %s %s %lu %lu %d %s %d %d", writes, in_file(own.code), array.name, index,
             array.bytes / array.item, before_writes, in_file(before.code), before.block, before.thread);
    stop("race", rest);
}

void see(Array& array, Address index, bool writes, Address code)
{
    Place& place = array.places[index];
    const Access own = own_access(code);
    if (race(place.write, own)) found_race(array, index, writes, own, place.write, true);
    if (writes) {
        if (race(place.read, own)) found_race(array, index, true, own, place.read, false);
        if (race(place.other_read, own)) found_race(array, index, true, own, place.other_read, false);
        place.write = own;
        place.written = true;
        return;
    }
    if (!place.written && !unwritten.seen) {
        unwritten.seen = true;
        unwritten.block = block_index.x;
        unwritten.thread = thread_index.x;
        snprintf(unwritten.rest, sizeof unwritten.rest, "0 %s %s %lu %lu", in_file(own.code), array.name, index,
                 array.bytes / array.item);
    }
    if (place.read.thread != own.thread || place.read.block != own.block) place.other_read = place.read;
    place.read = own;
}

bool in_a_stack(Address at)
{
    const Address own = reinterpret_cast<Address>(fibers[current].stack);
    return at >= own && at < own + STACK;
}

void access(void* address, unsigned bytes, bool writes, Address code)
{
    if (current < 0) return;
    const Address at = reinterpret_cast<Address>(address);
    for (int number = 0; number < array_count; ++number) {
        Array& array = arrays[number];
        const Address begin = reinterpret_cast<Address>(array.begin), end = begin + array.bytes;
        if (at >= begin && at + bytes <= end) {
            for (Address byte = at - begin; byte < at - begin + bytes; byte += array.item - byte % array.item)
                see(array, byte / array.item, writes, code);
            return;
        }
        if (at >= begin - GUARD && at < end + GUARD) outside(array, at < begin ? at : at < end ? end : at, writes, code);
    }
    if (in_a_stack(at)) return;
    if (at >= reinterpret_cast<Address>(__executable_start) && at < reinterpret_cast<Address>(_end)) return;
    char rest[400];
    snprintf(rest, sizeof rest, "%d %s", writes, in_file(own_access(code).code));
    stop("wild", rest);
}

}  // namespace
}  // namespace emulator
