// Runs a chunk, from its first read to its last write.
#include <algorithm>
#include <cstring>
#include <ctime>
#include <numeric>
#include <optional>
#include <vector>

#include "compare.hpp"
#include "fault.hpp"
#include "mapping.hpp"
#include "sink.hpp"
#include "source.hpp"
#include "workspace.hpp"

namespace {

// Measures the nanoseconds since its last call, or since it was made.
class Clock {
public:
    int64_t passed()
    {
        const int64_t before = at_;
        at_ = now();
        return at_ - before;
    }

private:
    static int64_t now()
    {
        timespec at;
        clock_gettime(CLOCK_MONOTONIC, &at);
        return int64_t{at.tv_sec} * 1'000'000'000 + at.tv_nsec;
    }

    int64_t at_ = now();
};

class Chunk {
public:
    Chunk(Workspace& workspace, const ChunkSpec& spec) : workspace_(workspace), spec_(spec)
    {
        for (int64_t input = 0; input < spec.inputs; ++input) lengths_.push_back(stop(input) - start(input));
        nbytes_ = std::accumulate(lengths_.begin(), lengths_.end(), int64_t(0));
    }

    void read()
    {
        unsigned char* out = workspace_.staging.reserve(static_cast<size_t>(nbytes_));
        for (int64_t input = 0; input < spec_.inputs; ++input) {
            read_source(spec_.sources[input], workspace_.order, input, start(input), out, length(input));
            out += length(input);
        }
    }

    // Decides which of several equal items go out. Throws Fault if items are checked, and the first one of a range goes
    // before the one ahead of it. All items that go out before the chunk lie ahead of its ranges. So the greatest of them is
    // the item directly ahead of one of the ranges.
    Equals look_ahead()
    {
        const bool by_places = (spec_.equals & BY_PLACE) != 0;
        if (!spec_.check && !by_places) return static_cast<Equals>(spec_.equals);
        Window windows[2];  // one holds the greatest item so far, which may be a long line; the other is free
        Bytes greatest{nullptr, 0};
        int free = 0;
        bool any_ahead = false;
        Bytes least{nullptr, 0};
        const unsigned char* at = workspace_.staging.data();
        for (int64_t input = 0; input < spec_.inputs; at += length(input), ++input) {
            Items items(spec_.sources[input], workspace_.order, input, windows[free]);
            const Bytes first = length(input) > 0 ? items.key_in(at, length(input)) : Bytes{nullptr, 0};
            const bool ahead = start(input) > 0 && (by_places || length(input) > 0);
            const int64_t before = ahead ? items.start_before(start(input)) : 0;
            if (ahead && length(input) > 0 && spec_.check && items.compare(before, first) > 0)
                throw Fault{DISORDER, {0, input, start(input)}};
            if (!by_places) continue;
            if (length(input) > 0 && (least.at == nullptr || items.compare_keys(first, least) < 0)) least = first;
            if (ahead && (!any_ahead || items.compare(before, greatest) > 0)) {
                greatest = items.key(before);
                free = 1 - free;
                any_ahead = true;
            }
        }
        if (!by_places) return static_cast<Equals>(spec_.equals);
        bool continued = false;
        if (any_ahead && least.at != nullptr) {
            const Items items(spec_.sources[0], workspace_.order, 0, windows[free]);
            continued = items.compare_keys(greatest, least) >= 0;
        }
        return static_cast<Equals>(spec_.equals | (continued ? CONTINUED : 0) | (is_followed() ? FOLLOWED : 0));
    }

    void upload() { workspace_.upload(lengths_.data(), spec_.inputs); }

    void check()
    {
        Failure failure{0, 0, 0};
        const auto found = [&] { return Fault{DISORDER, {0, failure.input, start(failure.input) + failure.position}}; };
        if (workspace_.find_fault(failure)) throw found();
        if (spec_.check && !workspace_.in_order(false, failure)) throw found();
    }

    void put_together(const LaunchSpec& launch, Equals equals, const SinkSpec& sink)
    {
        // A long line may make the chunk much larger than foreseen. Then there should be only one copy of it. Rows that go
        // to a mapping are gathered there, those that go nowhere yet when they are received.
        const bool by_parts = sink.memory != nullptr || nbytes_ > 2 * workspace_.capacity;
        const bool mapped_keys = sink.memory != nullptr && equals == KEEP_ALL && workspace_.order.kind < RECORDS;
        const bool aligned = mapped_keys && sink.start % workspace_.order.width == 0;
        workspace_.place = aligned ? sink.memory + sink.start : nullptr;
        if (spec_.sorts) by_parts ? workspace_.sort_rows(launch, equals) : workspace_.sort(launch, equals);
        else by_parts ? workspace_.merge_rows(launch, equals) : workspace_.merge(launch, equals);
        workspace_.place = nullptr;
    }

