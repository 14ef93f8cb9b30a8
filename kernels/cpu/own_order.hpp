// A copy of an order of lines that holds the address of its locale. Needs lines.cuh.
#pragma once

class OwnOrder {
public:
    explicit OwnOrder(const OrderSpec& spec) : table_(words_of_lines(spec))
    {
        std::memcpy(table_.data(), spec.table, table_.size() * sizeof(long long));
        LineOrder& own = *reinterpret_cast<LineOrder*>(table_.data());
        own.opened = own.flags & IN_LOCALE ? reinterpret_cast<long long>(&locale_of(own)) : 0;
    }

    const LineOrder& order() const { return *reinterpret_cast<const LineOrder*>(table_.data()); }
    const int64_t* table() const { return reinterpret_cast<const int64_t*>(table_.data()); }

private:
    std::vector<long long> table_;
};
