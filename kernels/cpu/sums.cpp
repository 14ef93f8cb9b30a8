// Sums of columns over groups of equal items. See gm_sums_open.
#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <vector>

#include "decimal_sum.hpp"
#include "fault.hpp"
#include "json_text.hpp"
#include "record_sum.hpp"

#include "../host.cuh"

namespace {
#include "../fields.cuh"
#include "../separated.cuh"
#include "sum_columns.hpp"
}  // namespace

struct Sums {
    explicit Sums(const SumSpec& spec)
        : spec(spec), columns(static_cast<size_t>(spec.count)), found(columns), held(columns), decimals(columns), reals(columns),
          order(columns)
    {
        if (spec.form == MEMBERS_OF_LINES) members.emplace(this->spec);
    }
    virtual ~Sums() = default;
    Sums(const Sums&) = delete;
    Sums& operator=(const Sums&) = delete;

    static const unsigned char* end_of(const SumSpec& spec, const unsigned char* at, const unsigned char* stop)
    {
        if (spec.form == NUMBERS_OF_RECORDS) return stop - at < spec.record ? stop : at + spec.record;
        const void* const end = std::memchr(at, static_cast<int>(spec.terminator), static_cast<size_t>(stop - at));
        return end == nullptr ? stop : static_cast<const unsigned char*>(end) + 1;
    }

    void add(const unsigned char* data, int64_t nbytes, const int64_t* follows, int64_t items)
    {
        const unsigned char *at = data, *const stop = data + nbytes;
        if (follows != nullptr) out.reserve(out.size() + kept.size() + static_cast<size_t>(nbytes));
        for (int64_t number = 0; number < items && at < stop; ++number) {
            const unsigned char* const behind = end_of(spec, at, stop);
            const int64_t position = at - data;
            find(at, behind - (spec.form != NUMBERS_OF_RECORDS && behind[-1] == spec.terminator));
            if (follows == nullptr || follows[number] == 0 || !is_open) {
                if (follows != nullptr) end();
                open(at, behind);
            } else if (spec.last) {
                hold(at, behind);
            }
            for (size_t column = 0; column < columns; ++column) put_in(at, column, position);
            if (follows == nullptr) is_open = false;
            at = behind;
        }
        if (is_open && item != kept.data()) keep();
    }

    // The item of the group goes out.
    void end()
    {
        if (!is_open) return;
        is_open = false;
        const size_t start = out.size();
        if (spec.form == NUMBERS_OF_RECORDS) {
            out.insert(out.end(), item, behind_item);
            for (size_t column = 0; column < columns; ++column) {
                if (reals[column].numbers < 2 || reals[column].put(out.data() + start, spec.columns[column])) continue;
                throw Fault{LONG_SUM, {0, static_cast<int64_t>(column), -1}};
            }
            return;
        }
        bool changes = false;
        for (size_t column = 0; column < columns; ++column) changes |= is_changed(column);
        if (!changes) {
            out.insert(out.end(), item, behind_item);
            return;
        }
        put_changed();
    }

    const SumSpec spec;
    Text8 out, shown;  // shown: what the last call of gm_sums_result gave

private:
    void find(const unsigned char* at, const unsigned char* stop)
    {
        switch (spec.form) {
        case NUMBERS_OF_RECORDS: return;
        case MEMBERS_OF_LINES: return members->find(at, stop, found.data());
        case COUNTS_OF_LINES: {
            const void* const newline = std::memchr(at, '\n', static_cast<size_t>(stop - at));
            found[0] = newline == nullptr ? Span{nullptr, nullptr} : Span{static_cast<const unsigned char*>(newline) + 1, stop};
            return;
        }
        default: FieldColumns(spec).find(at, stop, found.data());
        }
    }

    void open(const unsigned char* at, const unsigned char* behind)
    {
        is_open = true;
        hold(at, behind);
        for (DecimalSum& one : decimals) one.clear();
        for (RecordSum& one : reals) one.clear();
    }

    void hold(const unsigned char* at, const unsigned char* behind)
    {
        item = at;
        behind_item = behind;
        held.swap(found);
        is_held = true;
    }

    // Copies the item of the group that is not over, whose memory goes away.
    void keep()
    {
        Text8 copy(item, behind_item);
        for (Span& span : held) {
            if (span.start == nullptr) continue;
            span = {copy.data() + (span.start - item), copy.data() + (span.stop - item)};
        }
        kept.swap(copy);
        item = kept.data();
        behind_item = item + kept.size();
    }

    // Adds the number of a column of the item at `at`.
    void put_in(const unsigned char* at, size_t column, int64_t position)
    {
        if (spec.form == NUMBERS_OF_RECORDS) return reals[column].add(at, spec.columns[column]);
        const Span span = is_held ? held[column] : found[column];
        const auto fault = [&](Status status) {
            const int64_t text = span.start == nullptr ? 0 : (span.start - at) << 32 | (span.stop - span.start);
            return Fault{status, {text, static_cast<int64_t>(column), position}};
        };
        if (column + 1 == columns) is_held = false;
        if (span.start == nullptr) {
            if (spec.form != MEMBERS_OF_LINES) throw fault(NO_COLUMN_TO_SUM);
            return;
        }
        if (span.start == span.stop || (spec.form == MEMBERS_OF_LINES && MemberColumns::is_null(span))) return;
        switch (added(column, span)) {
        case Added::NO_NUMBER: throw fault(NO_NUMBER_TO_SUM);
        case Added::TOO_LONG: throw fault(LONG_SUM);
        case Added::NUMBER: return;
        }
    }

