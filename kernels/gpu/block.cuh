// The shape of a block, where no macro says it: BLOCK_SIZE threads, ITEMS_PER_THREAD items a thread, and as many blocks as
// BLOCKS_PER_MULTIPROCESSOR on a multiprocessor at once.
#pragma once

#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif
#ifndef ITEMS_PER_THREAD
#define ITEMS_PER_THREAD 15
#endif
#ifndef BLOCKS_PER_MULTIPROCESSOR
#define BLOCKS_PER_MULTIPROCESSOR 1
#endif
