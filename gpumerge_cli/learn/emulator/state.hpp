// The state of the emulator while a kernel runs: threads (as fibers), barriers and arrays.
#pragma once

#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "cuda.hpp"

extern "C" char __executable_start[], _end[];

namespace emulator {
namespace {

typedef unsigned long Address;

constexpr Address GUARD = 1 << 16;  // bytes on both sides of an array
constexpr Address STACK = 1 << 18;
constexpr int MOST_ARRAYS = 40, MOST_THREADS = 1024, WARP = 32, CALLS = 4;
constexpr unsigned char UNWRITTEN = 0xa5;  // as in learn/on_cpu.py

struct Access {
    int block = -1, thread = -1;
    unsigned barriers = 0, warp_barriers = 0;
    Address code[CALLS] = {};  // where it stands, and the innermost calls that led there
    bool atomic = false;
};

// What is known of one item: its last write, and its last reads by two different threads.
struct Place {
    Access write, read, other_read;
    bool written = false;
};

struct Array {
    char name[32] = "";
    bool shared = false;
    Address bytes = 0;
    unsigned item = 4;
    char* begin = nullptr;
    Place* places = nullptr;
};

struct Barrier {
    int threads = 0, waiting = 0;
    unsigned passed = 0;
};

struct Fiber {
    ucontext_t context;
    char* stack = nullptr;
    bool done = true;
    Barrier* waits_at = nullptr;
    unsigned turn = 0;
    Address calls[64];
    unsigned depth = 0;
};

Array arrays[MOST_ARRAYS];
int array_count;
Fiber fibers[MOST_THREADS];
ucontext_t main_context;
Barrier block_barrier, warp_barriers[MOST_THREADS / WARP];
int current = -1;  // the thread that runs; -1 outside of the kernel
Address dynamic_bytes;
int atomics;
const char* fault_name;
int case_number;

struct Launch {
    int m, n, outputs, tile, blocks, threads, shared, item_a, item_b, item_c, seconds;
};

Launch now;
const void *input_a, *input_b;
void* output;

// A read of a place that nobody had written. It may yet prove to be one side of a race, up to the next barrier.
struct Unwritten {
    bool seen = false;
    unsigned block = 0, thread = 0;
    char rest[400];
};

Unwritten unwritten;

[[noreturn]] void stop(const char* kind, const char* rest)
{
    current = -1;
    FILE* const file = fopen(fault_name, "w");
    if (file != nullptr) {
        if (unwritten.seen && strcmp(kind, "race") != 0)
            fprintf(file, "%d unwritten %u %u %s\n", case_number, unwritten.block, unwritten.thread, unwritten.rest);
        else
            fprintf(file, "%d %s %u %u %s\n", case_number, kind, block_index.x, thread_index.x, rest);
        fclose(file);
    }
    _exit(3);
}

// Places in the program's file, as "1a2b,1a40": "0" for none.
const char* in_file(const Address* code)
{
    static char texts[2][CALLS * 20];
    static int turn;
    char* const text = texts[++turn % 2];
    int at = 0;
    for (int call = 0; call < CALLS; ++call) {
        const Address offset = code[call] == 0 ? 0 : code[call] - 1 - reinterpret_cast<Address>(__executable_start);
        at += snprintf(text + at, 20, call > 0 ? ",%lx" : "%lx", offset);
    }
    return text;
}

// The access of the fiber that runs, at `code`.
Access own_access(Address code)
{
    Access own;
    const Fiber& fiber = fibers[current];
    own.block = static_cast<int>(block_index.x);
    own.thread = current;
    own.barriers = block_barrier.passed;
    own.warp_barriers = warp_barriers[current / WARP].passed;
    own.atomic = atomics > 0;
    own.code[0] = code;
    for (unsigned call = 1; call < CALLS && call <= fiber.depth; ++call)
        if (fiber.depth - call < sizeof fiber.calls / sizeof *fiber.calls) own.code[call] = fiber.calls[fiber.depth - call];
    return own;
}

}  // namespace
}  // namespace emulator
