// Finds the items that go out of equal ones, wherever these lie. The items need no order.
//
// A hash table holds the items that were seen, and a bit for each item says whether it goes out. An item with the hash of a seen one is
// compared with it. Once the table is full, items that it lacks go to parts by their hashes. Items that are equal are in the
// same part, so each part is decided alone, in the same way: this is the hybrid hash join's treatment of its first input (DeWitt et
// al., 1984). Lastly, the items are gone through again, and those whose bits are set go out.
//
// If many items have one hash but differ, those beyond MOST_ALIKE lie in a tree, which compares them.
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
#include "own_order.hpp"

constexpr int MOST_ALIKE = 16;
constexpr int64_t NODE = 96;  // bytes of a node of the tree, about
constexpr size_t BATCH = 64;
constexpr size_t VARINT = 10;  // the most bytes of a number

// Seven bits a byte, the low ones first; all bytes but the last one have the high bit.
inline unsigned char* put_number(unsigned char* out, uint64_t number)
{
    for (; number >= 128; number >>= 7) *out++ = static_cast<unsigned char>(number | 128);
    *out++ = static_cast<unsigned char>(number);
    return out;
}

inline const unsigned char* take_number(const unsigned char* at, uint64_t& number)
{
    number = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        number |= static_cast<uint64_t>(*at & 127) << shift;
        if (*at++ < 128) break;
    }
    return at;
}

// Memory of a fixed size whose pages are there once they are written.
class Arena {
public:
    ~Arena() { drop(); }
    void reserve(int64_t nbytes)
    {
        drop();
        const size_t needed = static_cast<size_t>(nbytes) + PADDING;
        void* const memory = mmap(nullptr, needed, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) throw std::bad_alloc();
        if (needed >= 4 * HUGE_PAGE) madvise(memory, needed, MADV_HUGEPAGE);
        at_ = static_cast<unsigned char*>(memory);
        size_ = nbytes;
    }
    unsigned char* data() const { return at_; }
    int64_t size() const { return size_; }

private:
    void drop()
    {
        if (at_ != nullptr) munmap(at_, static_cast<size_t>(size_) + PADDING);
        at_ = nullptr;
    }
    unsigned char* at_ = nullptr;
    int64_t size_ = 0;
};

struct Slot {
    uint64_t hash = 0;
    int64_t at = -1;  // of the item in the arena; -1 for none
};

// Items that wait to go to a part.
struct PartBuffer {
    Buffer bytes;
    int64_t size = 0, room = 0, last = 0;  // last: the place of the last item
};

struct Found {
    uint64_t hash;
    const unsigned char* at;
    int64_t size, place;
};

}  // namespace

struct Seen {
    Seen(const OrderSpec& order, const SeenSpec& spec)
        : spec_(spec), order_(order), bits_(static_cast<int>(spec.descriptor), spec.bits),
          mask_(spec.hash_bits >= 64 ? ~0ull : (1ull << spec.hash_bits) - 1), tree_(Less{this})
    {
        if (order.kind == LINES) {
            own_ = std::make_unique<OwnOrder>(order);
            order_.table = own_->table();
        }
    }

    void begin(int64_t parts, int64_t room, int64_t depth)
    {
        tree_.clear();
        slots_.clear();
        slots_.shrink_to_fit();
        if (arena_.size() != spec_.most) arena_.reserve(spec_.most);
        used_ = held_ = 0;
        full_ = false;
        parts_ = std::vector<PartBuffer>(static_cast<size_t>(parts));
        room_ = room;
        depth_ = depth;
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
                const unsigned char* const end = records ? record(next, stop, one) : item(next, stop, one);
                if (end == nullptr) break;
                bool invalid = false;
                one.hash = hash_of(one, invalid) & mask_;
                if (invalid && result.fault < 0) [[unlikely]] result.fault = next - text;
                if (!slots_.empty()) __builtin_prefetch(&slots_[first_slot(one.hash)]);
                ends[count] = next = end;
            }
            if (count == 0 || result.fault >= 0) break;
            for (size_t number = 0; number < count && result.part < 0; ++number) {
                Found& one = batch[number];
                one.place = records ? decoded_ + one.place : place_;
                if (!settle(one) && !spill(one, result)) break;
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
        if (order_.kind == LINES) {
            const unsigned char terminator = static_cast<unsigned char>(order_.terminator);
            each_line(text, 0, nbytes, terminator, 0, [&](int64_t, int64_t stop) { visit(text + stop); });
        } else {
            for (const int64_t size = item_bytes(); text + nbytes - at >= size;) visit(at + size);
        }
        to = copied(stretch, at - stretch, to);
        result.taken = at - text;
        result.items = items;
        result.kept = kept;
        result.nbytes = to - out;
    }

private:
    struct Less {
        typedef void is_transparent;
        const Seen* seen;
        bool operator()(int64_t x, int64_t y) const { return compare(seen->held(x), seen->held(y)) < 0; }
        bool operator()(int64_t x, const Bytes& y) const { return compare(seen->held(x), y) < 0; }
        bool operator()(const Bytes& x, int64_t y) const { return compare(x, seen->held(y)) < 0; }
        int compare(const Bytes& x, const Bytes& y) const { return seen->compare(x, y); }
    };

