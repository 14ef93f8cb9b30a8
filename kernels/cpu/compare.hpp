// Compares two items. Cuts and borders of chunks need this; they know the order only at run time.
#pragma once

#include "collation.hpp"
#include "entries.h"
#include "memory.hpp"

// Negative, zero or positive, if item a goes before, with or behind item b. Lines must come without their terminators.
int compare_items(const OrderSpec& order, const unsigned char* a, int64_t a_size, const unsigned char* b, int64_t b_size);

// The number of fields in the key of records, and each of them.
inline int64_t fields_of(const OrderSpec& order) { return order.table == nullptr ? 1 : order.table[0]; }

inline FieldSpec field_of(const OrderSpec& order, int64_t number)
{
    if (order.table != nullptr) return reinterpret_cast<const FieldSpec*>(order.table + 1)[number];
    return {order.offset, order.width, order.key_kind, order.big_endian, order.descending};
}

// The words of an order of lines: see LineOrder of ../fields.cuh.
size_t words_of_lines(const OrderSpec& order);

// A key that is all of an item, as a field.
inline FieldSpec whole_key(const OrderSpec& order) { return {0, order.width, order.kind, 0, order.descending}; }

// Whether lines compare by their bytes alone; whether lines that do go the other way round.
bool is_plain(const OrderSpec& order);
bool is_reversed(const OrderSpec& order);
// The image of an item that is no line, in an order by one field: an item with a smaller image goes first. Keys of bytes have the
// image of their first 8 bytes.
uint64_t image_of_key(const OrderSpec& order, const unsigned char* item);

struct Bytes {
    const unsigned char* at;
    int64_t size;
};
// Whether key `number` of a line is no value of its kind, and no null.
bool is_invalid_key(const OrderSpec& order, int64_t number, Bytes line);
// Reads key `number` of a line, whose kind is a time: see gm_read_time.
bool read_time(const OrderSpec& order, int64_t number, Bytes line, int64_t* found);
// Key `number` of a line.
Bytes key_in_line(const OrderSpec& order, int64_t number, Bytes line);
// The key of an item whose place is `table`: see SourceSpec. order: that of the keys. made: holds the key if it does not lie in
// the item as it is compared.
Bytes key_part(const OrderSpec& order, const int64_t* table, Bytes item, Buffer& made);
// The table of a source of records: the bytes of a record, and the fields of its key.
inline int64_t record_in(const int64_t* table) { return table[0]; }
inline int64_t fields_in(const int64_t* table) { return table[1]; }
inline FieldSpec field_in(const int64_t* table, int64_t number)
{
    return reinterpret_cast<const FieldSpec*>(table + 2)[number];
}
// The key of a record: see key_part.
Bytes record_key(const OrderSpec& order, const int64_t* table, const unsigned char* record, Buffer& made);
