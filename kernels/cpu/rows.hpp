// Lines or records as rows. The units that include this find the rows; this file merges, sorts and gathers them.
// Needs corank.cuh with ROWS. All of it lies in the anonymous namespace of each unit, as the shared headers do.
#pragma once

#include "ladder.hpp"
#include "rows_merge.hpp"
#include "rows_sort.hpp"
#include "rows_merging.hpp"
#include "rows_gather.hpp"
#include "rows_margin.hpp"
#include "rows_sets.hpp"

constexpr int64_t GROUP = 512;           // rows whose bytes are counted together, for results that are asked for in parts
constexpr int64_t CHECKED_ROWS = 1 << 16;

class Rows : public Workspace {
public:
    using Workspace::Workspace;

    void upload(const int64_t* lengths, int64_t runs) final
    {
        std::vector<int64_t> ends(1, 0);
        for (int64_t run = 0; run < runs; ++run) ends.push_back(ends.back() + lengths[run]);
        staging.reserve(0);
        lines_.text = staging.data();
        find(ends.back());
        starts_ = ends;
        edges_.clear();
        for (const int64_t end : ends) edges_.push_back(first_row_at(end));
        edges_.back() = count_;
        counts_.clear();
        for (size_t run = 0; run + 1 < edges_.size(); ++run) counts_.push_back(edges_[run + 1] - edges_[run]);
    }

    void counts(int64_t* counts) const final
    {
        for (size_t run = 0; run < counts_.size(); ++run) counts[run] = counts_[run];
    }

    bool in_order(bool strict, Failure& failure) final
    {
        for (size_t run = 0; run + 1 < edges_.size(); ++run) {
            const int64_t first = edges_[run] + 1, rows = edges_[run + 1] - first;
            std::vector<int64_t> found(static_cast<size_t>(team.size()), -1);
            if (rows > 0)
                team.share(rows, CHECKED_ROWS, [&](int64_t low, int64_t high, int part) {
                    found[static_cast<size_t>(part)] =
                        first_disorder(rows_.data(), first + low, first + high, strict, lines_);
                });
            for (const int64_t at : found)
                if (at >= 0) {
                    failure.input = static_cast<int64_t>(run);
                    failure.position = start_of_row(lines_, rows_.data()[at].line) - starts_[run];
                    return false;
                }
        }
        return true;
    }

    bool find_fault(Failure& failure) const final
    {
        if (fault_ >= count_) return false;
        const int64_t place = start_of_row(lines_, rows_.data()[fault_].line);
        const auto behind = std::upper_bound(starts_.begin(), starts_.end(), place);
        failure.input = behind - starts_.begin() - 1;
        failure.position = place - behind[-1];
        return true;
    }

    void merge(const LaunchSpec& launch, Equals equals) final
    {
        merge_rows_in(launch, equals);
        put_out(equals, true);
    }

    void merge_rows(const LaunchSpec& launch, Equals equals) final
    {
        merge_rows_in(launch, equals);
        put_out(equals, false);
    }

    void sort(const LaunchSpec& launch, Equals equals) final
    {
        sort_rows_in(launch);
        put_out(equals, true);
    }

    void sort_rows(const LaunchSpec& launch, Equals equals) final
    {
        sort_rows_in(launch);
        put_out(equals, false);
    }

    void receive(int64_t position, int64_t nbytes, unsigned char* out) final
    {
        if (result != nullptr) {
            std::memcpy(out, result + position, static_cast<size_t>(nbytes));
            return;
        }
        const auto group = std::upper_bound(group_ends_.begin(), group_ends_.end(), position) - group_ends_.begin();
        const int64_t skip = position - (group > 0 ? group_ends_[group - 1] : 0);
        if (!beside().has_text()) copy_stretch(lines_, sorted_ + group * GROUP, skip, nbytes, out);
        else beside().copy(sorted_ + group * GROUP, skip, nbytes, out);
    }

    int64_t bytes_ahead(int64_t items) const final
    {
        const int64_t group = items / GROUP;
        const int64_t ahead = group > 0 ? group_ends_[static_cast<size_t>(group) - 1] : 0;
        return ahead + bytes_of(sorted_ + group * GROUP, items % GROUP);
    }

protected:
    // Sets lines_, and makes count_ rows of the first `nbytes` bytes of staging.
    virtual void find(int64_t nbytes) = 0;

    Item* make_room(int64_t count)
    {
        count_ = count;
        return rows_.reserve(static_cast<size_t>(count));
    }

    Lines lines_;
    Room<Item> rows_;
    int64_t count_ = 0;
    int64_t fault_ = INT64_MAX;  // the first row with an invalid key

private:
    int64_t first_row_at(int64_t position) const
    {
        const Item* const found = std::lower_bound(rows_.data(), rows_.data() + count_, position,
            [&](const Item& row, int64_t at) { return start_of_row(lines_, row.line) < at; });
        return found - rows_.data();
    }

    static Byte* bytes_at(Item* rows) { return reinterpret_cast<Byte*>(rows); }
    static const Byte* bytes_at(const Item* rows) { return reinterpret_cast<const Byte*>(rows); }

