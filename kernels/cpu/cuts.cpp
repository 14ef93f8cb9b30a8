// Cuts the merge of any number of sources, on the sources themselves. A pivot is an item. Its places in all sources are a
// cut; ties go by source and then by position. The rank of the cut is the number of bytes ahead of these places. A pivot near
// the target is chosen, and the stretches in which the cut can lie shrink to one side of it, until the rank is near enough.
// The middle target is cut first, so that each cut narrows the search on both of its sides.
// Source: Varman et al., Merging Multiple Lists on Hierarchical-Memory Multiprocessors, 1991.
//
// The cost lies in the reads. In similar sources the pivot lies at the same fraction of each stretch. So a search starts
// there and goes outwards in growing steps. One read fills a window, and searching in it costs nothing. The items next to a cut
// are remembered by their images. They bound all items of the stretch, so many searches need no read, and others start near
// their end. The sources of one pivot are searched by several threads, if there are many.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "compare.hpp"
#include "fault.hpp"
#include "source.hpp"
#include "team.hpp"

namespace {

constexpr int64_t NEAR = 16;      // a cut is near enough within this fraction of a chunk
constexpr int GUESSED = 3;        // pivots that are chosen as if sources were similar; later ones are drawn at random
constexpr int MOST_PIVOTS = 100;  // sources in order never need as many
constexpr int EXPECTED = 6;       // places that are looked at where images expect the pivot
constexpr int64_t LEAST_SHARE = 128;  // sources that are worth a thread

struct Pivot {
    int64_t input, start, end;
    double fraction;  // the part of its stretch that lies ahead of it
    Bytes key{nullptr, 0};  // none until it is compared with
    uint64_t image = 0;     // of the key
};

// A position in one source, and what is known of the items around it. No item ahead of it has a greater image than `before`,
// and none behind it a smaller one than `behind`.
struct Place {
    int64_t at;
    uint64_t before = ~0ull, behind = 0;
};
typedef std::vector<Place> Places;

// The place of a pivot in the stretch between two places, if the images decide it: one end of the stretch, else null.
const Place* decided(const Place& low, const Place& high, uint64_t image, bool after_equals, bool exact)
{
    if (low.at == high.at || low.behind > image || (exact && !after_equals && low.behind == image)) return &low;
    if (high.before < image || (exact && after_equals && high.before == image)) return &high;
    return nullptr;
}

// The position in [low, high] at which the pivot is expected. Items there have images from `least` to `greatest`; if these say
// nothing, it is `otherwise`.
int64_t expected(const Pivot& pivot, int64_t low, int64_t high, uint64_t least, uint64_t greatest, int64_t otherwise)
{
    if (least == 0 || greatest == ~0ull || pivot.image < least || pivot.image > greatest || least == greatest) return otherwise;
    const double fraction = static_cast<double>(pivot.image - least) / static_cast<double>(greatest - least);
    return low + static_cast<int64_t>(fraction * static_cast<double>(high - low));
}

// The first position between `from` and `to` whose item does not go before the pivot. Both must be cuts. The search starts at
// `guess`.
Place bound(Items& run, const Pivot& pivot, const Place& from, const Place& to, int64_t guess)
{
    const bool after_equals = run.input() < pivot.input;
    int64_t low = from.at, limit = to.at;  // no item is known to start in [limit, found.at)
    Place found{to.at, from.before, to.behind};
    uint64_t least = from.behind, greatest = to.before;  // of the items in [low, limit)
    // Whether the item goes before the pivot. It then moves `low` or `limit`.
    const auto goes_before = [&](int64_t start) {
        const bool before = run.compare(start, pivot.key) < (after_equals ? 1 : 0);
        if (before) {
            low = run.end_of(start);
            if (run.has_images()) found.before = least = run.image(run.key(start));
        } else {
            found.at = limit = start;
            if (run.has_images()) found.behind = greatest = run.image(run.key(start));
        }
        return before;
    };
    bool from_low = false, from_high = false;  // whether the edges were found by looking
    int64_t at = guess, step = 2 * LOOK;
    for (int looks = 0; low < limit; ++looks) {
        if (limit - low <= LOOK) {
            run.look(low, limit);
            const int64_t middle = low + (limit - low) / 2, start = run.start_from(middle, limit);
            if (start >= limit) limit = middle;
            else goes_before(start);
            continue;
        }
        if (from_low && from_high) at = low + (limit - low) / 2;
        if (looks < EXPECTED) at = expected(pivot, low, limit, least, greatest, at);
        int64_t window = run.block_of(at);
        window = window < low ? low : window > limit - LOOK ? limit - LOOK : window;
        run.look(window, window + LOOK);
        const int64_t first = window == low ? low : run.start_from(window + run.lines(), limit);
        if (first >= limit || !goes_before(first)) {
            if (first >= limit) limit = window + run.lines();
            from_high = true;
            at = window - step;
            step *= 4;
            continue;
        }
        from_low = true;
        const int64_t last = run.last_in_window(limit);
        if (last < low || goes_before(last)) {
            at = low + step;
            step *= 4;
        } else {
            from_high = true;
        }
    }
    return found;
}

class Cutter {
public:
    Cutter(const OrderSpec& order, const CutSpec& spec, int64_t* cuts)
        : spec_(spec), cuts_(cuts), team_(static_cast<int>(std::min(spec.threads, spec.inputs / LEAST_SHARE))),
          windows_(new Window[static_cast<size_t>(team_.size())]), at_(static_cast<size_t>(spec.inputs))
    {
        runs_.reserve(at_.size());
        std::vector<int> parts(at_.size());
        team_.share(spec.inputs, LEAST_SHARE,
            [&](int64_t first, int64_t last, int part) { std::fill(parts.begin() + first, parts.begin() + last, part); });
        for (int64_t input = 0; input < spec.inputs; ++input)
            runs_.emplace_back(spec.sources[input], order, input, windows_[static_cast<size_t>(parts[input])]);
        low_.resize(at_.size());
        high_.resize(at_.size());
    }

