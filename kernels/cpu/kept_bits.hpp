// A bit for each item, in pages. A few pages lie in memory, and the others in a file.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <vector>

#include "fault.hpp"

class KeptBits {
public:
    static constexpr int64_t PAGE = 1 << 12;  // bytes; a rule for last items turns to any page at any time

    // descriptor: of a file that may be written, or -1 if all pages fit into memory. most: bytes of memory; a page at least.
    KeptBits(int descriptor, int64_t most) : descriptor_(descriptor), frames_(static_cast<size_t>(most < PAGE ? 1 : most / PAGE)) {}

    bool test(int64_t place) { return (word(place) >> (place & 63) & 1) != 0; }
    // Throws Fault and std::bad_alloc.
    void set(int64_t place, bool on)
    {
        uint64_t& bits = word(place);
        const uint64_t mask = uint64_t{1} << (place & 63);
        bits = on ? bits | mask : bits & ~mask;
        frames_[frame_].changed = true;
    }

private:
    struct Frame {
        std::unique_ptr<uint64_t[]> words;
        int64_t page = -1;
        bool changed = false;
    };

    uint64_t& word(int64_t place)
    {
        const int64_t page = place / (8 * PAGE);
        frame_ = static_cast<size_t>(page) % frames_.size();
        Frame& frame = frames_[frame_];
        if (frame.page != page) bring(frame, page);
        return frame.words[place / 64 % (PAGE / 8)];
    }

    __attribute__((noinline)) void bring(Frame& frame, int64_t page)
    {
        if (!frame.words) frame.words.reset(new uint64_t[PAGE / 8]());
        else {
            if (frame.changed) move(frame, true);
            __builtin_memset(frame.words.get(), 0, PAGE);
        }
        frame.page = page;
        frame.changed = false;
        if (descriptor_ >= 0) move(frame, false);
    }

    // Writes a frame to its page, or reads it. Behind its end the file is zero.
    void move(Frame& frame, bool out) const
    {
        char* const at = reinterpret_cast<char*>(frame.words.get());
        for (int64_t done = 0; done < PAGE;) {
            const off_t place = frame.page * PAGE + done;
            const size_t left = static_cast<size_t>(PAGE - done);
            const ssize_t moved = out ? pwrite(descriptor_, at + done, left, place) : pread(descriptor_, at + done, left, place);
            if (moved < 0 && errno == EINTR) continue;
            if (moved < 0) throw Fault{WRITE_FAILED, {errno, -1, -1}};
            if (moved == 0) return;
            done += moved;
        }
    }

    const int descriptor_;
    std::vector<Frame> frames_;
    size_t frame_ = 0;  // of the last word
};