    // Calls work(merging, out) with the object that merges rows, and the place where they go.
    template <typename Work>
    void with_merging(const LaunchSpec& launch, Work work)
    {
        const RowKind kind{lines_};
        Item* const out = merged_.reserve(static_cast<size_t>(count_));
        sorted_ = out;
        work(Merging<RowKind>{kind, sizeof(Item), launch, team, spare_}, bytes_at(out));
    }

    void merge_rows_in(const LaunchSpec& launch, Equals equals)
    {
        std::vector<Run> runs;
        for (size_t run = 0; run + 1 < edges_.size(); ++run)
            runs.push_back({bytes_at(rows_.data() + edges_[run]), edges_[run + 1] - edges_[run]});
        if (!(equals & SET))
            return with_merging(launch, [&](const Merging<RowKind>& merging, Byte* out) { merging.merge(runs, out); });
        const RowSets kind{lines_, launch};
        if ((margin.kind == COLUMNS || margin.kind == COLUMNS_APART) && runs.size() == 2) {
            Item* const out = merged_.reserve(static_cast<size_t>(count_));
            kept_ = kind.walk_marking(runs[0], runs[1], out, equals);
            sorted_ = out;
            return;
        }
        const Combining<RowSets> combining{kind, sizeof(Item), team, spare_, distinct_};
        const Run run = combining.combine(runs, equals, bytes_at(merged_.reserve(static_cast<size_t>(count_))));
        sorted_ = RowKind::items_at(run.items);
        kept_ = run.count;
    }

    void sort_rows_in(const LaunchSpec& launch)
    {
        const Item* const rows = rows_.data();
        with_merging(launch, [&](const Merging<RowKind>& merging, Byte* out) {
            if (launch.algorithm == SORT_RADIX)
                return sort_wide(rows, RowKind::items_at(out), RowKind::items_at(spare_.reserve(sizeof(Item) * static_cast<size_t>(count_))),
                    count_, lines_, team);
            merging.sort(bytes_at(rows), count_, out, [&](int64_t tile, Byte* to) {
                sort_tiles(rows, count_, tile, RowKind::items_at(to), lines_, team);
            });
        });
    }

    void put_out(Equals equals, bool gather)
    {
        if (!(equals & SET)) kept_ = count_;
        if (margin.kind == GROUPS) {
            note_groups(sorted_, count_, group_sizes.reserve(static_cast<size_t>(count_)), equals, lines_);
        } else if (beside().counts()) {
            Item* const out = merged_.data();
            kept_ = count_equals(sorted_, kept_, out, equals, lines_);
            sorted_ = out;
            if (margin.kind == COUNT_APART) keep_numbers();
        } else if (margin.kind == COLUMNS_APART) keep_numbers();
        else if ((equals & BY_PLACE) == FIRST)
            kept_ = drop_equals(merged_.data(), count_, (equals & CONTINUED) != 0, lines_);
        else if (equals & BY_PLACE)
            kept_ = keep_places(merged_.data(), count_, equals, lines_);
        finish(count_, gather);
    }

    // The numbers that rows which go out have as their prefixes.
    void keep_numbers()
    {
        int64_t* const numbers = group_sizes.reserve(static_cast<size_t>(kept_));
        for (int64_t at = 0; at < kept_; ++at) numbers[at] = static_cast<int64_t>(sorted_[at].prefix);
    }

    void finish(int64_t merged, bool gather)
    {
        dropped = merged - kept_;
        result_items = kept_;
        const int64_t groups = (kept_ + GROUP - 1) / GROUP;
        group_ends_.assign(static_cast<size_t>(groups), 0);
        team.share(groups, LEAST_ROWS / GROUP, [&](int64_t first, int64_t last, int) {
            for (int64_t group = first; group < last; ++group)
                group_ends_[static_cast<size_t>(group)] =
                    bytes_of(sorted_ + group * GROUP, std::min(GROUP, kept_ - group * GROUP));
        });
        result_bytes = 0;
        for (int64_t& end : group_ends_) end = result_bytes += end;
        result = nullptr;
        if (!gather) return;
        unsigned char* const out = output.reserve(static_cast<size_t>(result_bytes));
        team.share(groups, LEAST_ROWS / GROUP, [&](int64_t first, int64_t last, int) {
            if (first == last) return;
            const int64_t begin = first > 0 ? group_ends_[static_cast<size_t>(first) - 1] : 0;
            const int64_t stop = group_ends_[static_cast<size_t>(last) - 1];
            const Item* const rows = sorted_ + first * GROUP;
            const int64_t count = std::min(last * GROUP, kept_) - first * GROUP;
            if (beside().has_text()) beside().copy_all(rows, count, out + begin, out + stop);
            else copy_rows(lines_, rows, count, out + begin, out + stop);
        });
        result = out;
    }

    Beside beside() const { return {margin, lines_, starts_}; }

    int64_t bytes_of(const Item* rows, int64_t count) const
    {
        return beside().has_text() ? beside().bytes_of(rows, count) : bytes_of_rows(lines_, rows, count);
    }

    std::vector<int64_t> starts_, edges_, counts_;  // the bytes and rows at which runs begin; the number of rows they gave
    std::vector<int64_t> group_ends_;               // the bytes up to the end of each group of rows
    Room<Item> merged_;
    Buffer spare_, distinct_;
    const Item* sorted_ = nullptr;  // in merged_, or in another place that lives as long
    int64_t kept_ = 0;
};