    int64_t item_bytes() const { return order_.kind == RECORDS ? order_.record : order_.width; }

    static unsigned char* copied(const unsigned char* from, int64_t nbytes, unsigned char* to)
    {
        if (nbytes > 0) std::memcpy(to, from, static_cast<size_t>(nbytes));
        return to + nbytes;
    }

    // The item at `at`, a line without its terminator. Returns its end; null if it is not whole.
    const unsigned char* item(const unsigned char* at, const unsigned char* stop, Found& one) const
    {
        one.at = at;
        if (order_.kind != LINES) {
            one.size = item_bytes();
            return stop - at >= one.size ? at + one.size : nullptr;
        }
        const Place end = find_byte(at, stop, order_.terminator);
        if (end >= stop) return nullptr;
        one.size = end - at;
        return end + 1;
    }

    // As item, for an item of a part.
    static const unsigned char* record(const unsigned char* at, const unsigned char* stop, Found& one)
    {
        uint64_t place, size;
        one.at = take_number(take_number(at, place), size);
        one.place = static_cast<int64_t>(place);
        one.size = static_cast<int64_t>(size);
        return one.at <= stop && one.size <= stop - one.at ? one.at + one.size : nullptr;
    }

    Word hash_of(const Found& one, bool& invalid) const
    {
        if (order_.kind != LINES) return hash_of_fields(order_, one.at);
        return hash_of_line(own_->order(), {one.at, one.at + one.size}, invalid);
    }

    int compare(const Bytes& x, const Bytes& y) const
    {
        if (order_.kind != LINES) return compare_items(order_, x.at, x.size, y.at, y.size);
        return compare_lines(own_->order(), {x.at, x.at + x.size}, {y.at, y.at + y.size});
    }

    bool equal(const Bytes& x, const Bytes& y) const
    {
        if (order_.kind == LINES && own_->order().plain())
            return x.size == y.size && std::memcmp(x.at, y.at, static_cast<size_t>(x.size)) == 0;
        return compare(x, y) == 0;
    }

    size_t first_slot(uint64_t hash) const { return static_cast<size_t>(mixed(hash, SEED)) & (slots_.size() - 1); }

    // An item in the arena. Ahead of it lie its size and, unless the first one goes out, the state of its group.
    Bytes held(int64_t at) const
    {
        uint64_t size;
        const unsigned char* const start = take_number(arena_.data() + at + state_bytes(), size);
        return {start, static_cast<int64_t>(size)};
    }

    int64_t state_bytes() const { return spec_.equals == FIRST ? 0 : 8; }

    // Finds the group of an item, or makes it. Returns false if there is no room for it.
    bool settle(const Found& one)
    {
        const Bytes bytes{one.at, one.size};
        if (slots_.empty()) slots_.resize(LEAST_SLOTS);
        int alike = 0;
        size_t slot = first_slot(one.hash);
        for (; slots_[slot].at >= 0; slot = (slot + 1) & (slots_.size() - 1)) {
            if (slots_[slot].hash != one.hash) continue;
            if (equal(held(slots_[slot].at), bytes)) return meet(slots_[slot].at, one.place);
            if (++alike == MOST_ALIKE) break;
        }
        if (alike == MOST_ALIKE) {
            const auto found = tree_.find(bytes);
            if (found != tree_.end()) return meet(*found, one.place);
            if (!has_room(one, NODE)) return false;
            tree_.insert(keep(one));
            return true;
        }
        if (!has_room(one, 0)) return false;
        slots_[slot] = {one.hash, keep(one)};
        ++held_;
        if (10 * held_ > 6 * static_cast<int64_t>(slots_.size())) grow();
        return true;
    }

