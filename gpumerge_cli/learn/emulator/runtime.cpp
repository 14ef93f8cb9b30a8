// Runs a kernel on one thread of the CPU: a fiber for each thread of a block, blocks one after another.
//
// The compiler puts a call __tsan_readN or __tsan_writeN ahead of each access of the kernel. These calls know all arrays,
// so they see the first access outside of them, and the first two accesses of different threads to one place between which
// there is no barrier, as one of them writes. It needs no library but C's.
//
// The program takes three names: the cases, the outputs and the fault. It writes one output for each case, and at the
// first fault one line, and ends. learn/on_cpu.py writes the cases and reads the rest.
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "accesses.hpp"

extern "C" void emulator_call(const void* a, int m, const void* b, int n, void* c, int tile);

namespace emulator {

Dim thread_index, block_index, block_dim, grid_dim;

namespace {

void wait_at(Barrier& barrier)
{
    if (++barrier.waiting == barrier.threads) {
        if (unwritten.seen) stop("unwritten", "");
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
        if (left == 0 && unwritten.seen) stop("unwritten", "");
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
