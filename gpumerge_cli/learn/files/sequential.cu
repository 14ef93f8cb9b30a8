// Sequential: the merge of A[0:m] and B[0:n] into C[0:m + n] by one thread. All later puzzles are made of it.
//
// Both inputs are sorted. Among equal items, those of A go first: the merge is stable. The items here are floats, because
// 0.0 and -0.0 are equal and still can be told apart.

// GAP: merge_sequential
__device__ void merge_sequential(const float* A, int m, const float* B, int n, float* C)
{
    int i = 0, j = 0, k = 0;
    while (i < m && j < n) {
        if (A[i] <= B[j]) {
            C[k++] = A[i++];
        } else {
            C[k++] = B[j++];
        }
    }
    while (i < m) C[k++] = A[i++];
    while (j < n) C[k++] = B[j++];
}
// END

extern "C" __global__ void sequential(const float* A, int m, const float* B, int n, float* C)
{
    if (blockIdx.x == 0 && threadIdx.x == 0) merge_sequential(A, m, B, n, C);
}
