// Finds the items that go out of equal ones, wherever these lie. The items need no order.
//
// A hash table holds the items that were seen, and a bit for each item says whether it goes out. An item with the hash of a seen
// one is compared with it. Once the table is full, items that it lacks go to parts by their hashes. Equal items are in one part, so
// each part is decided alone, in the same way: so does the hybrid hash join (DeWitt et al., 1984). Lastly, the items are gone
// through again, and those whose bits are set go out.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <set>
#include <vector>

#include "compare.hpp"
#include "find.hpp"
#include "kept_bits.hpp"
#include "memory.hpp"

#define ROWS 1
#define KEY_BITS 64
#define TEXT_PADDING 64
#include "../host.cuh"

namespace {

#include "../keys.cuh"
#include "../record_fields.cuh"
#include "key_fields.hpp"
#include "record_fields.hpp"
#include "item_hash.hpp"
#include "seen_order.hpp"
#include "seen_table.hpp"

constexpr size_t BATCH = 64;

// Items that wait to go to a part.
struct PartBuffer {
    Buffer bytes;
    int64_t size = 0, room = 0, last = 0;  // last: the place of the last item
};

}  // namespace

struct Seen {
    Seen(const OrderSpec& order, const SeenSpec& spec)
        : order_(order), bits_(static_cast<int>(spec.descriptor), spec.bits), table_(order_, bits_, spec.equals, spec.most),
          mask_(spec.hash_bits >= 64 ? ~0ull : (1ull << spec.hash_bits) - 1)
    {
    }

    void begin(int64_t parts, int64_t room, int64_t depth)
    {
        table_.begin(parts, depth);
        parts_ = std::vector<PartBuffer>(static_cast<size_t>(parts));
        room_ = room;
        decoded_ = 0;
    }

    // Takes the whole items of a text, or records of a part, until a buffer of a part is full.
    void take(const unsigned char* text, int64_t nbytes, bool records, SeenResult& result)
    {
        result.taken = result.items = result.nbytes = 0;
        result.part = result.fault = -1;
        Found batch[BATCH];
        const unsigned char* at = text;
        const unsigned char* const stop = text + nbytes;
        while (at < stop && result.part < 0) {
            const unsigned char* ends[BATCH];
            size_t count = 0;
            const unsigned char* next = at;
            for (; count < BATCH && next < stop; ++count) {
                Found& one = batch[count];
                const unsigned char* const end = records ? record(next, stop, one) : order_.item(next, stop, one);
                if (end == nullptr) break;
                bool invalid = false;
                one.hash = order_.hash_of(one, invalid) & mask_;
                if (invalid && result.fault < 0) [[unlikely]] result.fault = next - text;
                table_.prefetch(one.hash);
                ends[count] = next = end;
            }
            if (count == 0 || result.fault >= 0) break;
            for (size_t number = 0; number < count && result.part < 0; ++number) {
                Found& one = batch[number];
                one.place = records ? decoded_ + one.place : place_;
                if (!table_.settle(one) && !spill(one, result)) break;
                at = ends[number];
                ++result.items;
                if (records) decoded_ = one.place;
                else ++place_;
            }
        }
        result.taken = at - text;
    }

    // The next buffer with items.
    void flush(SeenResult& result)
    {
        result.part = -1;
        result.nbytes = 0;
        for (size_t part = 0; part < parts_.size() && result.part < 0; ++part)
            if (parts_[part].size > 0) pass_on(part, result);
    }

    // Writes the whole items of a text that go out.
    void put(const unsigned char* text, int64_t nbytes, unsigned char* out, SeenResult& result)
    {
        unsigned char* to = out;
        const unsigned char *stretch = text, *at = text;
        int64_t kept = 0, items = 0;
        const auto visit = [&](const unsigned char* end) {
            if (bits_.test(put_++)) ++kept;
            else {
                to = copied(stretch, at - stretch, to);
                stretch = end;
            }
            at = end;
            ++items;
        };
        if (order_.has_lines()) {
            each_line(text, nbytes, order_.terminator(), [&](int64_t, int64_t stop) { visit(text + stop); });
        } else {
            for (const int64_t size = order_.item_bytes(); text + nbytes - at >= size;) visit(at + size);
        }
        to = copied(stretch, at - stretch, to);
        result.taken = at - text;
        result.items = items;
        result.kept = kept;
        result.nbytes = to - out;
    }

private:
    // As SeenOrder::item, for an item of a part.
    static const unsigned char* record(const unsigned char* at, const unsigned char* stop, Found& one)
    {
        uint64_t place, size;
        one.at = take_number(take_number(at, place), size);
        one.place = static_cast<int64_t>(place);
        one.size = static_cast<int64_t>(size);
        return one.at <= stop && one.size <= stop - one.at ? one.at + one.size : nullptr;
    }

    // Puts an item to its part. Returns false if its buffer must go out before.
    bool spill(const Found& one, SeenResult& result)
    {
        const size_t number = table_.part_of(one);
        PartBuffer& part = parts_[number];
        const int64_t needed = one.size + 2 * static_cast<int64_t>(VARINT);
        if (part.size > 0 && part.size + needed > part.room) {
            pass_on(number, result);
            return false;
        }
        if (part.room < needed || part.bytes.data() == nullptr) {
            part.room = std::max(room_, needed);
            part.bytes.reserve(static_cast<size_t>(part.room));
        } else if (part.size == 0 && part.room > room_ && needed <= room_) {  // a long item has gone out
            Buffer fresh;
            part.room = room_;
            fresh.reserve(static_cast<size_t>(room_));
            part.bytes.swap(fresh);
        }
        unsigned char* out = part.bytes.data() + part.size;
        out = put_number(put_number(out, static_cast<uint64_t>(one.place - part.last)), static_cast<uint64_t>(one.size));
        part.size = copied(one.at, one.size, out) - part.bytes.data();
        part.last = one.place;
        return true;
    }

    void pass_on(size_t number, SeenResult& result)
    {
        PartBuffer& part = parts_[number];
        result.part = static_cast<int64_t>(number);
        result.at = part.bytes.data();
        result.nbytes = part.size;
        part.size = 0;
    }

    const SeenOrder order_;
    KeptBits bits_;
    SeenTable table_;
    const uint64_t mask_;
    std::vector<PartBuffer> parts_;
    int64_t room_ = 0, decoded_ = 0;  // decoded_: the place of the last item of a part
    int64_t place_ = 0, put_ = 0;     // the number of the next item that is taken, and that is put out
};

Seen* gm_seen_open(const OrderSpec* order, const SeenSpec* spec)
{
    try {
        return new Seen(*order, *spec);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

void gm_seen_close(Seen* seen) { delete seen; }

int64_t gm_seen_begin(Seen* seen, int64_t parts, int64_t room, int64_t depth, Failure* failure)
{
    return stopped_by(failure, [&] { seen->begin(parts, room, depth); });
}

int64_t gm_seen_take(Seen* seen, const unsigned char* text, int64_t nbytes, int64_t records, SeenResult* result, Failure* failure)
{
    return stopped_by(failure, [&] { seen->take(text, nbytes, records != 0, *result); });
}

void gm_seen_flush(Seen* seen, SeenResult* result) { seen->flush(*result); }

int64_t gm_seen_put(
    Seen* seen, const unsigned char* text, int64_t nbytes, unsigned char* out, SeenResult* result, Failure* failure)
{
    return stopped_by(failure, [&] { seen->put(text, nbytes, out, *result); });
}
