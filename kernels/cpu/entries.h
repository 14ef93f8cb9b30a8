/* Every entry of the CPU's library, declared once. Python's signatures are made from this file (backends/cpu/library.py),
 * so it keeps to a few forms: enumerations of integers, structures of int64_t and pointers, functions of these.
 *
 * Addresses are of the host's memory; sizes and positions are in bytes unless they say items; positions count from 0.
 * Functions that can fail return a Status and tell the rest in a Failure, and leave no memory behind. No function but
 * those that take a Workspace or a Gate keeps state; a Workspace is for one thread at a time, a Gate for any.
 * Whatever the items, sorted or not, no memory outside of what the arguments describe is touched, and the merge of items
 * that are not sorted is some permutation of them.
 */
#pragma once
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum Status { DONE = 0, DISORDER = 1, READ_FAILED = 2, INPUT_SHRANK = 3, WRITE_FAILED = 4, NO_MEMORY = 5, CALLBACK_FAILED = 6 };

/* What went wrong. error: errno of a call. input: number of the source or run. position: byte in that source; of
 * DISORDER that of the first item that goes before the one ahead of it. */
struct Failure {
    int64_t error, input, position;
};

enum ItemKind { UNSIGNED_KEYS = 0, SIGNED_KEYS = 1, FLOAT_KEYS = 2, RECORDS = 3, LINES = 4 };

/* What items are and which of two goes first: gpumerge_cli/order as numbers.
 * kind: an ItemKind. width: bytes of a key: 1, 2, 4 or 8 of keys; of records any. descending: 0 or 1.
 * Of RECORDS: record, offset: bytes of a record, and where the key lies in it; key_kind: an ItemKind, UNSIGNED_KEYS for a key
 * that is bytes too; big_endian: the most significant byte comes first, as that of bytes does.
 * Of LINES: table: LineOrder.table(), which must outlive every use; terminator: the byte that ends a line. */
struct OrderSpec {
    int64_t kind, width, descending, record, offset, key_kind, big_endian, terminator;
    const int64_t* table;
};

enum KernelNumber { BASIC = 0, TILED_FULL = 1, TILED_EXACT = 2, CIRCULAR = 3, PATH = 4 };
enum AlgorithmNumber { SORT_MERGE = 0, SORT_BOTTOM_UP = 1, SORT_ITERATIVE = 2, SORT_RECURSIVE = 3, SORT_RADIX = 4 };
enum Equals { KEEP_ALL = 0, KEEP_FIRST = 1, KEEP_NONE_LIKE_FIRST = 2 };

/* kernel: a KernelNumber. block_size: threads that a block stands for. items: a thread's outputs, 0 for its whole piece.
 * tile: items staged at once (path: outputs that four chains share). algorithm, sort_tile: of sorts, and the items that
 * are sorted before any merge. */
struct LaunchSpec {
    int64_t kernel, block_size, items, tile, algorithm, sort_tile;
};

/* Where a source's bytes are: a file from byte `start` on (descriptor >= 0), or memory, or a function that reads `nbytes`
 * at `position` into `out` and returns 0 (negative for failure). size: bytes of the source as items see it. held: how
 * many of them there are; what is beyond is one line's missing terminator. swap: bytes of a key whose byte order is foreign and is
 * turned while it is read, else 0. */
struct SourceSpec {
    int64_t descriptor, start, size, held, swap;
    const unsigned char* memory;
    int64_t (*read)(int64_t context, int64_t position, unsigned char* out, int64_t nbytes);
    int64_t context;
};

/* Where a chunk's result goes: byte `start` of a file, in calls that end at multiples of `piece` bytes, while one of the
 * gate's permits is held (gate may be null). descriptor < 0: it stays in the workspace. swap: as of SourceSpec. */
struct SinkSpec {
    int64_t descriptor, start, piece, swap;
    struct Gate* gate;
};

/* What a chunk came to. items: out, dropped: left out. nbytes: of the result. seconds of each stage. */
struct ChunkResult {
    int64_t items, dropped, nbytes;
    int64_t read_ns, index_ns, check_ns, kernel_ns, write_ns;
};

/* The library's level ("x86-64-v3"), and the version it was built as. */
const char* gm_level(void);
const char* gm_version(void);

/* At most so many threads at a time between enter and leave. */
struct Gate* gm_gate_open(int64_t permits);
void gm_gate_close(struct Gate* gate);

