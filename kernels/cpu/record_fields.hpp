// Fields of records as their FieldSpecs say. Included behind keys.cuh.
#pragma once

inline KeyField key_field(const FieldSpec& field)
{
    return {field.offset, field.width, static_cast<int>(field.kind), field.big_endian != 0, field.descending != 0};
}
