#include "source.hpp"

#include <cerrno>
#include <cstring>
#include <unistd.h>

#include "compare.hpp"
#include "fault.hpp"

namespace {

constexpr int64_t LARGEST_CALL = 1 << 30;  // one call moves less than 2^31 bytes on Linux
constexpr int64_t LARGEST_LOOK = 1 << 24;
constexpr int64_t SHORT = 1 << 16;  // lines up to this length are read whole

int64_t smaller(int64_t x, int64_t y) { return x < y ? x : y; }
int64_t larger(int64_t x, int64_t y) { return x > y ? x : y; }

void read_file(const SourceSpec& source, int64_t input, int64_t position, unsigned char* out, int64_t nbytes)
{
    while (nbytes > 0) {
        const ssize_t count = pread(static_cast<int>(source.descriptor), out,
            static_cast<size_t>(smaller(nbytes, LARGEST_CALL)), source.start + position);
        if (count < 0) {
            if (errno == EINTR) continue;
            throw Fault{READ_FAILED, {errno, input, position}};
        }
        if (count == 0) throw Fault{INPUT_SHRANK, {0, input, position}};
        out += count;
        position += count;
        nbytes -= count;
    }
}

template <typename Word>
void swap_words(unsigned char* at, int64_t nbytes)
{
    for (int64_t done = 0; done + static_cast<int64_t>(sizeof(Word)) <= nbytes; done += sizeof(Word)) {
        Word word;
        std::memcpy(&word, at + done, sizeof word);
        if constexpr (sizeof(Word) == 2) word = __builtin_bswap16(word);
        if constexpr (sizeof(Word) == 4) word = __builtin_bswap32(word);
        if constexpr (sizeof(Word) == 8) word = __builtin_bswap64(word);
        std::memcpy(at + done, &word, sizeof word);
    }
}

}  // namespace

void swap_keys(unsigned char* at, int64_t nbytes, int64_t width)
{
    if (width == 2) swap_words<uint16_t>(at, nbytes);
    if (width == 4) swap_words<uint32_t>(at, nbytes);
    if (width == 8) swap_words<uint64_t>(at, nbytes);
}

void read_source(const SourceSpec& source, const OrderSpec& order, int64_t input, int64_t position, unsigned char* out,
    int64_t nbytes)
{
    const int64_t there = larger(0, smaller(nbytes, source.held - position));
    if (there > 0) {
        if (source.memory != nullptr) {
            std::memcpy(out, source.memory + source.start + position, static_cast<size_t>(there));
        } else if (source.read != nullptr) {
            const int64_t returned = source.read(source.context, source.start + position, out, there);
            if (returned != there) throw Fault{CALLBACK_FAILED, {returned < 0 ? -returned : 0, input, position}};
        } else {
            read_file(source, input, position, out, there);
        }
    }
    if (there < nbytes) std::memset(out + there, static_cast<int>(order.terminator), static_cast<size_t>(nbytes - there));
    if (source.swap > 0) swap_keys(out, nbytes, source.swap);
}

Items::Items(const SourceSpec& source, const OrderSpec& order, int64_t input, Window& window)
    : source_(&source), order_(&order), window_(&window), keys_(order), input_(input),
      item_(order.kind == RECORDS ? order.record : order.width)
{
    if (order.kind == RECORDS && source.key != nullptr) {
        item_ = record_in(source.key);
        key_ = {0, item_};
    } else if (order.kind != RECORDS) {
        key_ = {0, order.width};
    } else if (order.table != nullptr) {
        key_ = {0, order.record};  // the fields may lie anywhere
    } else {
        key_ = {order.offset, order.width};
        keys_.record = order.width;
        keys_.offset = 0;
    }
}

void Items::look(int64_t low, int64_t high)
{
    low = larger(0, low);
    high = smaller(size(), high);
    if (order_->kind < RECORDS || source_->swap > 0) {  // whole keys only: their byte order may have to be reversed
        low = low / item_ * item_;
        high = (high + item_ - 1) / item_ * item_;
    }
    if (high <= low || holds(low, high)) return;
    window_->input = -1;
    unsigned char* out = window_->room.reserve(static_cast<size_t>(larger(high - low, LOOK)));
    read_source(*source_, *order_, input_, low, out, high - low);
    window_->input = input_;
    window_->from = low;
    window_->to = high;
}

int64_t Items::start_from(int64_t position, int64_t limit)
{
    if (!lines()) return smaller(limit, (position + item_ - 1) / item_ * item_);
    if (position <= 0) return 0;
    if (position >= limit) return limit;
    const LongLine& line = window_->long_line;
    if (knows_long() && position > line.start && position <= line.end) return smaller(limit, line.end);
    return behind_terminator(position - 1, limit);
}

int64_t Items::end_of(int64_t start)
{
    if (!lines()) return smaller(size(), start + item_);
    if (knows_long() && window_->long_line.start == start) return window_->long_line.end;
    const int64_t end = behind_terminator(start, size());
    remember(start, end);
    return end;
}

void Items::remember(int64_t start, int64_t end)
{
    if (end - start > SHORT) window_->long_line = {input_, start, end, false};
}

