// K-way: the merge of many runs at once. Run r is items[starts[r]:starts[r + 1]], and there are `ends` starts, so ends - 1
// runs; starts[ends - 1] is `total`. Each run is sorted.
//
// C gets no items but their numbers: C[rank] = number says that items[number] has this rank in the merge. Among equal items,
// those of an earlier run go first. The rank of an item is the number of items that go before it, run by run.

extern "C" __global__ void k_way(const int* items, int total, const int* starts, int ends, int* C)
{
    // GAP: the rank of each item
    for (int number = blockIdx.x * blockDim.x + threadIdx.x; number < total; number += gridDim.x * blockDim.x) {
        int own = 0;
        while (starts[own + 1] <= number) ++own;
        int rank = number - starts[own];
        for (int run = 0; run < ends - 1; ++run) {
            if (run == own) continue;
            int low = starts[run], high = starts[run + 1];
            while (low < high) {
                const int middle = (low + high) / 2;
                if (items[middle] < items[number] || (items[middle] == items[number] && run < own))
                    low = middle + 1;
                else
                    high = middle;
            }
            rank += low - starts[run];
        }
        C[rank] = number;
    }
    // END
}