/* Null if there is no memory. threads: host threads that may share one piece of work. */
struct Workspace* gm_open(const struct OrderSpec* order, int64_t capacity, int64_t threads);
void gm_close(struct Workspace* workspace);
/* Room for the bytes of a chunk; null if there is none. What was there is lost when it grows. */
unsigned char* gm_staging(struct Workspace* workspace, int64_t nbytes);
/* Take what lies in staging as runs of these byte lengths, back to back: find items and their prefixes. */
int64_t gm_upload(struct Workspace* workspace, const int64_t* lengths, int64_t runs);
/* Items of each run; of lines known once uploaded. */
void gm_counts(struct Workspace* workspace, int64_t* counts);
/* DONE, or DISORDER with the run and the byte in it. strict: an item equal to the one ahead of it is disorder, too. */
int64_t gm_disorder(struct Workspace* workspace, int64_t strict, struct Failure* failure);
/* equals: an Equals. The runs stay as they are. */
int64_t gm_merge(struct Workspace* workspace, const struct LaunchSpec* launch, int64_t equals);
int64_t gm_sort(struct Workspace* workspace, const struct LaunchSpec* launch, int64_t equals);
/* The merge that looks at the next lines of the runs only, as sort -m does of any input, in order or not; lines only.
 * goes_on: 1 for each run of which lines follow that are not here; the merge ends where the first of these runs does.
 * equals: an Equals, of neighbours in the result. taken[run]: bytes of each run that were merged; gm_counts tells their lines. */
int64_t gm_merge_heads(struct Workspace* workspace, const int64_t* goes_on, int64_t equals, int64_t* taken);
/* The result of the last merge or sort; nbytes and items may be null. */
unsigned char* gm_result(struct Workspace* workspace, int64_t* nbytes, int64_t* items);
/* Merge or sort without bringing rows together; then any thread asks for bytes `position` to `position + nbytes` of the result.
 * Of keys this is as gm_sort and a copy. */
int64_t gm_sort_rows(struct Workspace* workspace, const struct LaunchSpec* launch, int64_t equals);
void gm_receive(struct Workspace* workspace, int64_t position, int64_t nbytes, unsigned char* out);

/* One chunk from its first read to its last write. ranges: start and stop in each of `inputs` sources. check: whether
 * disorder is an error (also between a range's first item and the one ahead of it). sorts: sort instead of merging.
 * equals: KEEP_ALL or KEEP_FIRST; what went out before the ranges counts. */
struct ChunkSpec {
    const struct SourceSpec* sources;
    const int64_t* ranges;
    int64_t inputs, check, sorts, equals;
};
int64_t gm_chunk(struct Workspace* workspace, const struct ChunkSpec* chunk, const struct LaunchSpec* launch,
    const struct SinkSpec* sink, struct ChunkResult* result, struct Failure* failure);

/* Cuts of the merge of the sources between byte positions low[] and high[] (both cuts): cuts[c * inputs + i] becomes the byte of source
 * i at which cut c lies, for about targets[c] bytes ahead of it, ascending; exact under (key, input, position), whatever
 * the targets: each cut is a co-rank. Of unsorted sources cuts still never go backwards. */
struct CutSpec {
    const struct SourceSpec* sources;
    const int64_t *low, *high, *targets;
    int64_t inputs, count;
};
int64_t gm_cut(const struct OrderSpec* order, const struct CutSpec* cut, int64_t* cuts, struct Failure* failure);
/* DONE if a merge of sources that are in order up to their positions puts out what lies ahead of these first; DISORDER if
 * an item behind its position, that of the source told, goes ahead of one that lies ahead. */
int64_t gm_is_cut(const struct OrderSpec* order, const struct SourceSpec* sources, const int64_t* positions, int64_t inputs,
    struct Failure* failure);

/* Resident arrays of keys. runs, counts: address and items of each. */
int64_t gm_merge_arrays(const struct OrderSpec* order, const struct LaunchSpec* launch, const unsigned char* const* runs,
    const int64_t* counts, int64_t inputs, unsigned char* out, int64_t threads);
int64_t gm_sort_array(const struct OrderSpec* order, const struct LaunchSpec* launch, const unsigned char* items, int64_t count,
    unsigned char* out, int64_t threads);
/* ranks[k]: index of the item that is k-th in stable order. */
int64_t gm_sort_ranks(const struct OrderSpec* order, const struct LaunchSpec* launch, const unsigned char* items, int64_t count,
    int64_t* ranks, int64_t threads);
/* The first index whose item goes before the one ahead of it (strict: or equals it), or -1. */
int64_t gm_first_disorder(const struct OrderSpec* order, const unsigned char* items, int64_t count, int64_t strict);

/* Negative, zero or positive as the item of `a_size` bytes (a line without its terminator) goes before, with or behind the other. */
int64_t gm_compare(const struct OrderSpec* order, const unsigned char* a, int64_t a_size, const unsigned char* b, int64_t b_size);
/* bounds[0], bounds[1]: where key `number` of a line begins and ends. */
void gm_key_bounds(const struct OrderSpec* order, int64_t number, const unsigned char* line, int64_t size, int64_t* bounds);

#ifdef __cplusplus
}
#endif
