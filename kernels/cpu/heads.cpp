// Merges lines as sort -m does, in order or not: only the next lines of the runs, the heads, are compared.
//
// Each run has a room for the bytes that were read of it. Its lines are found one at a time, and lines that lie one behind
// the other go out as one stretch: where runs are out of order, one of them often gives many lines before another one does.
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "compare.hpp"
#include "find.hpp"
#include "memory.hpp"
#include "packing.hpp"
#include "team.hpp"

#include "entries.h"

#define ROWS 1
#define KEY_BITS 64
#define TEXT_PADDING 64
#include "../host.cuh"

// See the entries.
struct Heads {
    virtual ~Heads() = default;
    virtual void follow(const unsigned char* line, int64_t size) = 0;
    virtual unsigned char* room(int64_t run, int64_t nbytes, bool last) = 0;
    virtual void next(HeadsResult& result) = 0;
    virtual void counts(int64_t* counts) const = 0;
};

namespace {

#include "../corank.cuh"
#include "line_images.hpp"
#include "own_order.hpp"
#include "plain_words.hpp"

// Memory that says how much it holds.
struct Held {
    Buffer bytes;
    int64_t size = 0;

    unsigned char* data() const { return bytes.data(); }
    void reserve(int64_t nbytes)
    {
        bytes.reserve(static_cast<size_t>(nbytes));
        size = nbytes;
    }

    // Whether it holds so many bytes, and is not far larger: a long line has gone out.
    bool suits(int64_t nbytes) const { return data() != nullptr && size >= nbytes && size / 4 <= nbytes; }
    void swap(Held& other)
    {
        bytes.swap(other.bytes);
        std::swap(size, other.size);
    }
};

struct Head {
    Word words[2];
    Text line;
    bool exact;
};

// A run: the bytes [0, limit) of its room, of which those ahead of `stop` are lines that went out, and the head.
struct HeadRun {
    Held room;
    int64_t stop = 0, limit = 0;
    int64_t found = 0, base = 0;  // terminators ahead of `found` are known; those in `marks` lie from `base` on
    uint64_t marks = 0;
    int64_t lines = 0;  // that went out, or were dropped
    bool last = false;  // no more bytes will come

    // Finds the next line. If there is no whole one, and more bytes will come, returns false.
    bool find(unsigned char terminator, Text& line)
    {
        const unsigned char* const text = room.data();
        int64_t end;
        while (marks == 0 && found < limit) {
            base = found;
            marks = matches_at(text + base, terminator);
            if (limit - base < 64) marks &= (uint64_t{1} << (limit - base)) - 1;
            found = smaller(static_cast<long long>(base + 64), static_cast<long long>(limit));
        }
        if (marks != 0) {
            end = base + __builtin_ctzll(marks) + 1;
            marks &= marks - 1;
        } else if (last && stop < limit) {
            end = limit;  // a file that changed has lost its terminator
        } else
            return false;
        line = {text + stop, text + end - 1};
        stop = end;
        return true;
    }
};

template <typename Words>
class HeadsBy final : public Heads {
public:
    HeadsBy(const OrderSpec& order, int64_t runs, bool drops, int64_t room)
        : own_(order), terminator_(static_cast<unsigned char>(line_order().terminator)), drops_(drops),
          runs_(static_cast<size_t>(runs)), heads_(static_cast<size_t>(runs)), room_(room)
    {
        out_.reserve(static_cast<size_t>(room));
        order_.reserve(static_cast<size_t>(runs));
    }

    void follow(const unsigned char* line, int64_t size) override
    {
        unsigned char* const text = saved_.bytes.reserve(static_cast<size_t>(size));
        saved_.size = size;
        if (size > 0) std::memcpy(text, line, static_cast<size_t>(size));
        last_ = head_of({text, text + size}, 0);
        fault_ = -1;  // the caller has seen to that line
        has_last_ = true;
    }

    unsigned char* room(int64_t number, int64_t nbytes, bool last) override
    {
        HeadRun& run = runs_[static_cast<size_t>(number)];
        const int64_t rest = run.limit - run.stop, needed = rest + nbytes;
        const bool keeps = last_run_ == number;  // the line that went out last lies there, and stays there
        if (keeps || !run.room.suits(needed)) {
            Held fresh;
            if (keeps) fresh.swap(saved_);
            if (!fresh.suits(needed)) fresh.reserve(needed);
            if (rest > 0) std::memcpy(fresh.data(), run.room.data() + run.stop, static_cast<size_t>(rest));
            run.room.swap(fresh);
            if (keeps) saved_.swap(fresh);
            if (keeps) last_run_ = -1;
        } else if (rest > 0)
            std::memmove(run.room.data(), run.room.data() + run.stop, static_cast<size_t>(rest));
        run.stop = 0;
        run.found = rest;
        run.limit = needed;
        run.last = last;
        return run.room.data() + rest;
    }

