// Cuts the merge of any number of sources, on the sources themselves. A pivot is an item. Its places in all sources are a
// cut; ties go by source and then by position. The rank of the cut is the number of bytes ahead of these places. A pivot near
// the target is chosen, and the stretches in which the cut can lie shrink to one side of it, until the rank is near enough.
// The middle target is cut first, so that each cut narrows the search on both of its sides.
// Source: Varman et al., Merging Multiple Lists on Hierarchical-Memory Multiprocessors, 1991.
//
// The cost lies in the reads. In similar sources the pivot lies at the same fraction of each stretch. So a search starts
// there and goes outwards in growing steps. One read fills a window, and searching in it costs nothing.
#include <cstring>
#include <vector>

#include "compare.hpp"
#include "fault.hpp"
#include "source.hpp"

namespace {

constexpr int64_t NEAR = 16;      // a cut is near enough within this fraction of a chunk
constexpr int GUESSED = 3;        // pivots that are chosen as if sources were similar; later ones are drawn at random
constexpr int MOST_PIVOTS = 100;  // sources in order never need as many

struct Pivot {
    int64_t input, start, end;
    double fraction;  // the part of its stretch that lies ahead of it
    Bytes key{nullptr, 0};  // none until it is compared with
};

// The first position in [low, high] whose item does not go before the pivot. low and high must be cuts. The search starts at
// `guess`.
int64_t bound(Items& run, const Pivot& pivot, int64_t low, int64_t high, int64_t guess)
{
    const bool after_equals = run.input() < pivot.input;
    const auto goes_before = [&](int64_t start) { return run.compare(start, pivot.key) < (after_equals ? 1 : 0); };
    int64_t answer = high, limit = high;  // no item is known to start in [limit, answer)
    bool from_low = false, from_high = false;  // whether the edges were found by looking
    for (int64_t at = guess, step = 2 * LOOK; low < limit;) {
        if (limit - low <= LOOK) {
            run.look(low, limit);
            const int64_t middle = low + (limit - low) / 2, start = run.start_from(middle, limit);
            if (start >= limit) limit = middle;
            else if (goes_before(start)) low = run.end_of(start);
            else answer = limit = start;
            continue;
        }
        if (from_low && from_high) at = low + (limit - low) / 2;
        int64_t from = at - LOOK / 2;
        from = from < low ? low : from > limit - LOOK ? limit - LOOK : from;
        run.look(from, from + LOOK);
        const int64_t first = from == low ? low : run.start_from(from + run.lines(), limit);
        if (first >= limit || !goes_before(first)) {
            if (first < limit) answer = limit = first;
            else limit = from + run.lines();
            from_high = true;
            at = from - step;
            step *= 4;
            continue;
        }
        low = run.end_of(first);
        from_low = true;
        const int64_t last = run.last_in_window(limit);
        if (last < low || goes_before(last)) {
            if (last >= low) low = run.end_of(last);
            at = low + step;
            step *= 4;
        } else {
            answer = limit = last;
            from_high = true;
        }
    }
    return answer;
}

class Cutter {
public:
    Cutter(const OrderSpec& order, const CutSpec& spec, int64_t* cuts) : spec_(spec), cuts_(cuts), at_(spec.inputs)
    {
        runs_.reserve(static_cast<size_t>(spec.inputs));
        for (int64_t input = 0; input < spec.inputs; ++input)
            runs_.emplace_back(spec.sources[input], order, input, window_);
        low_.resize(at_.size());
        high_.resize(at_.size());
    }

    // Finds the cuts of the targets [first, last), which lie between the cuts `low` and `high`.
    void cut(int64_t first, int64_t last, const int64_t* low, const int64_t* high)
    {
        if (first >= last) return;
        const int64_t middle = first + (last - first) / 2;
        int64_t* row = cuts_ + middle * spec_.inputs;
        search(spec_.targets[middle], near(middle), low, high, row);
        cut(first, middle, low, row);
        cut(middle + 1, last, row, high);
    }

private:
    // The distance that a cut may lie from its target.
    int64_t near(int64_t number) const
    {
        const int64_t target = spec_.targets[number];
        int64_t gap = target - (number > 0 ? spec_.targets[number - 1] : total(spec_.low));
        const int64_t next = number + 1 < spec_.count ? spec_.targets[number + 1] : total(spec_.high);
        if (next - target < gap) gap = next - target;
        return gap > 0 ? gap / NEAR : 0;
    }

    int64_t total(const int64_t* row) const
    {
        int64_t sum = 0;
        for (int64_t input = 0; input < spec_.inputs; ++input) sum += row[input];
        return sum;
    }

    // Whether this target lies within the same item as an earlier target, and this item lies between the two cuts. Then low_
    // and high_ are the cuts ahead of the item and behind it.
    bool within_the_last(int64_t target, const int64_t* low, const int64_t* high) const
    {
        if (!known_ || target < total(low_.data()) || target > total(high_.data())) return false;
        for (size_t input = 0; input < at_.size(); ++input)
            if (low_[input] < low[input] || high_[input] > high[input]) return false;
        return true;
    }

