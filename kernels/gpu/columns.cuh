// Columns: keys and their values, each in arrays of their own. Inside of a kernel a key moves as a small record of the key and
// a payload. The payload is the value if that is narrow, or the number of the item in all runs, laid one behind the other.
// A kernel that reads columns makes the records as it loads them, and one that writes columns takes them apart as it stores.
//
// Macros: FROM_COLUMNS, TO_COLUMNS 0 or 1; COLUMNS runs that columns come from; VALUE_SIZE 1, 2, 4 or 8 bytes of a value, or 0
// if payloads are numbers; VALUE_UNIT 1, 2, 4, 8 or 16 bytes that rows of values are moved in, or 0 if the numbers come out.
#pragma once

#include "../corank.cuh"

#ifndef FROM_COLUMNS
#define FROM_COLUMNS 0
#endif
#ifndef TO_COLUMNS
#define TO_COLUMNS 0
#endif

template <int BYTES> struct WordOf { typedef unsigned int Type; };
template <> struct WordOf<1> { typedef unsigned char Type; };
template <> struct WordOf<2> { typedef unsigned short Type; };
template <> struct WordOf<8> { typedef unsigned long long Type; };
template <> struct WordOf<16> { typedef uint4 Type; };

#if FROM_COLUMNS || TO_COLUMNS

#ifndef COLUMNS
#define COLUMNS 1
#endif
#ifndef VALUE_SIZE
#define VALUE_SIZE 0
#endif
#ifndef VALUE_UNIT
#define VALUE_UNIT 0
#endif

constexpr int KEY_WORDS = (KEY_SIZE + 3) / 4;
constexpr int PAYLOAD_SIZE = RECORD_SIZE - 4 * KEY_WORDS;
typedef WordOf<KEY_SIZE>::Type Key;
typedef WordOf<PAYLOAD_SIZE>::Type Payload;
typedef WordOf<VALUE_SIZE>::Type Value;
typedef WordOf<VALUE_UNIT>::Type ValueUnit;

// values, counts: of the runs that columns come from. keys: where keys go, or null. moved: where values or numbers go. units:
// in a row of values.
struct Columns {
    const void* values[COLUMNS];
    long long counts[COLUMNS];
    Key* keys;
    void* moved;
    long long units;
};

__device__ __forceinline__ Item item_of(Key key, Payload payload)
{
    const unsigned long long bits = key, carried = payload;
    Item item;
    item.words[0] = static_cast<unsigned>(bits);
    if (KEY_WORDS == 2) item.words[KEY_WORDS - 1] = static_cast<unsigned>(bits >> 32);
    item.words[KEY_WORDS] = static_cast<unsigned>(carried);
    if (PAYLOAD_SIZE == 8) item.words[RECORD_SIZE / 4 - 1] = static_cast<unsigned>(carried >> 32);
    return item;
}

__device__ __forceinline__ Key key_of(const Item& item)
{
    unsigned long long bits = item.words[0];
    if (KEY_WORDS == 2) bits |= static_cast<unsigned long long>(item.words[KEY_WORDS - 1]) << 32;
    return static_cast<Key>(bits);
}

__device__ __forceinline__ Payload payload_of(const Item& item)
{
    unsigned long long bits = item.words[KEY_WORDS];
    if (PAYLOAD_SIZE == 8) bits |= static_cast<unsigned long long>(item.words[RECORD_SIZE / 4 - 1]) << 32;
    return static_cast<Payload>(bits);
}

// The payload of an item: its place in its run, and its number in all runs.
__device__ __forceinline__ Payload payload_at(
    [[maybe_unused]] const Columns& columns, [[maybe_unused]] int run, [[maybe_unused]] long long place, long long number)
{
#if VALUE_SIZE
    return static_cast<const Value*>(columns.values[run])[place];
#else
    return static_cast<Payload>(number);
#endif
}

// Keys as a sequence of items, to search. They have no payload.
struct KeyColumn {
    const Key* keys;

    __device__ __forceinline__ Item operator[](long long at) const { return item_of(keys[at], Payload()); }
};

// Makes `count` records from columns. `make` gives the record of a place. All loads are issued before a thread waits for the
// first one. A thread makes TURNS of them at most. Every thread of the block must call this.
template <int THREADS, int TURNS, typename Make>
__device__ __forceinline__ void read_columns(Item* to, int count, Make make)
{
    Item made[TURNS];
#pragma unroll
    for (int turn = 0; turn < TURNS; ++turn) {
        const int at = turn * THREADS + static_cast<int>(threadIdx.x);
        if (at < count) made[turn] = make(at);
    }
#pragma unroll
    for (int turn = 0; turn < TURNS; ++turn) {
        const int at = turn * THREADS + static_cast<int>(threadIdx.x);
        if (at < count) to[at] = made[turn];
    }
    __syncthreads();  // the records are made before any thread reads them
}

// Writes `count` records of shared memory to the columns: record i becomes row place_of(i). Every thread of the block must call
// this, behind a barrier.
template <typename PlaceOf>
__device__ __forceinline__ void write_columns(
    const Columns& columns, const Item* records, int count, int threads, PlaceOf place_of)
{
    const int thread = static_cast<int>(threadIdx.x);
    for (int at = thread; at < count; at += threads) {
        const Item item = records[at];
        const long long to = place_of(at);
        if (columns.keys != nullptr) columns.keys[to] = key_of(item);
#if VALUE_SIZE
        static_cast<Value*>(columns.moved)[to] = static_cast<Value>(payload_of(item));
#elif !VALUE_UNIT
        static_cast<long long*>(columns.moved)[to] = payload_of(item);
#endif
    }
#if !VALUE_SIZE && VALUE_UNIT
    ValueUnit* const moved = static_cast<ValueUnit*>(columns.moved);
    for (long long at = thread; at < count * columns.units; at += threads) {
        const int row = static_cast<int>(columns.units == 1 ? at : at / columns.units);
        const long long unit = at - row * columns.units;
        long long place = payload_of(records[row]);
        int run = 0;
#pragma unroll
        for (int next = 0; next < COLUMNS - 1; ++next) {
            if (run < next || place < columns.counts[next]) continue;
            place -= columns.counts[next];
            run = next + 1;
        }
        // Where two items of changing data got one rank, a record of the level ahead may hold any number.
        if (static_cast<unsigned long long>(place) >= static_cast<unsigned long long>(columns.counts[run])) continue;
        const ValueUnit* const values = static_cast<const ValueUnit*>(columns.values[run]);
        moved[place_of(row) * columns.units + unit] = values[place * columns.units + unit];
    }
#endif
}

// The same for rows one behind the other, from `first` on.
__device__ __forceinline__ void write_columns(
    const Columns& columns, const Item* records, long long first, int count, int threads)
{
    write_columns(columns, records, count, threads, [=](int at) { return first + at; });
}

#endif