    Added added(size_t column, Span span)
    {
        if (spec.thousands == 0 && spec.decimal == 0) return decimals[column].add(span.start, span.stop);
        // As in keys, separators stand between digits ahead of the fraction.
        const int separator = static_cast<int>(spec.thousands), point = static_cast<int>(spec.decimal == 0 ? '.' : spec.decimal);
        bool is_whole = true;
        plain.clear();
        for (const unsigned char* at = span.start; at < span.stop; ++at) {
            if (is_whole && separates(at, {span.start, span.stop}, separator, false)) continue;
            if (*at == '.' && point != '.') return Added::NO_NUMBER;
            is_whole = is_whole && (is_digit(*at) || at == span.start);
            plain.push_back(*at == point ? '.' : *at);
        }
        return decimals[column].add(plain.data(), plain.data() + plain.size());
    }

    void put(size_t column)
    {
        const size_t begin = out.size();
        decimals[column].put(out);
        if (spec.decimal != 0)
            std::replace(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end(), static_cast<unsigned char>('.'),
                static_cast<unsigned char>(spec.decimal));
    }

    // Whether the sum is another text than that of the item. The only number of a group stays as it is written.
    bool is_changed(size_t column) const
    {
        const int64_t numbers = decimals[column].numbers;
        if (numbers != 1) return numbers > 1;
        const Span span = held[column];
        return span.start == nullptr || span.start == span.stop ||
            (spec.form == MEMBERS_OF_LINES && MemberColumns::is_null(span));
    }

    void put_changed()
    {
        size_t count = 0;
        for (size_t column = 0; column < columns; ++column)
            if (is_changed(column) && held[column].start != nullptr) order[count++] = column;
        std::sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count),
            [&](size_t a, size_t b) { return held[a].start < held[b].start; });
        const unsigned char* at = item;
        for (size_t number = 0; number < count; ++number) {
            const Span span = held[order[number]];
            out.insert(out.end(), at, span.start);
            put(order[number]);
            at = span.stop;
        }
        for (size_t column = 0; column < columns; ++column) {
            if (!is_changed(column) || held[column].start != nullptr) continue;
            at = put_member(at, column);
        }
        out.insert(out.end(), at, behind_item);
    }

    // Writes what is left of a line of JSON up to the end of its object, and a member that it lacks.
    const unsigned char* put_member(const unsigned char* at, size_t column)
    {
        const SumColumn& its = spec.columns[column];
        const unsigned char* brace = behind_item - 1;
        while (brace > item && *brace != '}') --brace;
        const unsigned char* const line = members->line_of(item, behind_item);
        if (its.name_size == 0 || brace <= line || *behind_blanks(line) != '{')
            throw Fault{NO_COLUMN_TO_SUM, {0, static_cast<int64_t>(column), -1}};
        if (at < brace) out.insert(out.end(), at, brace);
        const unsigned char* last = brace - 1;
        while (is_space(*last)) --last;
        if (*last != '{' || has_added) out.push_back(',');
        has_added = true;
        out.insert(out.end(), spec.names + its.name, spec.names + its.name + its.name_size);
        put(column);
        bool is_last = true;
        for (size_t other = column + 1; other < columns; ++other) is_last &= !is_changed(other) || held[other].start != nullptr;
        if (is_last) has_added = false;
        return brace;
    }

    static bool is_space(unsigned char byte) { return byte == ' ' || byte == '\t' || byte == '\r'; }

    const size_t columns;
    std::vector<Span> found, held;  // of the item that comes, and of the one that stands for the group
    bool is_open = false, is_held = false, has_added = false;  // is_held: the columns of the item that comes are in `held`
    const unsigned char *item = nullptr, *behind_item = nullptr;
    Text8 kept, plain;  // plain: a number without separators, and with a point
    std::vector<DecimalSum> decimals;
    std::vector<RecordSum> reals;
    std::vector<size_t> order;
    std::optional<MemberColumns> members;
};

Sums* gm_sums_open(const SumSpec* spec)
{
    try {
        return new Sums(*spec);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

void gm_sums_close(Sums* sums) { delete sums; }

int64_t gm_sums_add(Sums* sums, const unsigned char* data, int64_t nbytes, const int64_t* follows, int64_t items, Failure* failure)
{
    return stopped_by(failure, [&] { sums->add(data, nbytes, follows, items); });
}

int64_t gm_sums_end(Sums* sums, Failure* failure)
{
    return stopped_by(failure, [&] { sums->end(); });
}

unsigned char* gm_sums_result(Sums* sums, int64_t* nbytes)
{
    sums->shown.swap(sums->out);
    sums->out.clear();
    *nbytes = static_cast<int64_t>(sums->shown.size());
    return sums->shown.data();
}

void gm_sums_head(const SumSpec* spec, const unsigned char* data, int64_t nbytes, const int64_t* follows, int64_t items, SumHead* head)
{
    *head = {0, 0, 0};
    const unsigned char *at = data, *const stop = data + nbytes;
    for (; head->items < items && follows[head->items] != 0 && at < stop; ++head->items) at = Sums::end_of(*spec, at, stop);
    head->nbytes = at - data;
    for (int64_t item = 0; item < items; ++item) head->groups += follows[item] == 0;
}
