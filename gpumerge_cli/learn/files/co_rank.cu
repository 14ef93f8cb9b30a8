// Co-rank: how many of the first k outputs of the merge of A[0:m] and B[0:n] come from A?
//
// The answer i and j = k - i fit together if A[i - 1] may go before B[j], and B[j - 1] goes before A[i]. Among equal items,
// those of A go first. Search for i by halves: merging up to k would read too much.

// GAP: co_rank
__device__ int co_rank(int k, const int* A, int m, const int* B, int n)
{
    int low = k > n ? k - n : 0;
    int high = k < m ? k : m;
    while (low < high) {
        const int i = (low + high) / 2;
        const int j = k - i;
        if (B[j - 1] < A[i]) {
            high = i;
        } else {
            low = i + 1;
        }
    }
    return low;
}
// END

// Thread k writes the co-rank of rank k. There are m + n + 1 ranks.
extern "C" __global__ void ranks(const int* A, int m, const int* B, int n, int* C)
{
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k <= m + n) C[k] = co_rank(k, A, m, B, n);
}
