// Fibers that take turns on one thread of the CPU: each runs until it waits at a barrier or lets others run. A switch costs
// far less than one between threads, and each run takes the same turns.
//
// The thread sanitizer treats every fiber as a thread. Only barriers order the accesses of two fibers, so it finds a race
// wherever a barrier is missing. Functions marked UNSEEN, which switch fibers, are hidden from it.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <sys/mman.h>
#include <ucontext.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#else
#define __tsan_acquire(address) ((void)(address))
#define __tsan_release(address) ((void)(address))
#endif

#define UNSEEN __attribute__((noinline, no_sanitize("address", "thread", "undefined")))

namespace shim {

struct Block;

struct Dim {
    unsigned x;
};

// The place of the fiber that runs. Only UNSEEN functions write these.
inline Dim thread_index, block_index, block_dim, grid_dim;
inline unsigned char* shared_bytes;
inline Block* block;

class Barrier {
public:
    void reset(unsigned threads) { threads_ = threads; }
    UNSEEN void wait();
    UNSEEN unsigned turn() const { return turn_; }

private:
    unsigned threads_ = 0, waiting_ = 0, turn_ = 0;
    char passed_[2];  // their addresses stand for every other turn, as one may be left while the next one is reached
};

struct Fiber {
    static constexpr std::size_t STACK_BYTES = 1 << 20;

    ucontext_t context;
    const void* stack = nullptr;
    std::size_t stack_bytes = 0;
    void *fake_stack = nullptr, *seen = nullptr;  // by these the sanitizers know it
    bool done = true;
    const Barrier* waits_at = nullptr;
    unsigned turn = 0, number = 0;
    void (*call)(void*, unsigned) = nullptr;
    void* work = nullptr;
    Dim thread_index{}, block_index{};
    unsigned char* shared_bytes = nullptr;
    Block* block = nullptr;
};

inline Fiber main_fiber;
inline Fiber* current = &main_fiber;
inline std::deque<Fiber> fibers;  // of all launches; their stacks are used again
inline char started, ended;
inline long waits;
constexpr long MOST_WAITS = 2'000'000;  // of a launch; 1,100 tiles need less than half of it

UNSEEN inline void end(const char* why)
{
    std::fputs(why, stderr);
    std::_Exit(7);
}

UNSEEN inline void arrive(Fiber* fiber)
{
#ifdef __SANITIZE_ADDRESS__
    const void* bottom;
    std::size_t bytes;
    __sanitizer_finish_switch_fiber(fiber->fake_stack, &bottom, &bytes);
    if (fiber != &main_fiber) {
        main_fiber.stack = bottom;
        main_fiber.stack_bytes = bytes;
    }
#endif
    thread_index = fiber->thread_index;
    block_index = fiber->block_index;
    shared_bytes = fiber->shared_bytes;
    block = fiber->block;
}

UNSEEN inline void switch_to(Fiber* to)
{
    Fiber* const from = current;
    current = to;
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(&from->fake_stack, to->stack, to->stack_bytes);
#endif
#ifdef __SANITIZE_THREAD__
    __tsan_switch_to_fiber(to->seen, __tsan_switch_to_fiber_no_sync);
#endif
    swapcontext(&from->context, &to->context);
    arrive(from);
}

// Ends the program after far too many calls, as of threads that wait for a word that nobody writes.
UNSEEN inline void let_others_run()
{
    if (++waits > MOST_WAITS) end("threads wait for each other for ever\n");
    switch_to(&main_fiber);
}

UNSEEN inline void Barrier::wait()
{
    const unsigned turn = turn_;
    __tsan_release(&passed_[turn % 2]);
    if (++waiting_ == threads_) {
        waiting_ = 0;
        ++turn_;
    } else {
        current->waits_at = this;
        current->turn = turn;
        switch_to(&main_fiber);
    }
    __tsan_acquire(&passed_[turn % 2]);
}

// Sets the block, thread and shared memory that the kernel sees in the fiber that calls this.
UNSEEN inline void place_fiber(Block* own, Dim thread, Dim number, unsigned char* shared)
{
    current->block = block = own;
    current->thread_index = thread_index = thread;
    current->block_index = block_index = number;
    current->shared_bytes = shared_bytes = shared;
}

UNSEEN inline void live()
{
    arrive(current);
    for (;;) {
        Fiber* const own = current;
        __tsan_acquire(&started);
        own->call(own->work, own->number);
        __tsan_release(&ended);
        own->done = true;
        switch_to(&main_fiber);
    }
}

UNSEEN inline void add_fiber()
{
    Fiber& made = fibers.emplace_back();
    made.stack_bytes = Fiber::STACK_BYTES;
    void* const stack =
        mmap(nullptr, Fiber::STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED) std::abort();
    made.stack = stack;
    getcontext(&made.context);
    made.context.uc_stack.ss_sp = stack;
    made.context.uc_stack.ss_size = Fiber::STACK_BYTES;
    makecontext(&made.context, live, 0);
    made.context.uc_stack.ss_size = 0;  // or the address sanitizer would forget what it knows of the stack at each switch
#ifdef __SANITIZE_THREAD__
    made.seen = __tsan_create_fiber(0);
    main_fiber.seen = __tsan_get_current_fiber();
#endif
}

UNSEEN inline void take_turns(unsigned count)
{
    waits = 0;
    for (unsigned left = count; left > 0;) {
        bool any = false;
        for (unsigned number = 0; number < count; ++number) {
            Fiber* const fiber = &fibers[number];
            if (fiber->done || (fiber->waits_at != nullptr && fiber->waits_at->turn() == fiber->turn)) continue;
            fiber->waits_at = nullptr;
            any = true;
            switch_to(fiber);
            left -= fiber->done;
        }
        if (!any) end("threads wait at a barrier for ever\n");
    }
}

// Calls work(0) to work(count - 1), each in a fiber.
template <typename Work>
void run_fibers(unsigned count, Work work)
{
    while (fibers.size() < count) add_fiber();
    for (unsigned number = 0; number < count; ++number) {
        Fiber& fiber = fibers[number];
        fiber.done = false;
        fiber.number = number;
        fiber.work = &work;
        fiber.call = [](void* given, unsigned own) { (*static_cast<Work*>(given))(own); };
    }
    __tsan_release(&started);
    take_turns(count);
    __tsan_acquire(&ended);
}

}  // namespace shim