    void cut()
    {
        Places low(at_.size()), high(at_.size());
        for (size_t input = 0; input < at_.size(); ++input) {
            low[input].at = spec_.low[input];
            high[input].at = spec_.high[input];
        }
        cut(0, spec_.count, low, high);
    }

private:
    // Finds the cuts of the targets [first, last), which lie between the cuts `low` and `high`.
    void cut(int64_t first, int64_t last, const Places& low, const Places& high)
    {
        if (first >= last) return;
        const int64_t middle = first + (last - first) / 2;
        Places found = search(spec_.targets[middle], near(middle), low, high);
        if (spec_.groups != 0 && !moved_before(low, found)) {
            Moved moved{found, {}};
            move_ahead_of_group(low, found);
            moved.to = found;
            moved_[turn_++ % MOVED] = std::move(moved);
        }
        int64_t* row = cuts_ + middle * spec_.inputs;
        for (const Place& place : found) *row++ = place.at;
        cut(first, middle, low, found);
        cut(middle + 1, last, found, high);
    }

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

    static int64_t total(const Places& places)
    {
        int64_t sum = 0;
        for (const Place& place : places) sum += place.at;
        return sum;
    }

    // Whether this target lies within the same item as an earlier target, and this item lies between the two cuts. Then low_
    // and high_ are the cuts ahead of the item and behind it.
    bool within_the_last(int64_t target, const Places& low, const Places& high) const
    {
        if (!known_ || target < total(low_) || target > total(high_)) return false;
        for (size_t input = 0; input < at_.size(); ++input)
            if (low_[input].at < low[input].at || high_[input].at > high[input].at) return false;
        return true;
    }

