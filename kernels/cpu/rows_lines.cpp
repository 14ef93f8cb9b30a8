// Lines as rows: finds where they end, and makes the prefixes that decide most comparisons.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <vector>

#include "combining.hpp"
#include "compare.hpp"
#include "find.hpp"
#include "gallop.hpp"
#include "line_index.hpp"
#include "merging.hpp"
#include "packing.hpp"
#include "rows_kinds.hpp"
#include "workspace.hpp"

#define ROWS 1
#define KEY_BITS 64
#define TEXT_PADDING 64
#include "../host.cuh"

namespace {

#include "../corank.cuh"
#include "line_images.hpp"
#include "own_order.hpp"
#include "rows.hpp"

class LineRows final : public Rows {
public:
    LineRows(const OrderSpec& order, int threads) : Rows(order, threads), own_(order) { lines_.order = &own_.order(); }

private:
    void find(int64_t nbytes) override
    {
        find_lines(nbytes);
        lines_.have_ties = true;
        lines_.keys_exact = false;
        lines_.common = 0;
        fault_ = INT64_MAX;
        if (count_ == 0) return;
        Images images{lines_, rows_.data(), count_, team};
        if (lines_.order->flags & PLAIN) images.make_plain(lines_);
        else fault_ = images.make_keyed(lines_, following_);
    }

    void find_lines(int64_t nbytes)
    {
        // One thread tries the room of the chunk before, and counts no lines then.
        long_lines_.clear();
        const int64_t found = team.size() > 1 ? -1 : index(0, nbytes, 0, rows_.data(), rows_.size(), long_lines_);
        if (found >= 0) make_room(found);
        else count_and_index(nbytes);
        lines_.long_lines = long_lines_.data();
        lines_.long_count = static_cast<long long>(long_lines_.size());
    }

    void count_and_index(int64_t nbytes)
    {
        std::vector<Terminators> found(static_cast<size_t>(team.size()));
        const int parts = team.share(nbytes, LEAST_BYTES, [&](int64_t first, int64_t last, int part) {
            found[static_cast<size_t>(part)] = count_terminators(lines_.text, first, last, terminator());
        });
        std::vector<int64_t> rows(1, 0), starts(1, 0);  // the first row of each part, and where its first line starts
        for (int part = 0; part < parts; ++part) {
            const Terminators& here = found[static_cast<size_t>(part)];
            rows.push_back(rows.back() + here.count);
            starts.push_back(here.count > 0 ? here.behind_last : starts.back());
        }
        rows_.reserve(static_cast<size_t>(rows.back() + rows.back() / 16));  // the next chunk may have some more
        Item* const out = make_room(rows.back());
        std::vector<std::vector<LongLine>> long_lines(static_cast<size_t>(parts));
        team.share(nbytes, LEAST_BYTES, [&](int64_t first, int64_t last, int part) {
            const size_t here = static_cast<size_t>(part);
            index(first, last, starts[here], out + rows[here], static_cast<size_t>(found[here].count), long_lines[here]);
        });
        long_lines_.clear();
        for (const std::vector<LongLine>& some : long_lines) long_lines_.insert(long_lines_.end(), some.begin(), some.end());
    }

    int64_t index(int64_t first, int64_t last, int64_t start, Item* out, size_t room, std::vector<LongLine>& long_lines) const
    {
        static_assert(sizeof(Item) == 16 && offsetof(Item, line) == 8);
        return index_lines(lines_.text, first, last, terminator(), start, static_cast<int64_t>(room), out, long_lines);
    }

    unsigned char terminator() const { return static_cast<unsigned char>(order.terminator); }

    static constexpr int64_t LEAST_BYTES = 1 << 18;  // the fewest bytes that another thread is worth
    const OwnOrder own_;
    std::vector<LongLine> long_lines_;
    Room<Word> following_;  // what follows the prefixes, while those are made
};

// Texts of one width as rows of lines, and their ranks.
class TextRows {
public:
    TextRows(const LineOrder& order, const unsigned char* texts, int64_t width, int64_t count, const Team& team)
        : width_(width), count_(count), team_(team), rows_(room_.reserve(static_cast<size_t>(count)))
    {
        lines_.text = texts;
        lines_.order = &order;
        if (width < LONG_LINE) team.share(count, LEAST_ROWS, [&](int64_t first, int64_t last, int) { find(first, last); });
        else find(0, count);
        lines_.long_lines = long_lines_.data();
        lines_.long_count = static_cast<long long>(long_lines_.size());
    }

    int64_t rank(int64_t* ranks)
    {
        if (count_ == 0) return 0;
        Room<Word> following;
        const int64_t fault = Images{lines_, rows_, count_, team_}.make_keyed(lines_, following);
        if (fault < count_) return fault;
        if (lines_.keys_exact) {
            for (int64_t at = 0; at < count_; ++at) ranks[at] = static_cast<int64_t>(rows_[at].prefix);
            return count_;
        }
        Room<Item> sorted, spare;
        Item* const out = sorted.reserve(static_cast<size_t>(count_));
        sort_wide(rows_, out, spare.reserve(static_cast<size_t>(count_)), count_, lines_, team_);
        for (int64_t at = 0, found = 0; at < count_; ++at) {
            if (at > 0 && before(out[at - 1], out[at], lines_)) ++found;
            ranks[Lines::start_of(out[at].line) / width_] = found;
        }
        return count_;
    }

private:
    void find(int64_t first, int64_t last)
    {
        for (int64_t at = first; at < last; ++at) {
            const int64_t start = at * width_;
            int64_t size = width_;
            while (size > 0 && lines_.text[start + size - 1] == 0) --size;
            if (size + 1 >= LONG_LINE) [[unlikely]] long_lines_.push_back({start, size + 1});
            rows_[at].line = line_place(start, size + 1);  // as if a terminator followed
        }
    }

    const int64_t width_, count_;
    const Team& team_;
    Room<Item> room_;
    Item* const rows_;
    Lines lines_;
    std::vector<LongLine> long_lines_;
};

}  // namespace

int64_t rank_texts(const OrderSpec& order, const unsigned char* texts, int64_t width, int64_t count, int64_t* ranks, int threads)
{
    const Team team(threads);
    return TextRows(*reinterpret_cast<const LineOrder*>(order.table), texts, width, count, team).rank(ranks);
}

std::unique_ptr<Workspace> make_line_rows(const OrderSpec& order, int threads)
{
    return std::make_unique<LineRows>(order, threads);
}
