// Given to the puzzles that build on it: the co-rank, the merge by one thread, and a view of a ring.
#pragma once

// How many of the first k outputs of the merge come from A. A goes first among equal items. A and B are pointers or rings.
template <typename Run>
__device__ inline int co_rank(int k, const Run& A, int m, const Run& B, int n)
{
    int low = k > n ? k - n : 0;
    int high = k < m ? k : m;
    while (low < high) {
        const int i = (low + high) / 2;
        if (B[k - i - 1] < A[i])
            high = i;
        else
            low = i + 1;
    }
    return low;
}

// Merges m items of A and n items of B into C[0:m + n]. A goes first among equal items.
template <typename Run, typename Item>
__device__ inline void merge_sequential(const Run& A, int m, const Run& B, int n, Item* C)
{
    int i = 0, j = 0, k = 0;
    while (i < m && j < n) {
        if (A[i] <= B[j])
            C[k++] = A[i++];
        else
            C[k++] = B[j++];
    }
    while (i < m) C[k++] = A[i++];
    while (j < n) C[k++] = B[j++];
}

// The items of an array of `size` places, from place `start` on and round its end. ring + 3 begins three items later.
struct Ring {
    const int* items;
    int size, start;

    __device__ int operator[](int at) const { return items[(start + at) % size]; }
    __device__ Ring operator+(int at) const { return Ring{items, size, (start + at) % size}; }
};