    Places search(int64_t target, int64_t near, const Places& low, const Places& high)
    {
        if (within_the_last(target, low, high)) {
            const bool ahead = target - total(low_) <= total(high_) - target;
            return ahead ? low_ : high_;
        }
        known_ = false;
        low_ = low;
        high_ = high;
        int64_t ahead = total(low), behind = total(high);
        for (int turn = 0; turn < MOST_PIVOTS && ahead + near < target && target + near < behind; ++turn) {
            Pivot pivot = choose(turn, target, ahead, behind);
            place(pivot);
            const int64_t rank = total(at_);
            if (rank > target) {
                high_ = at_;
                behind = rank;
                continue;
            }
            low_ = at_;
            ahead = rank;
            const int64_t with_pivot = rank + pivot.end - pivot.start;
            if (target - rank <= near) break;
            at_[static_cast<size_t>(pivot.input)].at = pivot.end;
            if (runs_[0].has_images()) at_[static_cast<size_t>(pivot.input)].before = pivot.image;
            if (with_pivot > target) {  // the target lies within the pivot
                high_ = at_;
                behind = with_pivot;
                known_ = true;
                break;
            }
            low_ = at_;
            ahead = with_pivot;
        }
        return target - ahead <= behind - target ? low_ : high_;
    }

    // Whether the cut was moved ahead of its group for one of the last targets: several targets may lie within one long item.
    // Then it is moved there again. `low` is never ahead of that of an earlier target, so it may only lie behind the place.
    bool moved_before(const Places& low, Places& found) const
    {
        const auto same = [](const Place& one, const Place& other) { return one.at == other.at; };
        const auto behind = [](const Place& one, const Place& other) { return one.at >= other.at; };
        for (const Moved& moved : moved_) {
            if (!std::equal(moved.from.begin(), moved.from.end(), found.begin(), found.end(), same)) continue;
            if (!std::equal(moved.to.begin(), moved.to.end(), low.begin(), low.end(), behind)) continue;
            found = moved.to;
            return true;
        }
        return false;
    }

    // Moves the cut ahead of all items that compare equal to the next one behind it, but not ahead of `low`.
    void move_ahead_of_group(const Places& low, Places& found)
    {
        Pivot next{-1, 0, 0, 0};  // ties go behind it in every input
        for (size_t input = 0; input < found.size(); ++input) {
            Items& run = runs_[input];
            const int64_t at = found[input].at;
            if (at < run.size() && (next.key.at == nullptr || run.compare(at, next.key) < 0))
                next.key = run.read_key(at, next_key_);
        }
        if (next.key.at == nullptr) return;
        if (runs_[0].has_images()) next.image = runs_[0].image(next.key);
        for (size_t input = 0; input < found.size(); ++input) {
            Items& run = runs_[input];
            if (found[input].at == low[input].at) continue;
            const int64_t last = run.start_before(found[input].at);
            if (run.compare(last, next.key) < 0) continue;
            found[input] = bound(run, next, low[input], found[input], last);
        }
    }

    // Makes at_ the cut at the pivot.
    void place(Pivot& pivot)
    {
        const size_t own = static_cast<size_t>(pivot.input);
        size_t others = 0;
        for (size_t input = 0; input < at_.size(); ++input) others += input != own && low_[input].at != high_[input].at;
        if (others > 0 || runs_[own].has_images()) pivot.key = runs_[own].read_key(pivot.start, key_);
        if (runs_[own].has_images()) pivot.image = runs_[own].image(pivot.key);
        std::vector<Fault> faults(static_cast<size_t>(team_.size()), Fault{DONE, {}});
        team_.share(spec_.inputs, LEAST_SHARE, [&](int64_t first, int64_t last, int part) {
            Fault& fault = faults[static_cast<size_t>(part)];
            fault.status = static_cast<Status>(stopped_by(&fault.failure, [&] {
                for (int64_t input = first; input < last; ++input) at_[static_cast<size_t>(input)] = place_of(pivot, input);
            }));
        });
        for (const Fault& fault : faults)
            if (fault.status != DONE) throw fault;
    }

    Place place_of(const Pivot& pivot, int64_t input)
    {
        const Place &low = low_[static_cast<size_t>(input)], &high = high_[static_cast<size_t>(input)];
        Items& run = runs_[static_cast<size_t>(input)];
        const bool exact = run.has_images() && run.image_decides();
        if (input == pivot.input) {
            if (!run.has_images()) return {pivot.start};
            return {pivot.start, pivot.image, pivot.image};
        }
        const Place* end = decided(low, high, pivot.image, input < pivot.input, exact);
        if (end != nullptr) return *end;
        const double guess = pivot.fraction * static_cast<double>(high.at - low.at);
        return bound(run, pivot, low, high, low.at + static_cast<int64_t>(guess));
    }

