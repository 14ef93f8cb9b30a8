// What a worker merges in: the bytes of one chunk, its items, and the result. One class for each kind of item behind one
// interface; entries.cpp turns the library's entries into calls of it.
#pragma once

#include <cstdint>
#include <memory>

#include "entries.h"
#include "memory.hpp"
#include "team.hpp"

struct Workspace {
    Workspace(const OrderSpec& order, int threads) : order(order), team(threads) {}
    virtual ~Workspace() = default;

    // Find the items of `runs` runs of these byte lengths, which lie in `staging` back to back. Throws std::bad_alloc.
    virtual void upload(const int64_t* lengths, int64_t runs) = 0;
    virtual void counts(int64_t* counts) const = 0;
    // Whether all runs are in order; else the run and the byte in it of the first disorder (lowest run, then lowest byte).
    virtual bool in_order(bool strict, Failure& failure) = 0;
    virtual void merge(const LaunchSpec& launch, Equals equals) = 0;
    virtual void sort(const LaunchSpec& launch, Equals equals) = 0;
    // The same, but what is not in one place already is brought together by receive() alone; `result` may be null then.
    virtual void sort_rows(const LaunchSpec& launch, Equals equals) { sort(launch, equals); }
    virtual void merge_rows(const LaunchSpec& launch, Equals equals) { merge(launch, equals); }
    virtual void receive(int64_t position, int64_t nbytes, unsigned char* out);
    virtual void merge_heads(const int64_t*, Equals, int64_t*) {}

    OrderSpec order;
    Team team;
    int64_t capacity = 0;      // bytes of a chunk, as far as it was foreseen
    Buffer staging, output;    // each with PADDING readable bytes behind what it holds
    const unsigned char* result = nullptr;  // of the last merge or sort: in output, or anywhere that lives as long
    int64_t result_bytes = 0, result_items = 0, dropped = 0;
};

// Workspaces of keys of this order's kind (keys.cpp, compiled once a kind), of records, of lines (rows.cpp).
std::unique_ptr<Workspace> make_workspace(const OrderSpec& order, int threads);
