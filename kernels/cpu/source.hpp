// Bytes and items of one source, wherever they lie. A source keeps nothing but a window, which may be that of many
// sources: a short stretch and one long line. Whatever else is asked is read anew.
#pragma once

#include <cstdint>

#include "entries.h"
#include "memory.hpp"

// The bytes [position, position + nbytes) of source number `input` as items see them: keys in the host's byte order, the
// last line's terminator supplied. Throws Fault.
void read_source(const SourceSpec& source, const OrderSpec& order, int64_t input, int64_t position, unsigned char* out,
    int64_t nbytes);

struct Bytes {
    const unsigned char* at;
    int64_t size;
};

struct Stretch {
    int64_t at, nbytes;
};

// A line that takes long to read: where it was found, and whether the window's `item` holds its bytes.
struct LongLine {
    int64_t input = -1, start = 0, end = 0;
    bool held = false;
};

// The last stretch that was read of any source, and the last line that was too long for it.
struct Window {
    int64_t input = -1, from = 0, to = 0;
    Buffer room, item;
    LongLine long_line;
};

// The items of a source. Positions given must be those of items' starts, or the source's size, where they are called
// start. Every function may throw Fault and std::bad_alloc.
class Items {
public:
    Items(const SourceSpec& source, const OrderSpec& order, int64_t input, Window& window);

    int64_t size() const { return source_->size; }
    int64_t input() const { return input_; }
    bool lines() const { return order_->kind == LINES; }

    // Have the bytes from `low` on, up to `high`, in the window. A window that has them all stays as it is.
    void look(int64_t low, int64_t high);

    // Where the first item at `position` or behind it starts; `limit` or more if none does ahead of that. limit must be an
    // item's start or end.
    int64_t start_from(int64_t position, int64_t limit);
    int64_t end_of(int64_t start);
    // The item that ends where the one at `start` begins; start must not be 0.
    int64_t start_before(int64_t start);
    // The last item that starts in the window and ends there, or ahead of `limit`: where; -1 if there is none.
    int64_t last_in_window(int64_t limit);

    // What compares of the first item at `at`, which ends within `nbytes`.
    Bytes key_in(const unsigned char* at, int64_t nbytes) const;
    // What compares of an item, valid until the next call: a line without its terminator, a record's key, a key.
    Bytes key(int64_t start);
    // The same, copied to `out`.
    Bytes read_key(int64_t start, Buffer& out);
    // Negative, zero or positive as the item at `start` goes before, with or behind one of which `other` compares. Of
    // long lines it reads no more than it has to.
    int compare(int64_t start, Bytes other);
    int compare_keys(Bytes x, Bytes y) const;

private:
    int64_t behind_terminator(int64_t position, int64_t limit);
    bool knows_long() const { return window_->long_line.input == input_; }
    void remember(int64_t start, int64_t end);
    bool holds(int64_t low, int64_t high) const
    {
        return window_->input == input_ && low >= window_->from && high <= window_->to;
    }
    const unsigned char* held(int64_t position) const { return window_->room.data() + (position - window_->from); }
    Stretch key_of(int64_t start);  // where its key lies
    int compare_begun(int64_t start, Bytes other);

    const SourceSpec* source_;
    const OrderSpec* order_;
    Window* window_;
    OrderSpec keys_;  // the order of what key() gives
    int64_t input_, item_;
};

constexpr int64_t LOOK = 4096;  // bytes of a window, unless an item is longer
