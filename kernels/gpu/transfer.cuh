// Moves slices between device memory and shared memory. Either Hopper's bulk copy engine moves them: one thread starts the
// copy, and no registers hold it. Or all threads move them in 16-byte vectors.
//
// Macro: BULK 1 for devices of compute capability 9.0 and up. On a CPU these functions have plain bodies, so that the kernels
// run there unchanged.
#pragma once

#include "../corank.cuh"
#include "sizes.cuh"

#ifndef BULK
#define BULK 0
#endif

template <int BYTES>
struct UnitOf {
    typedef unsigned int Type;
};
template <>
struct UnitOf<2> {
    typedef unsigned short Type;
};
template <>
struct UnitOf<1> {
    typedef unsigned char Type;
};
typedef UnitOf<sizeof(Item) < 4 ? static_cast<int>(sizeof(Item)) : 4>::Type Unit;

__device__ __forceinline__ int vector_offset(const void* address)
{
    return static_cast<int>(reinterpret_cast<unsigned long long>(address) % VECTOR);
}

// Tells all threads of a block that bytes have arrived in shared memory. One thread says how many bytes it copies; the
// waiting threads go on when all of them have arrived. To use it again, a barrier must lie between a turn's waits and the next
// turn's announcement, and one between that and the next waits.
struct Arrival {
    unsigned long long state;
};

#if !BULK

__device__ __forceinline__ void prepare(Arrival*) {}

#else

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#error "BULK needs compute capability 9.0"
#endif

#if defined(__CUDA_ARCH__)

__device__ __forceinline__ unsigned shared_address(const void* pointer)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// One thread must call this. A __syncthreads must follow before another thread calls any of these functions.
__device__ __forceinline__ void prepare(Arrival* arrival)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&arrival->state)), "r"(1));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void announce(Arrival* arrival, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&arrival->state)),
                 "r"(bytes)
                 : "memory");
}

// The addresses and `bytes` must be multiples of VECTOR, and `bytes` must not be 0.
__device__ __forceinline__ void bulk_load(void* to, const void* from, int bytes, Arrival* arrival)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(to)),
                 "l"(from), "r"(bytes), "r"(shared_address(&arrival->state))
                 : "memory");
}

// turn: how often the arrival was used before.
__device__ __forceinline__ void await(Arrival* arrival, unsigned turn = 0)
{
    unsigned come = 0;
    while (!come)
        asm volatile("{\n\t.reg .pred come;\n\t"
                     "mbarrier.try_wait.parity.shared::cta.b64 come, [%1], %2;\n\t"
                     "selp.u32 %0, 1, 0, come;\n\t}"
                     : "=r"(come)
                     : "r"(shared_address(&arrival->state)), "r"(turn & 1)
                     : "memory");
}

