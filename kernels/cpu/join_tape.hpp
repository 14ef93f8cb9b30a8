// A stretch of a source, read from its start to its end through a window of memory. Included by join.cpp.
#pragma once

class Tape {
public:
    // Begins with the bytes [from, to) of a source. room: the bytes of the window, which grows if something longer is kept.
    void begin(const SourceSpec& source, const OrderSpec& order, int64_t input, int64_t from, int64_t to, int64_t room)
    {
        source_ = &source;
        order_ = &order;
        input_ = input;
        to_ = to;
        if (source.swap > 0) room = (room + source.swap - 1) / source.swap * source.swap;
        size_ = std::min(room, to - from);
        next = stop_ = data_.reserve(static_cast<size_t>(size_));
        behind_ = from;
        fill();
    }

    const unsigned char* stop() const { return stop_; }     // the end of the bytes in the window
    bool is_last() const { return behind_ == to_; }         // whether the stretch of the source ends where the window does
    bool over() const { return next == stop_ && is_last(); }
    int64_t size() const { return size_; }
    // The place of a byte of the window in the source.
    int64_t place_of(const unsigned char* byte) const { return behind_ - (stop_ - byte); }

    // Reads more behind the window's bytes, of which those ahead of `keep` are given up. Returns by how much the others have
    // moved in memory. There must be more to read.
    ptrdiff_t read_on(const unsigned char* keep)
    {
        const int64_t kept = stop_ - keep;
        Buffer other;
        unsigned char* to = data_.data();
        if (kept > size_ / 2) {
            size_ = std::min(2 * size_ + 64, kept + (to_ - behind_));
            to = other.reserve(static_cast<size_t>(size_));
        }
        const ptrdiff_t moved = reinterpret_cast<intptr_t>(to) - reinterpret_cast<intptr_t>(keep);
        std::memmove(to, keep, static_cast<size_t>(kept));
        if (to != data_.data()) data_.swap(other);
        next += moved;
        stop_ = to + kept;
        fill();
        return moved;
    }

    const unsigned char* next = nullptr;  // the first byte that is not taken yet

private:
    void fill()
    {
        const int64_t more = std::min(size_ - (stop_ - data_.data()), to_ - behind_) / unit() * unit();
        read_source(*source_, *order_, input_, behind_, stop_, more);
        stop_ += more;
        behind_ += more;
    }

    int64_t unit() const { return source_->swap > 0 ? source_->swap : 1; }

    const SourceSpec* source_ = nullptr;
    const OrderSpec* order_ = nullptr;
    int64_t input_ = 0, to_ = 0, behind_ = 0, size_ = 0;  // behind_: the place in the source behind the window
    unsigned char* stop_ = nullptr;
    Buffer data_;
};
