// Kernels that begin while the kernel ahead of them still runs.
#pragma once

// A kernel that was launched for it may begin while the kernel ahead of it still runs: as soon as all blocks of that one have
// called let_next_begin. Each of its threads must call await_previous before it reads what that one writes. Some block of it must,
// so that it does not end before that one. Otherwise these functions do nothing.
__device__ __forceinline__ void let_next_begin()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

__device__ __forceinline__ void await_previous()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
