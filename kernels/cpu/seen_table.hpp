// The groups of equal items that are held in memory. Included behind seen_order.hpp and kept_bits.hpp.
#pragma once

constexpr int MOST_ALIKE = 4;
constexpr int64_t NODE = 96;   // bytes of a node of the tree, about
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

inline unsigned char* copied(const unsigned char* from, int64_t nbytes, unsigned char* to)
{
    if (nbytes > 0) std::memcpy(to, from, static_cast<size_t>(nbytes));
    return to + nbytes;
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

// A hash table of items, which sets the bits of those that go out. If many items have one hash but differ, those beyond MOST_ALIKE
// lie in a tree, which compares them. If most items do, hashes do not tell parts apart: then items of the tree are the pivots
// between parts, as in a sample sort.
class SeenTable {
public:
    // equals: bits of BY_PLACE. most: the bytes of items and of the table.
    SeenTable(const SeenOrder& order, KeptBits& bits, int64_t equals, int64_t most)
        : order_(order), bits_(bits), equals_(equals), most_(most), tree_(Less{this})
    {
    }

    // Begins anew. parts: a power of two, the parts of items without room. depth: another one gives other parts.
    void begin(int64_t parts, int64_t depth)
    {
        tree_.clear();
        pivots_.clear();
        slots_.clear();
        slots_.shrink_to_fit();
        if (arena_.size() != most_) arena_.reserve(most_);
        used_ = held_ = 0;
        full_ = false;
        parts_ = static_cast<size_t>(parts);
        depth_ = depth;
    }

    void prefetch(uint64_t hash) const
    {
        if (!slots_.empty()) __builtin_prefetch(&slots_[first_slot(hash)]);
    }

    // Finds the group of an item, or makes it. Returns false if there is no room for it.
    bool settle(const Found& one)
    {
        const Bytes bytes{one.at, one.size};
        if (slots_.empty()) slots_.resize(LEAST_SLOTS);
        int alike = 0;
        size_t slot = first_slot(one.hash);
        for (; slots_[slot].at >= 0; slot = (slot + 1) & (slots_.size() - 1)) {
            if (slots_[slot].hash != one.hash) continue;
            if (order_.equal(held(slots_[slot].at), bytes)) return meet(slots_[slot].at, one.place);
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

    // The part of an item, which is that of all items that equal it.
    size_t part_of(const Found& one) const
    {
        if (!pivots_.empty()) {
            const Bytes bytes{one.at, one.size};
            const auto above = std::upper_bound(pivots_.begin(), pivots_.end(), bytes, Less{this});
            return static_cast<size_t>(above - pivots_.begin());
        }
        const uint64_t turned = mixed(one.hash ^ static_cast<uint64_t>(depth_), SECOND);
        return static_cast<size_t>(turned >> 32) & (parts_ - 1);
    }

private:
    struct Less {
        typedef void is_transparent;
        const SeenTable* table;
        bool operator()(int64_t x, int64_t y) const { return compare(table->held(x), table->held(y)) < 0; }
        bool operator()(int64_t x, const Bytes& y) const { return compare(table->held(x), y) < 0; }
        bool operator()(const Bytes& x, int64_t y) const { return compare(x, table->held(y)) < 0; }
        int compare(const Bytes& x, const Bytes& y) const { return table->order_.compare(x, y); }
    };

    size_t first_slot(uint64_t hash) const { return static_cast<size_t>(mixed(hash, SEED)) & (slots_.size() - 1); }

    // An item in the arena. Ahead of it lie its size and, unless the first one goes out, the state of its group.
    Bytes held(int64_t at) const
    {
        uint64_t size;
        const unsigned char* const start = take_number(arena_.data() + at + state_bytes(), size);
        return {start, static_cast<int64_t>(size)};
    }

    int64_t state_bytes() const { return equals_ == FIRST ? 0 : 8; }

    // Whether one more item may be kept. The first one always may.
    bool has_room(const Found& one, int64_t more)
    {
        if (full_) return false;
        const int64_t needed = one.size + state_bytes() + static_cast<int64_t>(VARINT);
        if (used_ == 0 && needed > arena_.size()) arena_.reserve(needed);
        const int64_t slots = static_cast<int64_t>(slots_.size() * sizeof(Slot));
        const int64_t nodes = static_cast<int64_t>(tree_.size()) * NODE;
        const bool fits = used_ + needed + more + slots + nodes <= most_;
        full_ = used_ > 0 && (!fits || 8 * held_ > 7 * static_cast<int64_t>(slots_.size()));
        if (full_ && static_cast<int64_t>(tree_.size()) > held_) choose_pivots();
        return !full_;
    }

    void choose_pivots()
    {
        const size_t step = tree_.size() / parts_ + 1;
        size_t number = 0;
        for (const int64_t at : tree_)
            if (++number % step == 0) pivots_.push_back(at);
    }

    int64_t keep(const Found& one)
    {
        const int64_t at = used_;
        unsigned char* out = arena_.data() + at;
        if (equals_ != FIRST) {
            write_state(out, one.place, false);
            if (equals_ & SINGLE) bits_.set(one.place, true);
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
        if (equals_ == FIRST) return true;
        unsigned char* const state = arena_.data() + at;
        uint64_t word;
        std::memcpy(&word, state, 8);
        bits_.set(static_cast<int64_t>(word >> 1), (equals_ & (word & 1 ? INNER : FIRST_OF)) != 0);
        bits_.set(place, (equals_ & LAST_OF) != 0);
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
        if (static_cast<int64_t>(3 * count / 2 * sizeof(Slot)) + used_ > most_) return;
        std::vector<Slot> before(count);
        before.swap(slots_);
        for (const Slot& one : before) {
            if (one.at < 0) continue;
            size_t slot = first_slot(one.hash);
            while (slots_[slot].at >= 0) slot = (slot + 1) & (count - 1);
            slots_[slot] = one;
        }
    }

    static constexpr size_t LEAST_SLOTS = 1 << 10;

    const SeenOrder& order_;
    KeptBits& bits_;
    const int64_t equals_, most_;
    std::vector<Slot> slots_;
    std::set<int64_t, Less> tree_;
    std::vector<int64_t> pivots_;  // items of the arena, ascending
    Arena arena_;
    size_t parts_ = 1;
    int64_t depth_ = 0, used_ = 0, held_ = 0;  // bytes of the arena, items in slots
    bool full_ = false;
};
