// The first rungs of the ladder on the CPU, for teaching and for comparison. A host thread runs the threads of a block one
// after the other. Each rung is the twin of a kernel in gpu/. The fast rungs are keys_path.hpp and keys_vector.hpp for keys,
// and rows_merge.hpp for rows.
//
// Included in the anonymous namespace of each unit, behind corank.cuh.
#pragma once

#include "pair.hpp"

// build_library.py makes kernels.hpp. It includes all files merge_*.hpp, and lists the kernels in them.
#define KERNEL_BODIES
#include "kernels.hpp"

// From gm_kernel's numbers to kernels.
enum : int64_t {
#define NUMBER(kernel) NUMBER_OF_##kernel,
    NUMBER_OF_vector = VECTOR, KERNELS(NUMBER)
#undef NUMBER
};

// Merges by the kernel that the launch names, or by merge_path(pair, launch.tile, by_vectors). scratch: room for
// 2 * launch.tile items, if the kernel stages items.
template <typename Path>
void merge_by(const LaunchSpec& launch, const Pair& pair, Item* scratch, Path merge_path)
{
    switch (launch.kernel) {
#define CASE(kernel) \
    case NUMBER_OF_##kernel: return merge_##kernel(pair, launch, scratch);
        KERNELS(CASE)
#undef CASE
    default: return merge_path(pair, launch.tile, launch.kernel == VECTOR);
    }
}
