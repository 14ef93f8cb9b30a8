// Reads cases from a file, runs each on its variant of the kernels, and compares the output with the right one.
#pragma once

#include "shim.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <set>
#include <string>

// kernel_shim.py writes ahead of this file: the enumeration Work, and MERGES_OF_PAIRS(MERGE), the kernels that merge pairs
// without cuts, each as MERGE(its Work, file, function, blocks, staged items, sizes that it takes...).

// A case as tests/kernels/kernel_shim.py packs it. Counts are items, or bytes for ROWS_MERGE. skew: the items by which a buffer
// starts behind a 16-byte boundary. strict: for CHECK. loose: the runs are not in order. Then each output item must be an
// input item, and cuts must lie in the runs and add up.
struct Header {
    long long variant, work, merge, block, items, tile, blocks, m, n, a_skew, b_skew, out_skew, strict, loose, order_bytes,
        a_bytes, b_bytes, expected_bytes;
};

// `bytes` bytes, `skew` bytes behind a 16-byte boundary. Room up to the next boundary, since vectors are read whole.
class Buffer {
public:
    Buffer(long long bytes, long long skew) : skew_(skew), memory_(shim::allocate((skew + bytes + 15) / 16 * 16))
    {
        std::memset(memory_.get(), 0xee, (skew + bytes + 15) / 16 * 16);
    }

    template <typename T>
    T* as() const
    {
        return reinterpret_cast<T*>(memory_.get() + skew_);
    }

    // Whether the memory around the bytes is unchanged.
    bool nothing_around(long long bytes) const
    {
        const unsigned char *const begin = memory_.get(), *const end = begin + (skew_ + bytes + 15) / 16 * 16;
        const auto untouched = [](unsigned char byte) { return byte == 0xee; };
        return std::all_of(begin, begin + skew_, untouched) && std::all_of(begin + skew_ + bytes, end, untouched);
    }

private:
    long long skew_;
    shim::Bytes memory_;
};

// An output: nothing behind its end may be written, not even inside its last vector, and nothing ahead of it.
class Output {
public:
    Output(long long bytes, long long skew) : skew_(skew), memory_(shim::allocate(skew + bytes))
    {
        std::memset(memory_.get(), 0xee, skew + bytes);
    }

    bool nothing_ahead() const
    {
        return std::all_of(memory_.get(), memory_.get() + skew_, [](unsigned char byte) { return byte == 0xee; });
    }

    template <typename T>
    T* as() const
    {
        return reinterpret_cast<T*>(memory_.get() + skew_);
    }

private:
    long long skew_;
    shim::Bytes memory_;
};

// order: the words that lie ahead of the starts of lines.
struct Case {
    Header header;
    std::string order, a, b, expected;
};

inline unsigned ceil_div(long long count, long long size) { return static_cast<unsigned>((count + size - 1) / size); }

inline bool read_case(std::ifstream& file, Case& next)
{
    if (!file.read(reinterpret_cast<char*>(&next.header), sizeof(Header))) return false;
    const auto read = [&](std::string& part, long long bytes) {
        part.resize(bytes);
        file.read(part.data(), bytes);
    };
    read(next.order, next.header.order_bytes);
    read(next.a, next.header.a_bytes);
    read(next.b, next.header.b_bytes);
    read(next.expected, next.header.expected_bytes);
    return true;
}

// The error in items that should all be items of `input`.
inline std::string made_up(const char* items, std::size_t count, const std::string& input, std::size_t size)
{
    std::set<std::string> known;
    for (std::size_t at = 0; at + size <= input.size(); at += size) known.insert(input.substr(at, size));
    for (std::size_t item = 0; item < count; ++item)
        if (known.count(std::string(items + item * size, size)) == 0) return "an item that was not in the input";
    return "";
}

using Runner = std::string (*)(const Case&);

inline int run_cases(const char* path, const Runner* runners)
{
    std::ifstream file(path, std::ios::binary);
    Case next;
    int failed = 0;
    for (long long number = 0; read_case(file, next); ++number) {
        const Header& h = next.header;
        const std::string got = runners[h.variant](next);
        if (got == next.expected) continue;
        if (next.header.loose) std::printf("%s: ", got.c_str());
        std::size_t at = 0;
        while (at < got.size() && at < next.expected.size() && got[at] == next.expected[at]) ++at;
        std::printf("case %lld: byte %zu of %zu differs (got %zu bytes); variant %lld work %lld merge %lld block %lld items "
                    "%lld tile %lld blocks %lld m %lld n %lld\n",
            number, at, next.expected.size(), got.size(), h.variant, h.work, h.merge, h.block, h.items, h.tile, h.blocks,
            h.m, h.n);
        ++failed;
    }
    return failed == 0 ? 0 : 1;
}