    void write_mapped(const SinkSpec& sink, HeldMapping& mapping)
    {
        unsigned char* const place = sink.memory + sink.start;
        for (int64_t done = 0; done < workspace_.result_bytes; done += PART) {
            const int64_t here = std::min(PART, workspace_.result_bytes - done);
            if (workspace_.result != place) workspace_.receive(done, here, place + done);
            if (sink.swap > 0) swap_keys(place + done, here, sink.swap);
            mapping.wrote(sink.start + done, here);
        }
        workspace_.result = nullptr;  // it may go away at any time
        mapping.check();
    }

    void write(const SinkSpec& sink)
    {
        if (workspace_.result == nullptr) return write_parts(sink);
        const unsigned char* data = workspace_.result;
        if (sink.swap > 0) data = swapped(data, sink.swap);
        write_sink(sink, data, workspace_.result_bytes);
    }

private:
    // Whether an item behind the chunk equals one of it, for rules to which that matters. The least item behind it lies directly
    // behind one of the ranges, and the greatest one of the chunk is the last one of a range.
    bool is_followed() const
    {
        if ((spec_.equals & BY_PLACE) == FIRST) return false;
        Window windows[2], window;
        Bytes least{nullptr, 0};
        int free = 0;
        bool any_behind = false;
        for (int64_t input = 0; input < spec_.inputs; ++input) {
            if (stop(input) >= spec_.sources[input].size) continue;
            Items items(spec_.sources[input], workspace_.order, input, windows[free]);
            if (any_behind && items.compare(stop(input), least) >= 0) continue;
            least = items.key(stop(input));
            free = 1 - free;
            any_behind = true;
        }
        for (int64_t input = 0; input < spec_.inputs && any_behind; ++input) {
            if (length(input) == 0) continue;
            Items items(spec_.sources[input], workspace_.order, input, window);
            if (items.compare(items.start_before(stop(input)), least) >= 0) return true;
        }
        return false;
    }

    static constexpr int64_t PART = 8 << 20;  // whole keys

    int64_t start(int64_t input) const { return spec_.ranges[2 * input]; }
    int64_t stop(int64_t input) const { return spec_.ranges[2 * input + 1]; }
    int64_t length(int64_t input) const { return lengths_[static_cast<size_t>(input)]; }

    // Writes a result that is not in one place. Keys are always in one place, so their byte order need not be turned here.
    void write_parts(SinkSpec sink)
    {
        const int64_t nbytes = workspace_.result_bytes;
        Buffer& room = workspace_.output;
        room.reserve(static_cast<size_t>(std::min(PART, nbytes)));
        for (int64_t done = 0; done < nbytes; done += PART) {
            const int64_t here = std::min(PART, nbytes - done);
            workspace_.receive(done, here, room.data());
            write_sink(sink, room.data(), here);
            sink.start += here;
        }
    }

    // The result, in foreign byte order if the input was so.
    const unsigned char* swapped(const unsigned char* data, int64_t width)
    {
        unsigned char* out = workspace_.staging.data();
        if (workspace_.result_bytes > 0 && data != out)
            std::memmove(out, data, static_cast<size_t>(workspace_.result_bytes));
        swap_keys(out, workspace_.result_bytes, width);
        return out;
    }

    Workspace& workspace_;
    const ChunkSpec& spec_;
    std::vector<int64_t> lengths_;
    int64_t nbytes_ = 0;
};

}  // namespace

int64_t gm_chunk(struct Workspace* workspace, const struct ChunkSpec* chunk, const struct LaunchSpec* launch,
    const struct SinkSpec* sink, struct ChunkResult* result, struct Failure* failure)
{
    *result = ChunkResult{};
    return stopped_by(failure, [&] {
        Clock clock;
        Chunk work(*workspace, *chunk);
        work.read();
        result->read_ns = clock.passed();
        const Equals equals = work.look_ahead();
        result->check_ns = clock.passed();
        work.upload();
        result->index_ns = clock.passed();
        work.check();
        result->check_ns += clock.passed();
        std::optional<HeldMapping> mapping;
        if (sink->memory != nullptr) mapping.emplace(sink->memory);
        work.put_together(*launch, equals, *sink);
        result->kernel_ns = clock.passed();
        result->items = workspace->result_items;
        result->dropped = workspace->dropped;
        result->nbytes = workspace->result_bytes;
        if (mapping) work.write_mapped(*sink, *mapping);
        else if (sink->descriptor >= 0) work.write(*sink);
        result->write_ns = clock.passed();
    });
}
