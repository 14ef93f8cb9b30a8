// Joins two sorted sources of lines or records. join_walk.hpp finds the groups of equal keys, and join_asof.hpp the nearest items.
//
// Keys are compared once with the key ahead of them, which also shows disorder, and once with the other input's. Their images,
// which are those of sorts, decide nearly all comparisons.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <ctime>
#include <vector>

#include "compare.hpp"
#include "fault.hpp"
#include "find.hpp"
#include "json_images.hpp"
#include "memory.hpp"
#include "packing.hpp"
#include "source.hpp"
#include "team.hpp"

#define ROWS 1
#define KEY_BITS 64
#define KEY_KIND 0
#define DESCENDING 0
#define TEXT_PADDING 64
#include "../host.cuh"

// See the entries.
struct Join {
    virtual ~Join() = default;
    virtual void start(const int64_t* ranges, bool check) = 0;
    virtual void next(int64_t most, JoinResult& result) = 0;
    virtual void pair(Bytes a, Bytes b, JoinResult& result) = 0;
    virtual int64_t fields(int64_t input, Bytes line) = 0;
};

namespace {

#include "../corank.cuh"
#include "../record_fields.cuh"
#include "line_images.hpp"
#include "own_order.hpp"
#include "key_fields.hpp"
#include "record_fields.hpp"
#include "join_passing.hpp"
#include "join_fields.hpp"
#include "join_output.hpp"
#include "join_tape.hpp"
#include "join_sides.hpp"
#include "join_walk.hpp"
#include "join_lines.hpp"
#include "join_records.hpp"
#include "exact_sum.hpp"
#include "asof_values.hpp"
#include "asof_lines.hpp"
#include "asof_records.hpp"
#include "join_asof.hpp"

int64_t now()
{
    timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return int64_t{at.tv_sec} * 1'000'000'000 + at.tv_nsec;
}

}  // namespace

struct Join* gm_join_open(const struct JoinSpec* spec, int64_t room)
{
    try {
        const bool records = spec->keys->kind == RECORDS;
        if (spec->asof != nullptr) {
            if (records) return new AsofWalk<RecordKind, RecordAsof>(*spec, room);
            return new AsofWalk<LineKind, LineAsof>(*spec, room);
        }
        if (records) return new Walk<RecordKind>(*spec, room);
        return new Walk<LineKind>(*spec, room);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

void gm_join_close(struct Join* join) { delete join; }

int64_t gm_join_start(struct Join* join, const int64_t* ranges, int64_t check, struct JoinResult* result,
    struct Failure* failure)
{
    *result = JoinResult{};
    return stopped_by(failure, [&] {
        const int64_t began = now();
        join->start(ranges, check != 0);
        result->read_ns = now() - began;
    });
}

int64_t gm_join_next(struct Join* join, int64_t most, struct JoinResult* result, struct Failure* failure)
{
    *result = JoinResult{};
    return stopped_by(failure, [&] {
        const int64_t began = now();
        join->next(most, *result);
        result->kernel_ns = now() - began;
    });
}

int64_t gm_join_pair(struct Join* join, const unsigned char* a, int64_t a_size, const unsigned char* b, int64_t b_size,
    struct JoinResult* result)
{
    *result = JoinResult{};
    Failure failure;
    return stopped_by(&failure, [&] { join->pair({a, a_size}, {b, b_size}, *result); });
}

int64_t gm_read_duration(const unsigned char* text, int64_t size, int64_t* found)
{
    bool negative;
    const Duration duration = duration_of({text, text + size}, negative);
    found[0] = duration.seconds;
    found[1] = duration.nanos;
    found[2] = negative;
    return duration.valid;
}

int64_t gm_join_fields(struct Join* join, int64_t input, const unsigned char* line, int64_t size)
{
    int64_t count = -1;
    Failure failure;
    stopped_by(&failure, [&] { count = join->fields(input, {line, size}); });
    return count;
}