    void next(HeadsResult& result) override
    {
        result.nbytes = 0;
        result.run = -1;
        go_on(result);
        result.dropped = dropped_;
        result.fault = fault_;
    }

    void counts(int64_t* counts) const override
    {
        for (const HeadRun& run : runs_) *counts++ = run.lines;
    }

private:
    const LineOrder& line_order() const { return own_.order(); }

    // Merges until there is something for the caller to do, which `result` says.
    void go_on(HeadsResult& result)
    {
        if (passed_on_) filled_ = 0;
        passed_on_ = false;
        while (started_ < runs_.size()) {
            if (!advance(started_, result)) return;
            if (is_there_) insert(0, static_cast<int32_t>(started_));
            ++started_;
        }
        if (wants_ >= 0) {
            if (!advance(static_cast<size_t>(wants_), result)) return;
            order_.erase(order_.begin());
            if (is_there_) insert(0, static_cast<int32_t>(wants_));
            wants_ = -1;
        }
        while (!order_.empty())
            if (!merge(result)) return;
        if (settle(result) && filled_ > 0) pass_on(result);
    }

    Head head_of(Text line, size_t run)
    {
        const Words words(line_order(), line);
        if (words.fault && fault_ < 0) [[unlikely]] fault_ = static_cast<int64_t>(run);
        return {{words.words[0], words.words[1]}, line, words.exact};
    }

    // Negative, zero or positive, if x goes before, with or behind y.
    __attribute__((always_inline)) int compare(const Head& x, const Head& y) const
    {
        if (x.words[0] != y.words[0]) return x.words[0] < y.words[0] ? -1 : 1;
        if (x.words[1] != y.words[1]) return x.words[1] < y.words[1] ? -1 : 1;
        return compare_texts(x, y);
    }

    __attribute__((noinline)) int compare_texts(const Head& x, const Head& y) const
    {
        const LineOrder& order = line_order();
        if (x.exact && y.exact) return compare_last_resort(order, x.line, y.line);
        if (!(order.flags & PLAIN)) return compare_by_keys(order, x.line, y.line);
        const int result = compare_bytes(x.line, y.line);
        return order.flags & REVERSE ? -result : result;
    }

    bool ahead(int32_t x, int32_t y) const
    {
        const int found = compare(heads_[static_cast<size_t>(x)], heads_[static_cast<size_t>(y)]);
        return found < 0 || (found == 0 && x < y);
    }

    // Puts a run to its place among order_[first ..], which is in order.
    void insert(size_t first, int32_t run)
    {
        size_t high = order_.size();
        while (first < high) {
            const size_t middle = (first + high) / 2;
            if (ahead(run, order_[middle])) high = middle;
            else first = middle + 1;
        }
        order_.insert(order_.begin() + static_cast<std::ptrdiff_t>(first), run);
    }

    // Makes the next line of a run its head, or clears is_there_ if it has none. False: the caller must first take or give
    // what `result` says.
    bool advance(size_t number, HeadsResult& result)
    {
        HeadRun& run = runs_[number];
        Text line;
        is_there_ = run.find(terminator_, line);
        if (is_there_) heads_[number] = head_of(line, number);
        else if (!run.last) {
            if (!settle(result)) return false;  // the bytes of a run move when more come
            result.run = static_cast<int64_t>(number);
            result.held = run.limit - run.stop;
            return false;
        }
        return true;
    }

    // Puts out the least head, and those behind it, until the order is empty or the caller has something to do.
    bool merge(HeadsResult& result)
    {
        const int32_t top = order_[0];
        HeadRun& run = runs_[static_cast<size_t>(top)];
        Head& head = heads_[static_cast<size_t>(top)];
        const bool alone = order_.size() == 1;
        do {
            if (drops_ && has_last_ && compare(last_, head) == 0) ++dropped_;
            else {
                if (head.line.start != stretch_stop_ || top != stretch_run_) {
                    if (!settle(result)) return false;
                    stretch_ = head.line.start;
                    stretch_run_ = top;
                }
                stretch_stop_ = run.room.data() + run.stop;
                if (drops_) {
                    last_ = head;
                    last_run_ = top;
                    has_last_ = true;
                }
            }
            ++run.lines;
            Text line;
            if (!run.find(terminator_, line)) {
                wants_ = top;
                is_there_ = false;
                if (!advance(static_cast<size_t>(top), result)) return false;
                wants_ = -1;
                order_.erase(order_.begin());
                return true;
            }
            head = head_of(line, static_cast<size_t>(top));
        } while (alone || ahead(top, order_[1]));
        sink();
        return true;
    }

