// Kernels, fills and copies on a stream of a GPU, through the driver's functions. See gm_gpu_queue.
#include <cstring>

#include "entries.h"

namespace {
// As cuda.h declares them: a CUresult is an int, a CUdeviceptr an integer of 64 bits, other handles are pointers.
using Launch = int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);
using Fill = int (*)(uint64_t, unsigned char, size_t, void*);
using Copy = int (*)(uint64_t, uint64_t, size_t, void*);
using IsCaptured = int (*)(void*, int*);
using Wait = int (*)(void*);

struct Attribute {
    int number, unused;
    int value[16];
};

struct LaunchConfig {
    unsigned grid[3], block[3], shared;
    void* stream;
    const Attribute* attributes;
    unsigned count;
};

using LaunchEx = int (*)(const LaunchConfig*, void*, void**, void**);

enum Numbers { SUCCESS = 0, INVALID_VALUE = 1, PROGRAMMATIC_STREAM_SERIALIZATION = 6, CAPTURE_NONE = 0 };

template <typename Function>
Function as(const void* address)
{
    Function found;
    static_assert(sizeof found == sizeof address, "functions have addresses");
    std::memcpy(&found, &address, sizeof found);
    return found;
}

void* pointer(int64_t address) { return reinterpret_cast<void*>(static_cast<uintptr_t>(address)); }

int launch(const GpuDriver& driver, const GpuStep& step, const int64_t* words, void* stream)
{
    size_t nbytes = static_cast<size_t>(step.words) * sizeof *words;
    // cuLaunchKernel's parameter `extra`: CU_LAUNCH_PARAM_BUFFER_POINTER, _BUFFER_SIZE and _END.
    void* extra[] = {pointer(1), const_cast<int64_t*>(words), pointer(2), &nbytes, nullptr};
    const auto blocks = static_cast<unsigned>(step.size), threads = static_cast<unsigned>(step.threads);
    const auto shared = static_cast<unsigned>(step.shared);
    if (step.kind == GPU_LAUNCH)
        return as<Launch>(driver.launch)(pointer(step.kernel), blocks, 1, 1, threads, 1, 1, shared, stream, nullptr, extra);
    const Attribute beside = {PROGRAMMATIC_STREAM_SERIALIZATION, 0, {1}};
    const LaunchConfig config = {{blocks, 1, 1}, {threads, 1, 1}, shared, stream, &beside, 1};
    return as<LaunchEx>(driver.launch_dependent)(&config, pointer(step.kernel), nullptr, extra);
}

int carry_out(const GpuDriver& driver, const GpuStep& step, const int64_t* words, void* stream)
{
    const auto nbytes = static_cast<size_t>(step.size);
    const auto at = [words](int number) { return static_cast<uint64_t>(words[number]); };
    switch (step.kind) {
        case GPU_LAUNCH:
        case GPU_DEPENDENT_LAUNCH: return launch(driver, step, words, stream);
        case GPU_ZEROS: return as<Fill>(driver.fill)(at(0), 0, nbytes, stream);
        case GPU_COPY: return as<Copy>(driver.copy)(at(1), at(0), nbytes, stream);
        default: return INVALID_VALUE;
    }
}

GpuProgram head_of(const int64_t* program)
{
    GpuProgram head;
    std::memcpy(&head, program, sizeof head);
    return head;
}
}  // namespace

int64_t gm_gpu_queue(const int64_t* program, const int64_t* addresses)
{
    const GpuProgram head = head_of(program);
    int64_t words[GPU_MOST_WORDS];
    const int64_t* at = program + sizeof head / sizeof *program;
    for (int64_t number = 0; number < head.steps; ++number) {
        GpuStep step;
        std::memcpy(&step, at, sizeof step);
        at += sizeof step / sizeof *at;
        if (step.words < 0 || step.words > GPU_MOST_WORDS) return INVALID_VALUE;
        const int64_t* const places = at;
        at += 2 * step.places;
        std::memcpy(words, at, static_cast<size_t>(step.words) * sizeof *words);
        at += step.words;
        for (const int64_t* place = places; place < places + 2 * step.places; place += 2) words[place[0]] += addresses[place[1]];
        if (const int status = carry_out(*head.driver, step, words, pointer(addresses[0]))) return status;
    }
    return SUCCESS;
}

int64_t gm_gpu_answer(const int64_t* program, const int64_t* addresses)
{
    const GpuDriver& driver = *head_of(program).driver;
    void* const stream = pointer(addresses[0]);
    int captured = CAPTURE_NONE;
    if (const int status = as<IsCaptured>(driver.is_captured)(stream, &captured)) return status;
    if (captured != CAPTURE_NONE) return GPU_CAPTURED;
    if (const int64_t status = gm_gpu_queue(program, addresses)) return status;
    return as<Wait>(driver.wait)(stream);
}
