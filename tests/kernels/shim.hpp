// Enough of CUDA to run the kernels on a CPU, where sanitizers see every access: a std::thread for each thread of a
// block, blocks one after another, a barrier for __syncthreads.
//
// Static shared memory keeps what the block before left in it, and dynamic shared memory is filled with a pattern, as
// neither is initialised on a device.
#pragma once

#include <atomic>
#include <cmath>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#define __global__
#define __device__
#define __constant__ static const
#define __forceinline__ inline
#define __noinline__
#define __shared__ static
#define __align__(bytes) alignas(bytes)
#define __launch_bounds__(...)
#define __grid_constant__

struct alignas(16) uint4 {
    unsigned x, y, z, w;
};

namespace shim {

struct Dim {
    unsigned x;
};

inline thread_local Dim thread_index, block_index;
inline Dim block_dim, grid_dim;
inline unsigned char* shared_bytes;

class Barrier {
public:
    void reset(unsigned threads) { threads_ = threads; }

    void wait()
    {
        std::unique_lock<std::mutex> lock(mutex_);
        const unsigned turn = turn_;
        if (++waiting_ == threads_) {
            waiting_ = 0;
            ++turn_;
            all_here_.notify_all();
            return;
        }
        all_here_.wait(lock, [&] { return turn_ != turn; });
    }

private:
    std::mutex mutex_;
    std::condition_variable all_here_;
    unsigned threads_ = 0, waiting_ = 0, turn_ = 0;
};

inline Barrier barrier;

constexpr unsigned WARP = 32;

// Lets the threads of a warp exchange values: each leaves a value, and reads those of others behind a barrier.
struct Warp {
    Barrier barrier;
    unsigned long long said[WARP];
};

inline std::vector<Warp> warps;

template <typename Read>
auto exchange(unsigned long long value, Read read)
{
    Warp& warp = warps[thread_index.x / WARP];
    warp.said[thread_index.x % WARP] = value;
    warp.barrier.wait();
    const auto heard = read(warp.said);
    warp.barrier.wait();
    return heard;
}

struct AlignedDelete {
    void operator()(unsigned char* bytes) const { operator delete[](bytes, std::align_val_t(16)); }
};

// Exactly as many bytes as asked for, so that an overrun lands in the address sanitizer's red zone.
using Bytes = std::unique_ptr<unsigned char[], AlignedDelete>;

inline Bytes allocate(std::size_t bytes)
{
    return Bytes(static_cast<unsigned char*>(operator new[](bytes, std::align_val_t(16))));
}

template <typename Kernel>
void launch(unsigned blocks, unsigned threads, std::size_t shared, Kernel kernel)
{
    block_dim = {threads};
    grid_dim = {blocks};
    barrier.reset(threads);
    warps = std::vector<Warp>((threads + WARP - 1) / WARP);
    for (unsigned warp = 0; warp < warps.size(); ++warp) {
        const unsigned there = threads - warp * WARP;
        warps[warp].barrier.reset(there < WARP ? there : WARP);
    }
    Bytes memory;
    const auto run = [&](unsigned thread) {
        thread_index = {thread};
        for (unsigned block = 0; block < blocks; ++block) {
            block_index = {block};
            if (thread == 0) {
                memory = allocate(shared);
                std::memset(memory.get(), 0xcd, shared);
                shared_bytes = memory.get();
            }
            barrier.wait();
            kernel();
            barrier.wait();
        }
    };
    std::vector<std::thread> pool;
    for (unsigned thread = 0; thread < threads; ++thread) pool.emplace_back(run, thread);
    for (std::thread& thread : pool) thread.join();
}

}  // namespace shim

#define threadIdx shim::thread_index
#define blockIdx shim::block_index
#define blockDim shim::block_dim
#define gridDim shim::grid_dim

inline void __syncthreads() { shim::barrier.wait(); }

inline unsigned __ballot_sync(unsigned mask, bool says)
{
    return shim::exchange(says, [&](const unsigned long long* said) {
        unsigned bits = 0;
        for (unsigned lane = 0; lane < shim::WARP; ++lane)
            if (mask >> lane & 1) bits |= static_cast<unsigned>(said[lane]) << lane;
        return bits;
    });
}

inline bool __any_sync(unsigned mask, bool says) { return __ballot_sync(mask, says) != 0; }

inline long long __shfl_sync(unsigned, long long value, int lane, int width)
{
    const int first = static_cast<int>(threadIdx.x % shim::WARP) / width * width;
    return shim::exchange(value, [&](const unsigned long long* said) -> long long { return said[first + lane % width]; });
}

inline long long __shfl_xor_sync(unsigned, long long value, int bits)
{
    return shim::exchange(value, [&](const unsigned long long* said) -> long long {
        return said[threadIdx.x % shim::WARP ^ bits];
    });
}

inline int __ffs(unsigned bits) { return __builtin_ffs(static_cast<int>(bits)); }

template <typename T>
T atomicMin(T* address, T value)
{
    std::atomic_ref<T> target(*address);
    T seen = target.load();
    while (value < seen && !target.compare_exchange_weak(seen, value)) {}
    return seen;
}

template <typename T>
T atomicMax(T* address, T value)
{
    std::atomic_ref<T> target(*address);
    T seen = target.load();
    while (value > seen && !target.compare_exchange_weak(seen, value)) {}
    return seen;
}