// Every thread that wrote to shared memory must call this, before the barrier ahead of a bulk_store of what it wrote, or
// of a bulk_load to the same place.
__device__ __forceinline__ void publish() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// One thread must call this. It returns when the bytes are read. Addresses and bytes: as for bulk_load.
__device__ __forceinline__ void bulk_store(void* to, const void* from, int bytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(shared_address(from)),
                 "r"(bytes)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

#else

constexpr unsigned long long UNANNOUNCED = 1ull << 40;

inline void prepare(Arrival* arrival)
{
    __atomic_store_n(&arrival->state, UNANNOUNCED, __ATOMIC_RELEASE);
}

inline void announce(Arrival* arrival, int bytes)
{
    __atomic_store_n(&arrival->state, static_cast<unsigned long long>(bytes), __ATOMIC_RELEASE);
}

inline void bulk_load(void* to, const void* from, int bytes, Arrival* arrival)
{
    for (int at = 0; at < bytes / VECTOR; ++at) static_cast<uint4*>(to)[at] = static_cast<const uint4*>(from)[at];
    __atomic_fetch_sub(&arrival->state, static_cast<unsigned long long>(bytes), __ATOMIC_ACQ_REL);
}

inline void await(Arrival* arrival, unsigned = 0)
{
    while (__atomic_load_n(&arrival->state, __ATOMIC_ACQUIRE) != 0) {}
}

inline void publish() {}

inline void bulk_store(void* to, const void* from, int bytes)
{
    for (int at = 0; at < bytes / VECTOR; ++at) static_cast<uint4*>(to)[at] = static_cast<const uint4*>(from)[at];
}

#endif
#endif

// Loads `bytes` bytes (more than 0) to shared memory. `to` is the start of a vector, and the bytes lie as far behind it as
// `from` lies behind the start of a vector. Whole vectors are read. `arrival` must lie in shared memory. Every thread of the
// block must call this. When it returns, all bytes have arrived.
__device__ __forceinline__ void load(
    unsigned char* to, const unsigned char* from, int bytes, int threads, [[maybe_unused]] Arrival* arrival)
{
    const int offset = vector_offset(from);
    const int vectors = (offset + bytes + VECTOR - 1) / VECTOR;
    const uint4* const source = reinterpret_cast<const uint4*>(from - offset);
#if BULK
    if (threadIdx.x == 0) {
        prepare(arrival);
        announce(arrival, vectors * VECTOR);
        bulk_load(to, source, vectors * VECTOR, arrival);
    }
    __syncthreads();  // the arrival is prepared before any thread waits for it
    await(arrival);
#else
    for (int at = static_cast<int>(threadIdx.x); at < vectors; at += threads) reinterpret_cast<uint4*>(to)[at] = source[at];
    __syncthreads();  // the bytes are there before any thread reads them
#endif
}

// Stores `bytes` bytes from shared memory. `from` and `to` must lie equally far behind the start of a vector. Every thread of
// the block must call this, behind a barrier and, with BULK, a `publish` ahead of that barrier. starter: the thread that starts
// the bulk copy. Word: an unsigned integer whose size divides an item and a vector.
template <typename Word = Unit>
__device__ __forceinline__ void store(
    unsigned char* to, const unsigned char* from, int bytes, int threads, [[maybe_unused]] int starter = 0)
{
    const int offset = vector_offset(to);
    const int head = offset == 0 ? 0 : smaller(VECTOR - offset, bytes);
    const int vectors = (bytes - head) / VECTOR;
    const int tail = head + vectors * VECTOR;
    const int thread = static_cast<int>(threadIdx.x);
#if BULK
    if (thread == starter && vectors > 0) bulk_store(to + head, from + head, vectors * VECTOR);
#else
    for (int at = thread; at < vectors; at += threads)
        reinterpret_cast<uint4*>(to + head)[at] = reinterpret_cast<const uint4*>(from + head)[at];
#endif
    // The ends outside of whole vectors are stored in units that divide both an item and a vector, because an item may lie
    // across the edge of a vector.
    Word* const words = reinterpret_cast<Word*>(to);
    const Word* const staged = reinterpret_cast<const Word*>(from);
    const int size = static_cast<int>(sizeof(Word));
    for (int at = thread; at < head / size; at += threads) words[at] = staged[at];
    for (int at = tail / size + thread; at < bytes / size; at += threads) words[at] = staged[at];
}

// The same by single words, wherever both lie: `from` at the start of a vector, and a word behind the bytes may be read too.
__device__ __forceinline__ void store_words(unsigned char* to, const unsigned char* from, int bytes, int threads)
{
    const int thread = static_cast<int>(threadIdx.x), size = static_cast<int>(sizeof(Unit));
    const int ahead = smaller(static_cast<int>(-reinterpret_cast<unsigned long long>(to) % 4), bytes);
    const int words = (bytes - ahead) / 4, tail = ahead + 4 * words;
    const unsigned* const staged = reinterpret_cast<const unsigned*>(from);
    unsigned* const out = reinterpret_cast<unsigned*>(to + ahead);
    for (int at = thread; at < words; at += threads) {
        if (size < 4 && ahead > 0) {
            const unsigned long long both = static_cast<unsigned long long>(staged[at + 1]) << 32 | staged[at];
            out[at] = static_cast<unsigned>(both >> (8 * ahead));
        } else {
            out[at] = staged[at];
        }
    }
    const Unit* const units = reinterpret_cast<const Unit*>(from);
    for (int at = thread; at < ahead / size; at += threads) reinterpret_cast<Unit*>(to)[at] = units[at];
    for (int at = tail / size + thread; at < bytes / size; at += threads) reinterpret_cast<Unit*>(to)[at] = units[at];
}
