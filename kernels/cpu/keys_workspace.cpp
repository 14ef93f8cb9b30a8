// The workspace of keys. Runs lie in staging as they were read, and the result lies in output.
#include <algorithm>
#include <cstring>
#include <vector>

#include "keys_sort.hpp"
#include "workspace.hpp"

namespace {

class KeyWorkspace final : public Workspace {
public:
    KeyWorkspace(const OrderSpec& order, const KeyFunctions& keys, int threads) : Workspace(order, threads), keys_(keys) {}

    void upload(const int64_t* lengths, int64_t runs) override
    {
        counts_.resize(runs);
        total_ = 0;
        for (int64_t run = 0; run < runs; ++run) total_ += counts_[run] = lengths[run] / order.width;
    }

    void counts(int64_t* counts) const override { std::copy(counts_.begin(), counts_.end(), counts); }

    bool in_order(bool strict, Failure& failure) override
    {
        const Byte* items = staging.data();
        for (size_t run = 0; run < counts_.size(); ++run) {
            std::vector<int64_t> found(team.size(), -1);
            team.share(counts_[run], LEAST_SHARE, [&](int64_t first, int64_t last, int part) {
                found[part] = keys_.first_disorder(items, std::max<int64_t>(0, first - 1), last, strict);
            });
            for (const int64_t index : found) {
                if (index < 0) continue;
                failure = {0, static_cast<int64_t>(run), index * order.width};
                return false;
            }
            items += counts_[run] * order.width;
        }
        return true;
    }

    void merge(const LaunchSpec& launch, Equals equals) override
    {
        std::vector<Run> runs;
        const Byte* items = staging.data();
        for (const int64_t count : counts_) {
            runs.push_back({items, count});
            items += count * order.width;
        }
        if (equals & SET) {
            const KeySets kind{keys_, launch};
            const Combining<KeySets> combining{kind, order.width, team, spare_, distinct_};
            const Run run = combining.combine(runs, equals, output.reserve(total_ * order.width));
            return take(run.items, run.count, equals);
        }
        const bool once = std::count_if(runs.begin(), runs.end(), [](const Run& run) { return run.count > 0; }) <= 2;
        Byte* const out = once && place != nullptr ? place : output.reserve(total_ * order.width);
        KeyMerge{order, keys_, order.width, launch, team, spare_}.merge(runs, out);
        finish(out, equals);
    }

    void sort(const LaunchSpec& launch, Equals equals) override
    {
        const KeyMerge merging{order, keys_, order.width, launch, team, spare_};
        Byte* const out = output.reserve(total_ * order.width);
        sort_keys(merging, staging.data(), total_, out);
        finish(out, equals);
    }

    int64_t bytes_ahead(int64_t items) const override { return items * order.width; }

private:
    static constexpr int64_t LEAST_SHARE = 1 << 16;  // items of a thread

    void finish(Byte* out, Equals equals)
    {
        const bool all = equals == KEEP_ALL || margin.kind == COUNT_APART;
        const bool first = (equals & BY_PLACE) == FIRST;
        const int64_t kept = all ? total_
            : first              ? keys_.drop_equals(out, total_, (equals & CONTINUED) != 0)
                                 : keys_.keep_places(out, total_, equals);
        take(out, kept, equals);
    }

    void take(const Byte* items, int64_t kept, Equals equals)
    {
        if (margin.kind == COUNT_APART) {
            Byte* const out = output.data();
            kept = keys_.count_equals(items, kept, out, group_sizes.reserve(static_cast<size_t>(kept)), equals);
            items = out;
        }
        dropped = total_ - kept;
        result = items;
        result_items = kept;
        result_bytes = kept * order.width;
    }

    const KeyFunctions& keys_;
    std::vector<int64_t> counts_;
    int64_t total_ = 0;
    Buffer spare_, distinct_;
};

}  // namespace

std::unique_ptr<Workspace> make_keys(const OrderSpec& order, int threads)
{
    return std::make_unique<KeyWorkspace>(order, *key_functions(order), threads);
}
