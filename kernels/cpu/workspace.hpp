// A workspace holds the bytes of one chunk, its items, and the result. Each kind of item has a class of its own behind one
// interface. entries.cpp turns the entries of the library into calls of it.
#pragma once

#include <cstdint>
#include <memory>

#include "entries.h"
#include "memory.hpp"
#include "team.hpp"

struct Workspace {
    Workspace(const OrderSpec& order, int threads) : order(order), team(threads) {}
    virtual ~Workspace() = default;

    // Finds the items of `runs` runs, which lie in `staging` back to back. lengths: their bytes. Throws std::bad_alloc.
    virtual void upload(const int64_t* lengths, int64_t runs) = 0;
    virtual void counts(int64_t* counts) const = 0;
    // Whether all runs are in order. If not, `failure` gets the first disorder: its run, and the byte in the run.
    virtual bool in_order(bool strict, Failure& failure) = 0;
    // Whether a line has an invalid key that is an error. If so, `failure` gets the first one: its run, and the byte in the run.
    virtual bool find_fault(Failure&) const { return false; }
    virtual void merge(const LaunchSpec& launch, Equals equals) = 0;
    virtual void sort(const LaunchSpec& launch, Equals equals) = 0;
    // The same, but items are gathered only by receive(), unless they lie in one place already. So `result` may be null.
    virtual void sort_rows(const LaunchSpec& launch, Equals equals) { sort(launch, equals); }
    virtual void merge_rows(const LaunchSpec& launch, Equals equals) { merge(launch, equals); }
    virtual void receive(int64_t position, int64_t nbytes, unsigned char* out);
    // The bytes of the first `items` items of the result.
    virtual int64_t bytes_ahead(int64_t items) const = 0;

    OrderSpec order;
    Team team;
    Margin margin{};
    int64_t capacity = 0;      // the bytes that a chunk was expected to have
    Buffer staging, output;    // each has PADDING readable bytes behind its content
    unsigned char* place = nullptr;  // where a merge may write its result in place of output, if it writes every byte once
    const unsigned char* result = nullptr;  // the last merge or sort: in output, or in other memory that lives as long
    int64_t result_bytes = 0, result_items = 0, dropped = 0;
    Room<int64_t> group_sizes;  // the number of each item of the result, for margins apart
};

// Makes a workspace for keys (keys.cpp, compiled once for each kind), for records, or for lines.
std::unique_ptr<Workspace> make_workspace(const OrderSpec& order, int threads);