    // Whether one more item may be kept. The first one always may.
    bool has_room(const Found& one, int64_t more)
    {
        if (full_) return false;
        const int64_t needed = one.size + state_bytes() + static_cast<int64_t>(VARINT);
        if (used_ == 0 && needed > arena_.size()) arena_.reserve(needed);
        const int64_t slots = static_cast<int64_t>(slots_.size() * sizeof(Slot));
        const int64_t nodes = static_cast<int64_t>(tree_.size()) * NODE;
        const bool fits = used_ + needed + more + slots + nodes <= spec_.most;
        full_ = used_ > 0 && (!fits || 8 * held_ > 7 * static_cast<int64_t>(slots_.size()));
        return !full_;
    }

    int64_t keep(const Found& one)
    {
        const int64_t at = used_;
        unsigned char* out = arena_.data() + at;
        if (spec_.equals != FIRST) {
            write_state(out, one.place, false);
            if (spec_.equals & SINGLE) bits_.set(one.place, true);
            out += 8;
        } else
            bits_.set(one.place, true);
        out = copied(one.at, one.size, put_number(out, static_cast<uint64_t>(one.size)));
        used_ = out - arena_.data();
        return at;
    }

    // One more item of a group.
    bool meet(int64_t at, int64_t place)
    {
        if (spec_.equals == FIRST) return true;
        unsigned char* const state = arena_.data() + at;
        uint64_t word;
        std::memcpy(&word, state, 8);
        bits_.set(static_cast<int64_t>(word >> 1), (spec_.equals & (word & 1 ? INNER : FIRST_OF)) != 0);
        bits_.set(place, (spec_.equals & LAST_OF) != 0);
        write_state(state, place, true);
        return true;
    }

    // The place of a group's last item, and whether there are several.
    static void write_state(unsigned char* at, int64_t place, bool several)
    {
        const uint64_t word = static_cast<uint64_t>(place) << 1 | several;
        std::memcpy(at, &word, 8);
    }

    void grow()
    {
        const size_t count = 2 * slots_.size();
        if (static_cast<int64_t>(3 * count / 2 * sizeof(Slot)) + used_ > spec_.most) return;
        std::vector<Slot> before(count);
        before.swap(slots_);
        for (const Slot& one : before) {
            if (one.at < 0) continue;
            size_t slot = first_slot(one.hash);
            while (slots_[slot].at >= 0) slot = (slot + 1) & (count - 1);
            slots_[slot] = one;
        }
    }

    // Puts an item to its part. Returns false if its buffer must go out before.
    bool spill(const Found& one, SeenResult& result)
    {
        const uint64_t turned = mixed(one.hash ^ static_cast<uint64_t>(depth_), SECOND);
        const size_t number = static_cast<size_t>(turned >> 32) & (parts_.size() - 1);
        PartBuffer& part = parts_[number];
        const int64_t needed = one.size + 2 * static_cast<int64_t>(VARINT);
        if (part.size > 0 && part.size + needed > part.room) {
            pass_on(number, result);
            return false;
        }
        if (part.room < needed || part.bytes.data() == nullptr) part.bytes.reserve(static_cast<size_t>(part.room = std::max(room_, needed)));
        else if (part.size == 0 && part.room > room_ && needed <= room_) {  // a long item has gone out
            Buffer fresh;
            fresh.reserve(static_cast<size_t>(part.room = room_));
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

    static constexpr size_t LEAST_SLOTS = 1 << 10;

    const SeenSpec spec_;
    OrderSpec order_;
    std::unique_ptr<OwnOrder> own_;
    KeptBits bits_;
    const uint64_t mask_;
    std::vector<Slot> slots_;
    std::set<int64_t, Less> tree_;
    Arena arena_;
    std::vector<PartBuffer> parts_;
    int64_t used_ = 0, held_ = 0;  // bytes of the arena, items in slots
    int64_t room_ = 0, depth_ = 0, decoded_ = 0;
    int64_t place_ = 0, put_ = 0;  // the number of the next item that is taken, and that is put out
    bool full_ = false;
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