    // Moves the first run of the order, which goes behind the second one, to its place.
    void sink()
    {
        const int32_t run = order_[0];
        size_t low = 2, high = order_.size();
        while (low < high) {
            const size_t middle = (low + high) / 2;
            if (ahead(run, order_[middle])) high = middle;
            else low = middle + 1;
        }
        std::memmove(order_.data(), order_.data() + 1, (low - 1) * sizeof(int32_t));
        order_[low - 1] = run;
    }

    // Puts the lines of the stretch behind those that wait to go out. False: the caller must take some first.
    bool settle(HeadsResult& result)
    {
        const int64_t nbytes = stretch_stop_ - stretch_;
        if (nbytes == 0) return true;
        if (nbytes > room_ / 2 && filled_ == 0) {  // it goes out from where it lies
            result.at = stretch_;
            result.nbytes = nbytes;
            stretch_ = stretch_stop_ = nullptr;
            return false;
        }
        if (nbytes > room_ / 2 || filled_ + nbytes > room_) {
            pass_on(result);
            return false;
        }
        unsigned char* const out = out_.data() + filled_;
        if (nbytes > LONG || room_ - filled_ < nbytes + 64) std::memcpy(out, stretch_, static_cast<size_t>(nbytes));
        else
            for (int64_t done = 0; done < nbytes; done += 32) std::memcpy(out + done, stretch_ + done, 32);
        filled_ += nbytes;
        stretch_ = stretch_stop_ = nullptr;
        return true;
    }

    void pass_on(HeadsResult& result)
    {
        result.at = out_.data();
        result.nbytes = filled_;
        passed_on_ = true;
    }

    static constexpr int64_t LONG = 512;  // from this many bytes on, the library's memcpy is faster

    const OwnOrder own_;
    const unsigned char terminator_;
    const bool drops_;
    std::vector<HeadRun> runs_;
    std::vector<Head> heads_;
    std::vector<int32_t> order_;  // the runs that have a head, in the order of the heads
    size_t started_ = 0;          // the runs whose first lines are known
    int64_t wants_ = -1;          // the run whose next line is to be found, the first of the order
    bool is_there_ = false;
    const unsigned char *stretch_ = nullptr, *stretch_stop_ = nullptr;  // lines that go out next
    int64_t stretch_run_ = -1;
    Buffer out_;
    const int64_t room_;
    int64_t filled_ = 0;
    bool passed_on_ = false;  // whether the caller has what lies in out_
    Head last_{};          // the line that went out last, in saved_ or in the room of last_run_
    int64_t last_run_ = -1, dropped_ = 0;
    int64_t fault_ = -1;  // the first run that gave a line with an invalid key
    bool has_last_ = false;
    Held saved_;
};

// Calls make with the kind of images that the order's keys have: see Images.
template <typename Words>
std::unique_ptr<Heads> made(const OrderSpec& order, int64_t runs, int64_t equals, int64_t room)
{
    return std::make_unique<HeadsBy<Words>>(order, runs, equals != KEEP_ALL, room);
}

std::unique_ptr<Heads> opened(const OrderSpec& spec, int64_t runs, int64_t equals, int64_t room)
{
    const LineOrder& order = *reinterpret_cast<const LineOrder*>(spec.table);
    if (order.flags & PLAIN) return made<PlainWords>(spec, runs, equals, room);
    if (order.flags & NUMERIC) return made<NumberWords<false>>(spec, runs, equals, room);
    if (is_one_number(order))
        return made<NumberWords<true>>(spec, runs, equals, room);
    if (is_one_text_in_locale(order)) return made<LocaleWords>(spec, runs, equals, room);
    return made<KeyWords>(spec, runs, equals, room);
}

// The result of work(); NO_MEMORY if memory runs out.
template <typename Work>
int64_t guarded(Work work)
{
    try {
        work();
        return DONE;
    } catch (const std::bad_alloc&) {
        return NO_MEMORY;
    }
}

}  // namespace

Heads* gm_heads_open(const OrderSpec* order, int64_t runs, int64_t equals, int64_t room)
{
    std::unique_ptr<Heads> heads;
    guarded([&] { heads = opened(*order, runs, equals, room); });
    return heads.release();
}

void gm_heads_close(Heads* heads) { delete heads; }

int64_t gm_heads_follow(Heads* heads, const unsigned char* line, int64_t size)
{
    return guarded([&] { heads->follow(line, size); });
}

unsigned char* gm_heads_room(Heads* heads, int64_t run, int64_t nbytes, int64_t last)
{
    unsigned char* room = nullptr;
    guarded([&] { room = heads->room(run, nbytes, last != 0); });
    return room;
}

void gm_heads_next(Heads* heads, HeadsResult* result) { heads->next(*result); }

void gm_heads_counts(Heads* heads, int64_t* counts) { heads->counts(counts); }
