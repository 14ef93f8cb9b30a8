// Calls on arrays that Python's objects describe: checked and launched in one call. See gm_py_call.
#include "entries.h"

#include <cstring>

namespace {
using Object = void;

struct Api {
    Object* (*attribute)(Object*, Object*);
    Object* (*type)(Object*);
    int64_t (*integer)(Object*);
    Object* (*from_integer)(int64_t);
    Object* (*item)(Object*, int64_t);
    int64_t (*tuple_size)(Object*);
    Object* (*tuple_item)(Object*, int64_t);
    Object* (*pair)(int64_t, ...);
    Object* (*call)(Object*, ...);
    void (*keep)(Object*);
    void (*drop)(Object*);
    Object* (*error)();
    void (*clear)();
    void* (*release)();
    void (*acquire)(void*);
};
static_assert(sizeof(Api) == sizeof(PythonApi), "the functions of PythonApi");

const Api* python = nullptr;

// An object that is dropped at the end of its block.
class Held {
public:
    explicit Held(Object* object) : object(object) {}
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    ~Held()
    {
        if (object != nullptr) python->drop(object);
    }
    explicit operator bool() const { return object != nullptr; }
    Object* get() const { return object; }
    Object* give()
    {
        Object* const given = object;
        object = nullptr;
        return given;
    }

private:
    Object* object;
};

Object* mutable_object(const void* object) { return const_cast<Object*>(object); }

// An integer that is an attribute; -1 if there is none.
int64_t number(Object* object, const void* name)
{
    const Held value(python->attribute(object, mutable_object(name)));
    return value ? python->integer(value.get()) : -1;
}

struct Place {
    int64_t address, count;
};

// The properties that an array must have, besides being contiguous, on the device, and of one dimension.
struct Shape {
    const void* dtype;
    int64_t width, unit;
};

// The place of an array. False if it is another one than it must be; then an error may be set.
bool place_of(const ArrayCall& call, const Shape& shape, Object* array, Place* place)
{
    const Held type(python->type(array));
    if (type.get() != call.array_class) return false;
    const Held dtype(python->attribute(array, mutable_object(call.dtype_name)));
    if (dtype.get() != shape.dtype) return false;
    const Held strides(python->attribute(array, mutable_object(call.strides_name)));
    if (!strides || python->tuple_size(strides.get()) != 1) return false;
    if (python->integer(python->tuple_item(strides.get(), 0)) != shape.width) return false;
    const Held data(python->attribute(array, mutable_object(call.data_name)));
    if (!data || number(data.get(), call.device_name) != call.device) return false;
    *place = {number(data.get(), call.address_name), number(array, call.size_name)};
    return place->address >= 0 && place->count >= 0 && place->address % shape.unit == 0;
}

// The places of an array for each run.
bool places_of(const ArrayCall& call, const Shape& shape, Object* arrays, Place* places)
{
    for (int64_t run = 0; run < call.runs; ++run) {
        const Held array(python->item(arrays, run));
        if (!array || !place_of(call, shape, array.get(), places + run)) return false;
    }
    return true;
}

bool touches(Place out, int64_t out_width, Place place, int64_t width)
{
    return place.count > 0 && place.address < out.address + out.count * out_width && out.address < place.address + place.count * width;
}

// The row of the table with these counts; null if there is none.
const int64_t* row_of(const ArrayCall& call, const Place* runs)
{
    for (int64_t number = call.rows; number-- > 0;) {
        const int64_t* const row = call.table + number * (GPU_ROW_WORDS + call.runs);
        int64_t run = 0;
        while (run < call.runs && row[GPU_ROW_WORDS + run] == runs[run].count) ++run;
        if (run == call.runs) return row;
    }
    return nullptr;
}

Object* made(const void* maker, int64_t size)
{
    const Held argument(python->from_integer(size));
    return argument ? python->call(mutable_object(maker), argument.get(), nullptr) : nullptr;
}

// The address of the memory of an array; -1 and an error if there is none.
int64_t address_of(const ArrayCall& call, Object* array)
{
    const Held data(python->attribute(array, mutable_object(call.data_name)));
    return data ? number(data.get(), call.address_name) : -1;
}

// The memory that steps need, which is dropped at the end.
struct Rooms {
    Rooms() = default;
    Rooms(const Rooms&) = delete;
    Rooms& operator=(const Rooms&) = delete;
    ~Rooms()
    {
        while (count > 0) python->drop(held[--count]);
    }

