// Runs a kernel on one thread of the CPU: a fiber for each thread of a block, blocks one after another.
//
// The compiler puts a call __tsan_readN or __tsan_writeN ahead of each access of the kernel. These calls know all arrays,
// so they see the first access outside of them, and the first two accesses of different threads to one place between which
// there is no barrier, as one of them writes. It needs no library but C's.
//
// The program takes three names: the cases, the outputs and the fault. It writes one output for each case, and at the
// first fault one line, and ends. learn/on_cpu.py writes the cases and reads the rest.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include "cuda.hpp"

extern "C" void emulator_call(const void* a, int m, const void* b, int n, void* c, int tile);
extern "C" char __executable_start[], _end[];

namespace emulator {

Dim thread_index, block_index, block_dim, grid_dim;

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

[[noreturn]] void stop(const char* kind, const char* rest)
{
    current = -1;
    FILE* const file = fopen(fault_name, "w");
    if (file != nullptr) {
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
    if (!place.written) {
        char rest[400];
        snprintf(rest, sizeof rest, "0 %s %s %lu %lu", in_file(own.code), array.name, index, array.bytes / array.item);
        stop("unwritten", rest);
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

void wait_at(Barrier& barrier)
{
    if (++barrier.waiting == barrier.threads) {
        barrier.waiting = 0;
        ++barrier.passed;
        return;
    }
    Fiber& fiber = fibers[current];
    fiber.waits_at = &barrier;
    fiber.turn = barrier.passed;
    swapcontext(&fiber.context, &main_context);
}

void live()
{
    emulator_call(input_a, now.m, input_b, now.n, output, now.tile);
    fibers[current].done = true;
    swapcontext(&fibers[current].context, &main_context);
}

// The threads of a block take turns: each runs until it waits at a barrier or ends.
void run_block()
{
    for (int number = 0; number < array_count; ++number) {
        Array& array = arrays[number];
        if (!array.shared) continue;
        memset(array.begin, UNWRITTEN, array.bytes);
        for (Address index = 0; index < array.bytes / array.item; ++index) array.places[index] = Place();
    }
    block_barrier = Barrier{now.threads, 0, 0};
    for (int warp = 0; warp * WARP < now.threads; ++warp)
        warp_barriers[warp] = Barrier{now.threads - warp * WARP < WARP ? now.threads - warp * WARP : WARP, 0, 0};
    for (int thread = 0; thread < now.threads; ++thread) {
        Fiber& fiber = fibers[thread];
        if (fiber.stack == nullptr) fiber.stack = static_cast<char*>(mapped(STACK));
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack;
        fiber.context.uc_stack.ss_size = STACK;
        fiber.done = false;
        fiber.waits_at = nullptr;
        fiber.depth = 0;
        makecontext(&fiber.context, live, 0);
    }
    for (int left = now.threads; left > 0;) {
        bool any = false;
        for (int thread = 0; thread < now.threads; ++thread) {
            Fiber& fiber = fibers[thread];
            if (fiber.done || (fiber.waits_at != nullptr && fiber.waits_at->passed == fiber.turn)) continue;
            fiber.waits_at = nullptr;
            any = true;
            current = thread;
            thread_index = Dim{static_cast<unsigned>(thread), 0, 0};
            swapcontext(&main_context, &fiber.context);
            current = -1;
            left -= fiber.done;
        }
        if (any) continue;
        int ended = 0, waiting = 0;
        for (int thread = now.threads; thread-- > 0;) (fibers[thread].done ? ended : waiting) = thread;
        char rest[100];
        snprintf(rest, sizeof rest, "%d %d %d", waiting, ended, left);
        stop("barrier", rest);
    }
}

void run_case(FILE* cases, FILE* outputs)
{
    array_count = 0;
    char names[3][32];
    if (fread(names, sizeof names, 1, cases) != 1) _exit(4);
    Array& a = add_array(names[0], static_cast<Address>(now.m) * now.item_a, now.item_a, false);
    Array& b = add_array(names[1], static_cast<Address>(now.n) * now.item_b, now.item_b, false);
    Array& c = add_array(names[2], static_cast<Address>(now.outputs) * now.item_c, now.item_c, false);
    if (fread(a.begin, 1, a.bytes, cases) != a.bytes || fread(b.begin, 1, b.bytes, cases) != b.bytes) _exit(4);
    mark_written(a);
    mark_written(b);
    input_a = a.begin;
    input_b = b.begin;
    output = c.begin;
    dynamic_bytes = now.shared;
    block_dim = Dim{static_cast<unsigned>(now.threads), 1, 1};
    grid_dim = Dim{static_cast<unsigned>(now.blocks), 1, 1};
    const itimerval limit = {{0, 0}, {now.seconds, 0}}, none = {};
    setitimer(ITIMER_PROF, &limit, nullptr);
    for (int block = 0; block < now.blocks; ++block) {
        block_index = Dim{static_cast<unsigned>(block), 0, 0};
        run_block();
    }
    setitimer(ITIMER_PROF, &none, nullptr);
    fwrite(c.begin, 1, c.bytes, outputs);
    fflush(outputs);
    while (array_count > 0) remove_array(arrays[--array_count]);
}

void on_signal(int number)
{
    if (number == SIGPROF) stop("endless", "");
    char rest[20];
    snprintf(rest, sizeof rest, "%d", number);
    stop("crash", rest);
}

void watch()
{
    static char own_stack[1 << 16];
    const stack_t stack = {own_stack, 0, sizeof own_stack};
    sigaltstack(&stack, nullptr);
    struct sigaction action = {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_ONSTACK;
    const int numbers[] = {SIGPROF, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};
    for (const int number : numbers) sigaction(number, &action, nullptr);
}

Array& shared_named(const char* name, Address bytes, unsigned item)
{
    for (int number = 0; number < array_count; ++number)
        if (arrays[number].shared && arrays[number].bytes == bytes && strcmp(arrays[number].name, name) == 0)
            return arrays[number];
    return add_array(name, bytes, item, true);
}

}  // namespace

void* shared_array(const char* name, unsigned long bytes, unsigned item)
{
    return shared_named(name, bytes, item).begin;
}

void* dynamic_shared(const char* name, unsigned item) { return shared_named(name, dynamic_bytes, item).begin; }

void atomic_begins() { ++atomics; }
void atomic_ends() { --atomics; }

}  // namespace emulator

extern "C" {

void __syncthreads() { emulator::wait_at(emulator::block_barrier); }

void __syncwarp(unsigned) { emulator::wait_at(emulator::warp_barriers[emulator::current / emulator::WARP]); }

void __threadfence() {}

#define FROM reinterpret_cast<unsigned long>(__builtin_return_address(0))
#define SEEN(bytes)                                                                               \
    void __tsan_read##bytes(void* at) { emulator::access(at, bytes, false, FROM); }               \
    void __tsan_write##bytes(void* at) { emulator::access(at, bytes, true, FROM); }               \
    void __tsan_unaligned_read##bytes(void* at) { emulator::access(at, bytes, false, FROM); }     \
    void __tsan_unaligned_write##bytes(void* at) { emulator::access(at, bytes, true, FROM); }     \
    void __tsan_volatile_read##bytes(void* at) { emulator::access(at, bytes, false, FROM); }      \
    void __tsan_volatile_write##bytes(void* at) { emulator::access(at, bytes, true, FROM); }      \
    void __tsan_read_write##bytes(void* at)                                                       \
    {                                                                                             \
        emulator::access(at, bytes, false, FROM);                                                 \
        emulator::access(at, bytes, true, FROM);                                                  \
    }

SEEN(1)
SEEN(2)
SEEN(4)
SEEN(8)
SEEN(16)

void __tsan_read_range(void* at, unsigned long bytes) { emulator::access(at, static_cast<unsigned>(bytes), false, FROM); }
void __tsan_write_range(void* at, unsigned long bytes) { emulator::access(at, static_cast<unsigned>(bytes), true, FROM); }
void __tsan_init() {}
void __tsan_func_entry(void* caller)
{
    if (emulator::current < 0) return;
    emulator::Fiber& fiber = emulator::fibers[emulator::current];
    if (fiber.depth < sizeof fiber.calls / sizeof *fiber.calls)
        fiber.calls[fiber.depth] = reinterpret_cast<unsigned long>(caller);
    ++fiber.depth;
}

void __tsan_func_exit()
{
    if (emulator::current >= 0) --emulator::fibers[emulator::current].depth;
}

void* __tsan_memcpy(void* to, const void* from, unsigned long bytes) { return memcpy(to, from, bytes); }
void* __tsan_memmove(void* to, const void* from, unsigned long bytes) { return memmove(to, from, bytes); }
void* __tsan_memset(void* to, int byte, unsigned long bytes) { return memset(to, byte, bytes); }

}  // extern "C"

int main(int count, char** names)
{
    using namespace emulator;
    if (count != 4) return 4;
    fault_name = names[3];
    FILE* const cases = fopen(names[1], "rb");
    FILE* const outputs = fopen(names[2], "wb");
    if (cases == nullptr || outputs == nullptr) return 4;
    const rlimit memory = {2UL << 30, 2UL << 30}, none = {0, 0};
    setrlimit(RLIMIT_AS, &memory);
    setrlimit(RLIMIT_CORE, &none);
    watch();
    for (; fread(&now, sizeof now, 1, cases) == 1; ++case_number) {
        if (now.threads < 1 || now.threads > MOST_THREADS) return 4;
        run_case(cases, outputs);
    }
    return 0;
}