// The place behind the first terminator from `position` on; `limit` if there is none ahead of it.
int64_t Items::behind_terminator(int64_t position, int64_t limit)
{
    const int end = static_cast<int>(order_->terminator);
    int64_t block = LOOK;
    for (int64_t at = position; at < limit;) {
        if (!holds(at, at + 1)) look(at, smaller(at + block, limit));
        const int64_t stop = smaller(limit, window_->to);
        const void* found = std::memchr(held(at), end, static_cast<size_t>(stop - at));
        if (found != nullptr) return at + (static_cast<const unsigned char*>(found) - held(at)) + 1;
        at = stop;
        block = smaller(2 * block, LARGEST_LOOK);
    }
    return limit;
}

int64_t Items::start_before(int64_t start)
{
    if (!lines()) return larger(0, start - item_);
    if (knows_long() && window_->long_line.end == start) return window_->long_line.start;
    const int end = static_cast<int>(order_->terminator);
    int64_t block = LOOK, before = 0;
    for (int64_t stop = start - 1; stop > 0;) {
        const int64_t low = larger(0, stop - block);
        if (!holds(low, stop)) look(low, stop);
        const void* found = memrchr(held(low), end, static_cast<size_t>(stop - low));
        if (found != nullptr) {
            before = low + (static_cast<const unsigned char*>(found) - held(low)) + 1;
            break;
        }
        stop = low;
        block = smaller(2 * block, LARGEST_LOOK);
    }
    remember(before, start);
    return before;
}

int64_t Items::last_in_window(int64_t limit)
{
    if (window_->input != input_) return -1;
    const int64_t from = window_->from, stop = smaller(limit, window_->to);
    if (!lines()) {
        const int64_t start = stop / item_ * item_ - item_;
        return start >= from ? start : -1;
    }
    const int end = static_cast<int>(order_->terminator);
    const auto back = [&](int64_t high) -> int64_t {  // the place behind the last terminator ahead of `high`
        const void* found = high > from ? memrchr(held(from), end, static_cast<size_t>(high - from)) : nullptr;
        return found == nullptr ? -1 : from + (static_cast<const unsigned char*>(found) - held(from)) + 1;
    };
    const int64_t ended = back(stop);
    if (ended < 0) return -1;
    const int64_t start = back(ended - 1);
    return start < 0 && from == 0 ? 0 : start;
}

Bytes Items::key_in(const unsigned char* at, int64_t nbytes) const
{
    if (!lines()) return part_of({at + key_.at, key_.nbytes});
    const void* found = std::memchr(at, static_cast<int>(order_->terminator), static_cast<size_t>(nbytes));
    return part_of({at, found == nullptr ? nbytes : static_cast<const unsigned char*>(found) - at});
}

Stretch Items::key_of(int64_t start)
{
    if (lines()) return {start, end_of(start) - 1 - start};
    return {start + key_.at, key_.nbytes};
}

Bytes Items::key(int64_t start)
{
    const auto [at, nbytes] = key_of(start);
    if (!holds(at, at + nbytes) && nbytes <= SHORT) look(at, at + nbytes);
    if (holds(at, at + nbytes)) return part_of({held(at), nbytes});
    LongLine& line = window_->long_line;
    const bool is_long = knows_long() && line.start == start;
    if (is_long && line.held) return part_of({window_->item.data(), nbytes});
    line.held = false;
    unsigned char* whole = window_->item.reserve(static_cast<size_t>(nbytes));
    read_source(*source_, *order_, input_, at, whole, nbytes);
    line.held = is_long;
    return part_of({whole, nbytes});
}

Bytes Items::read_key(int64_t start, Buffer& out)
{
    const auto [at, nbytes] = key_of(start);
    if (source_->key != nullptr) {
        const Bytes found = key(start);
        unsigned char* const kept = out.reserve(static_cast<size_t>(found.size));
        if (found.size > 0) std::memcpy(kept, found.at, static_cast<size_t>(found.size));
        return {kept, found.size};
    }
    unsigned char* copy = out.reserve(static_cast<size_t>(nbytes));
    if (holds(at, at + nbytes)) std::memcpy(copy, held(at), static_cast<size_t>(nbytes));
    else read_source(*source_, *order_, input_, at, copy, nbytes);
    return {copy, nbytes};
}

int Items::compare(int64_t start, Bytes other)
{
    if (lines() && source_->key == nullptr && is_plain(*order_)) return compare_begun(start, other);
    return compare_keys(key(start), other);
}

uint64_t Items::image(Bytes key) const { return image_of_key(keys_, key.at); }

int Items::compare_keys(Bytes x, Bytes y) const { return compare_items(keys_, x.at, x.size, y.at, y.size); }

// Compares two lines by their bytes, block by block.
int Items::compare_begun(int64_t start, Bytes other)
{
    const int end = static_cast<int>(order_->terminator);
    int64_t done = 0, block = LOOK;
    int result = 0;
    for (bool over = false; result == 0 && !over;) {
        const int64_t at = start + done;
        if (!holds(at, smaller(size(), at + 1))) look(at, at + block);
        block = smaller(2 * block, LARGEST_LOOK);
        const int64_t there = window_->to - at;
        const void* found = std::memchr(held(at), end, static_cast<size_t>(there));
        over = found != nullptr || window_->to >= size();
        const int64_t mine = found == nullptr ? there : static_cast<const unsigned char*>(found) - held(at);
        const int64_t others = other.size - done, both = smaller(mine, others);
        if (both > 0) result = std::memcmp(held(at), other.at + done, static_cast<size_t>(both));
        if (result == 0 && mine > others) result = 1;
        if (result == 0 && mine < others && over) result = -1;
        done += mine;
    }
    return is_reversed(*order_) ? -result : result;
}
