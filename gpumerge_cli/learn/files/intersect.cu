// Intersect: the items that A[0:m] and B[0:n] both hold. An item that A holds three times and B twice is written twice.
//
// One block does it. C[0] gets the number of items written, and C[1], C[2], ... get the items, in order. Let each thread
// count what its piece of A keeps, and share the counts: they say where each thread writes.

// The first place of A[0:m] whose item is not less than `item`.
__device__ int lower_bound(const int* A, int m, int item)
{
    int low = 0, high = m;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (A[middle] < item)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

extern "C" __global__ void intersect(const int* A, int m, const int* B, int n, int* C)
{
    __shared__ int counts[1024];
    const int thread = threadIdx.x, threads = blockDim.x;

    // GAP: count, share the counts, write
    const int piece = (m + threads - 1) / threads;
    const int from = min(thread * piece, m), to = min(from + piece, m);
    int kept = 0;
    for (int i = from; i < to; ++i) {
        const int equals_before = i - lower_bound(A, m, A[i]);
        const int in_B = lower_bound(B, n, A[i]) + equals_before;
        kept += in_B < n && B[in_B] == A[i];
    }
    counts[thread] = kept;
    __syncthreads();
    int place = 1;
    for (int before = 0; before < thread; ++before) place += counts[before];
    for (int i = from; i < to; ++i) {
        const int equals_before = i - lower_bound(A, m, A[i]);
        const int in_B = lower_bound(B, n, A[i]) + equals_before;
        if (in_B < n && B[in_B] == A[i]) C[place++] = A[i];
    }
    if (thread == threads - 1) C[0] = place - 1;
    // END
}