    // Chooses an item between the cuts low_ and high_, which must differ.
    Pivot choose(int turn, int64_t target, int64_t ahead, int64_t behind)
    {
        size_t input = 0;
        double fraction = 0;
        if (turn < GUESSED) {
            for (size_t other = 1; other < at_.size(); ++other)
                if (length(other) > length(input)) input = other;
            fraction = static_cast<double>(target - ahead) / static_cast<double>(behind - ahead);
        } else {
            const int64_t all = behind - ahead;
            drawn_ = drawn_ * 6364136223846793005ull + 1442695040888963407ull;
            int64_t place = static_cast<int64_t>((drawn_ >> 11) % static_cast<uint64_t>(all));
            for (; place >= length(input); ++input) place -= length(input);
            fraction = static_cast<double>(place) / static_cast<double>(length(input));
        }
        Items& run = runs_[input];
        const int64_t low = low_[input].at, high = high_[input].at;
        const int64_t place = low + static_cast<int64_t>(fraction * static_cast<double>(high - low));
        int64_t start = run.start_from(place, high);
        if (start >= high) start = run.start_before(high);
        if (start < low) start = low;
        return {static_cast<int64_t>(input), start, run.end_of(start),
            static_cast<double>(start - low) / static_cast<double>(high - low)};
    }

    int64_t length(size_t input) const { return high_[input].at - low_[input].at; }

    const CutSpec& spec_;
    int64_t* cuts_;
    Team team_;
    std::unique_ptr<Window[]> windows_;  // one a thread
    Buffer key_, next_key_;  // the keys of the pivot, and of the item behind a cut
    std::vector<Items> runs_;
    Places low_, high_, at_;  // the cuts of the last search
    // Cuts that were moved ahead of their groups: two, as a target within an item has the cut ahead of it or behind it.
    static constexpr size_t MOVED = 2;
    struct Moved {
        Places from, to;
    };
    Moved moved_[MOVED];
    size_t turn_ = 0;
    bool known_ = false;  // whether low_ and high_ are the cuts ahead of one item and behind it
    uint64_t drawn_ = 1;
};

void check_cut(const OrderSpec& order, const SourceSpec* sources, const int64_t* positions, int64_t inputs)
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

// The first item of each source that does not go before `item`, and the first one that goes behind it.
void find_bounds(const OrderSpec& order, const BoundSpec& spec, int64_t* ahead, int64_t* behind)
{
    Window window;
    for (int64_t input = 0; input < spec.inputs; ++input) {
        Items run(spec.sources[input], order, input, window);
        const Bytes key = run.key_in(spec.item, spec.nbytes);
        const uint64_t image = run.has_images() ? run.image(key) : 0;
        // As if the item were that of a source ahead of all others, and then of one behind them.
        const Pivot first{-1, 0, 0, 0, key, image}, last{spec.inputs, 0, 0, 0, key, image};
        const Place low = bound(run, first, {0}, {run.size()}, run.size() / 2);
        const Place high = bound(run, last, {low.at, low.before, low.behind}, {run.size()}, low.at);
        ahead[input] = low.at;
        behind[input] = high.at;
    }
}

}  // namespace

int64_t gm_bounds(const struct OrderSpec* order, const struct BoundSpec* spec, int64_t* ahead, int64_t* behind,
    struct Failure* failure)
{
    return stopped_by(failure, [&] { find_bounds(*order, *spec, ahead, behind); });
}

int64_t gm_is_cut(const struct OrderSpec* order, const struct SourceSpec* sources, const int64_t* positions, int64_t inputs,
    struct Failure* failure)
{
    return stopped_by(failure, [&] { check_cut(*order, sources, positions, inputs); });
}

int64_t gm_cut(const struct OrderSpec* order, const struct CutSpec* cut, int64_t* cuts, struct Failure* failure)
{
    return stopped_by(failure, [&] { Cutter(*order, *cut, cuts).cut(); });
}