    void search(int64_t target, int64_t near, const int64_t* low, const int64_t* high, int64_t* row)
    {
        const size_t bytes = at_.size() * sizeof(int64_t);
        if (within_the_last(target, low, high)) {
            const bool ahead = target - total(low_.data()) <= total(high_.data()) - target;
            std::memcpy(row, ahead ? low_.data() : high_.data(), bytes);
            return;
        }
        known_ = false;
        std::memcpy(low_.data(), low, bytes);
        std::memcpy(high_.data(), high, bytes);
        int64_t ahead = total(low), behind = total(high);
        for (int turn = 0; turn < MOST_PIVOTS && ahead + near < target && target + near < behind; ++turn) {
            Pivot pivot = choose(turn, target, ahead, behind);
            int64_t rank = 0;
            for (size_t input = 0; input < at_.size(); ++input) {
                at_[input] = static_cast<int64_t>(input) == pivot.input ? pivot.start : place_of(pivot, input);
                rank += at_[input];
            }
            if (rank > target) {
                high_ = at_;
                behind = rank;
                continue;
            }
            low_ = at_;
            ahead = rank;
            const int64_t with_pivot = rank + pivot.end - pivot.start;
            if (target - rank <= near) break;
            at_[static_cast<size_t>(pivot.input)] = pivot.end;
            if (with_pivot > target) {  // the target lies within the pivot
                high_ = at_;
                behind = with_pivot;
                known_ = true;
                break;
            }
            low_ = at_;
            ahead = with_pivot;
        }
        std::memcpy(row, target - ahead <= behind - target ? low_.data() : high_.data(), bytes);
    }

    // The cut at the pivot, in an input that is not its own.
    int64_t place_of(Pivot& pivot, size_t input)
    {
        const int64_t from = low_[input], length = high_[input] - from;
        if (length == 0) return from;
        if (pivot.key.at == nullptr) pivot.key = runs_[static_cast<size_t>(pivot.input)].read_key(pivot.start, key_);
        const int64_t guess = from + static_cast<int64_t>(pivot.fraction * static_cast<double>(length));
        return bound(runs_[input], pivot, from, from + length, guess);
    }

    // Chooses an item between the cuts low_ and high_, which must differ.
    Pivot choose(int turn, int64_t target, int64_t ahead, int64_t behind)
    {
        size_t input = 0;
        double fraction = 0;
        if (turn < GUESSED) {
            for (size_t other = 1; other < at_.size(); ++other)
                if (high_[other] - low_[other] > high_[input] - low_[input]) input = other;
            fraction = static_cast<double>(target - ahead) / static_cast<double>(behind - ahead);
        } else {
            const int64_t all = behind - ahead;
            drawn_ = drawn_ * 6364136223846793005ull + 1442695040888963407ull;
            int64_t place = static_cast<int64_t>((drawn_ >> 11) % static_cast<uint64_t>(all));
            for (; place >= high_[input] - low_[input]; ++input) place -= high_[input] - low_[input];
            fraction = static_cast<double>(place) / static_cast<double>(high_[input] - low_[input]);
        }
        Items& run = runs_[input];
        const int64_t low = low_[input], high = high_[input];
        const int64_t place = low + static_cast<int64_t>(fraction * static_cast<double>(high - low));
        int64_t start = run.start_from(place, high);
        if (start >= high) start = run.start_before(high);
        if (start < low) start = low;
        return {static_cast<int64_t>(input), start, run.end_of(start),
            static_cast<double>(start - low) / static_cast<double>(high - low)};
    }

    const CutSpec& spec_;
    int64_t* cuts_;
    Window window_;
    Buffer key_;  // the key of the pivot
    std::vector<Items> runs_;
    std::vector<int64_t> low_, high_, at_;  // the cuts of the last search
    bool known_ = false;  // whether low_ and high_ are the cuts ahead of one item and behind it
    uint64_t drawn_ = 1;
};

void judge_cut(const OrderSpec& order, const SourceSpec* sources, const int64_t* positions, int64_t inputs)
{
    Window window;
    Buffer key;
    Bytes greatest{nullptr, 0};  // the greatest of the items ahead of the positions
    int64_t from = 0;            // its input
    const auto items_of = [&](int64_t input) { return Items(sources[input], order, input, window); };
    for (int64_t input = 0; input < inputs; ++input) {
        if (positions[input] == 0) continue;
        Items items = items_of(input);
        const int64_t last = items.start_before(positions[input]);
        if (greatest.at != nullptr && items.compare(last, greatest) < 0) continue;
        greatest = items.read_key(last, key);
        from = input;
    }
    for (int64_t input = 0; input < inputs && greatest.at != nullptr; ++input) {
        if (positions[input] >= sources[input].size) continue;
        if (items_of(input).compare(positions[input], greatest) < (input < from ? 1 : 0))
            throw Fault{DISORDER, {0, input, positions[input]}};
    }
}

}  // namespace

int64_t gm_is_cut(const struct OrderSpec* order, const struct SourceSpec* sources, const int64_t* positions, int64_t inputs,
    struct Failure* failure)
{
    return stopped_by(failure, [&] { judge_cut(*order, sources, positions, inputs); });
}

int64_t gm_cut(const struct OrderSpec* order, const struct CutSpec* cut, int64_t* cuts, struct Failure* failure)
{
    return stopped_by(failure, [&] { Cutter(*order, *cut, cuts).cut(0, cut->count, cut->low, cut->high); });
}
