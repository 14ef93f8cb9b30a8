// The bytes and items of a source, in a file, in memory or behind a function. A source keeps only a window: a short stretch
// and one long line. Several sources may share the window. Everything else is read again when it is asked for.
#pragma once

#include <cstdint>

#include "compare.hpp"
#include "entries.h"
#include "memory.hpp"

// Reads the bytes [position, position + nbytes) of source number `input`. Keys come in the host's byte order, and the last
// line with its terminator, even if the file lacks it. Throws Fault.
void read_source(const SourceSpec& source, const OrderSpec& order, int64_t input, int64_t position, unsigned char* out,
    int64_t nbytes);

constexpr int64_t LOOK = 4096;  // the bytes of a window, unless an item is longer

struct Stretch {
    int64_t at, nbytes;
};

// A line that takes long to read: its place, and whether the window's `item` holds its bytes.
struct LongLine {
    int64_t input = -1, start = 0, end = 0;
    bool held = false;
};

// The last stretch that was read, of any source, and the last line that did not fit into a stretch.
struct Window {
    int64_t input = -1, from = 0, to = 0;
    Buffer room, item, key;  // key: made of an item
    LongLine long_line;
};

// The items of a source. An argument `start` must be the start of an item, or the size of the source. Every function may
// throw Fault and std::bad_alloc.
class Items {
public:
    Items(const SourceSpec& source, const OrderSpec& order, int64_t input, Window& window);

    int64_t size() const { return source_->size; }
    int64_t input() const { return input_; }
    bool lines() const { return order_->kind == LINES; }

    // Reads the bytes [low, high) into the window, unless it holds all of them.
    void look(int64_t low, int64_t high);

    // The start of the first item at `position` or behind it; `limit` or more if no item starts ahead of limit. limit must be
    // the start or end of an item.
    int64_t start_from(int64_t position, int64_t limit);
    int64_t end_of(int64_t start);
    // The start of the item directly ahead of the one at `start`, which must not be 0.
    int64_t start_before(int64_t start);
    // The start of the last item that starts in the window, and ends in it or ahead of `limit`; -1 if there is none.
    int64_t last_in_window(int64_t limit);

    // The key of the first item at `at`, which must end within `nbytes` bytes. It is valid until the next call.
    Bytes key_in(const unsigned char* at, int64_t nbytes) const;
    // The key of an item: a line without its terminator or the part of it that is its source's key, the key of a record, or the
    // item itself. It is valid until the next call.
    Bytes key(int64_t start);
    // The same, copied to `out`.
    Bytes read_key(int64_t start, Buffer& out);
    // Negative, zero or positive, if the item at `start` goes before, with or behind the item whose key is `other`. It reads
    // only as much of a long line as it needs.
    int compare(int64_t start, Bytes other);
    int compare_keys(Bytes x, Bytes y) const;

    // Whether keys have images: integers, of which the smaller one belongs to the key that goes first.
    bool has_images() const { return !lines() && order_->table == nullptr; }
    // Whether keys with equal images compare equal.
    bool image_decides() const { return order_->width <= 8; }
    uint64_t image(Bytes key) const;
    // The start of the file's block of LOOK bytes that holds this position. A window that starts there is one block to read.
    int64_t block_of(int64_t position) const { return position - (source_->start + position) % LOOK; }

private:
    int64_t behind_terminator(int64_t position, int64_t limit);
    bool knows_long() const { return window_->long_line.input == input_; }
    void remember(int64_t start, int64_t end);
    bool holds(int64_t low, int64_t high) const
    {
        return window_->input == input_ && low >= window_->from && high <= window_->to;
    }
    const unsigned char* held(int64_t position) const { return window_->room.data() + (position - window_->from); }
    Stretch key_of(int64_t start);  // the place of the key
    int compare_begun(int64_t start, Bytes other);
    Bytes part_of(Bytes item) const
    {
        return source_->key == nullptr ? item : key_part(*order_, source_->key, item, window_->key);
    }

    const SourceSpec* source_;
    const OrderSpec* order_;
    Window* window_;
    OrderSpec keys_;  // the order of the keys that key() returns
    int64_t input_, item_;
    Stretch key_;  // the place of the key in an item, not for lines
};