    Object* held[GPU_MOST_ROOMS] = {};
    int64_t count = 0;
};

// The current stream, in the first of the addresses. False, with an error, if a function of Python raised it.
bool put_stream(const ArrayCall& call, int64_t* addresses)
{
    const Held stream(python->call(mutable_object(call.stream), nullptr));
    return stream && (addresses[0] = number(stream.get(), call.address_name)) >= 0;
}

// Waits for the answer of a call on one array. Null if it does not come.
Object* answered(const ArrayCall& call, const int64_t* row, Place run, Object* arrays, Object* answer)
{
    int64_t addresses[] = {0, run.address, python->integer(answer)};
    if (!put_stream(call, addresses)) return nullptr;
    void* const state = python->release();
    const int64_t status = gm_gpu_answer(reinterpret_cast<const int64_t*>(row[1]), addresses);
    python->acquire(state);
    if (status != 0) return nullptr;
    python->keep(arrays);
    return arrays;
}

// The result of a call; null, with an error if a function of Python raised it, if it is not carried out.
Object* carry_out(const ArrayCall& call, Object* arrays, Object* values, Object* given)
{
    const bool has_values = values != call.none, has_out = given != call.none;
    Place runs[GPU_MOST_RUNS], rows[GPU_MOST_RUNS];
    const Shape keys = {call.dtype, call.width, call.width}, payload = {call.value_dtype, call.value_width, call.value_unit};
    if (!places_of(call, keys, arrays, runs)) return python->clear(), nullptr;
    int64_t total = 0;
    for (int64_t run = 0; run < call.runs; ++run) total += runs[run].count;
    if (has_values && !places_of(call, payload, values, rows)) return python->clear(), nullptr;
    for (int64_t run = 0; run < call.runs; ++run)
        if (has_values && rows[run].count != runs[run].count) return nullptr;
    const int64_t* const row = row_of(call, runs);
    if (row == nullptr) return nullptr;
    // Another thread may drop the row while it waits for the lock.
    int64_t head[GPU_ROW_WORDS];
    std::memcpy(head, row, sizeof head);
    python->keep(reinterpret_cast<Object*>(head[0]));
    const Held recording(reinterpret_cast<Object*>(head[0]));

    if (call.result == call.none) return answered(call, head, runs[0], arrays, given);

    Place to = {0, total};
    if (has_out) {
        if (!place_of(call, keys, given, &to) || to.count != total) return python->clear(), nullptr;
        for (int64_t run = 0; run < call.runs; ++run) {
            if (touches(to, call.width, runs[run], call.width)) return nullptr;
            if (has_values && touches(to, call.width, rows[run], call.value_width)) return nullptr;
        }
        python->keep(given);
    }
    Held out(has_out ? given : made(call.result, total));
    if (!out || (to.address = address_of(call, out.get())) < 0) return nullptr;
    Held moved(has_values ? made(call.value_result, total) : nullptr);
    if (has_values && !moved) return nullptr;

    int64_t addresses[1 + 2 * GPU_MOST_RUNS + 2 + GPU_MOST_ROOMS], *at = addresses + 1;
    for (int64_t run = 0; run < call.runs; ++run) *at++ = runs[run].address;
    *at++ = to.address;
    if (has_values) {
        for (int64_t run = 0; run < call.runs; ++run) *at++ = rows[run].address;
        if ((*at++ = address_of(call, moved.get())) < 0) return nullptr;
    }
    Rooms rooms;
    for (int64_t room = 0; room < head[2]; ++room) {
        Object* const memory = made(call.scratch, head[3 + room]);
        if (memory == nullptr) return nullptr;
        rooms.held[rooms.count++] = memory;
        if ((*at++ = number(memory, call.address_name)) < 0) return nullptr;
    }
    if (!put_stream(call, addresses)) return nullptr;
    void* const state = python->release();
    const int64_t status = gm_gpu_queue(reinterpret_cast<const int64_t*>(head[1]), addresses);
    python->acquire(state);
    if (status != 0) return nullptr;
    return has_values ? python->pair(2, out.get(), moved.get()) : out.give();
}
}  // namespace

void gm_py_open(const PythonApi* api) { python = reinterpret_cast<const Api*>(api); }

void* gm_py_call(void* self, void* const* arguments, int64_t count)
{
    const ArrayCall& call = *reinterpret_cast<const ArrayCall*>(python->integer(self));
    if (count == 3) {
        if (Object* const found = carry_out(call, arguments[0], arguments[1], arguments[2])) return found;
        if (python->error() != nullptr) return nullptr;
    }
    python->keep(mutable_object(call.none));
    return mutable_object(call.none);
}
