/* Every entry of the CPU's library, declared once. Python's signatures are made from this file (native/library.py),
 * so it keeps to a few forms: enumerations of integers, structures of int64_t and pointers, functions of these.
 *
 * Addresses lie in the host's memory, except those of launches on a GPU. Sizes and positions are in bytes, unless they say items, and positions count from 0.
 * Functions that can fail return a Status and fill a Failure, and leave no memory behind. Only functions that take a
 * Workspace, a Join, Heads, a Sieve, a Seen, a Gate or a mapping keep state. One thread at a time may use one of the first five, any
 * number the others.
 * Whether items are sorted or not, no memory outside of the arguments is touched. A merge of items that are not sorted is
 * some permutation of them.
 */
#pragma once
#include <stdint.h>

#include "../equals.h"

#ifdef __cplusplus
extern "C" {
#endif

enum Status { DONE = 0, DISORDER = 1, READ_FAILED = 2, INPUT_SHRANK = 3, WRITE_FAILED = 4, NO_MEMORY = 5, CALLBACK_FAILED = 6,
    SURPLUS_FIELDS = 7, REPEATED_KEY = 8, NO_NUMBER_TO_SUM = 9, NO_COLUMN_TO_SUM = 10, LONG_SUM = 11 };

/* The failure of a call. error: its errno, if it has one. input: the number of the source or run, or of the column for the last three
 * statuses, whose position is the byte at which the item begins, or -1; then `error` is the bytes of the column's text, with the
 * bytes of the item ahead of it above 32 bits. position: the byte in that source;
 * for DISORDER the byte of the first item that goes before the one ahead of it, or of a line with an invalid key (see gm_fault);
 * for SURPLUS_FIELDS the first byte of the line; for REPEATED_KEY that of the item whose key is that of the one ahead of it. */
struct Failure {
    int64_t error, input, position;
};

enum ItemKind { UNSIGNED_KEYS = 0, SIGNED_KEYS = 1, FLOAT_KEYS = 2, RECORDS = 3, LINES = 4, DATE_KEYS = 5 };

/* The kind of items, and which of two items goes first: gpumerge_cli/order as numbers.
 * kind: an ItemKind. width: the bytes of a key: 1, 2, 4 or 8 for keys, any number for records. descending: 0 or 1.
 * For RECORDS only. record, offset: the bytes of a record, and the place of the key in it. key_kind: an ItemKind, which is
 * UNSIGNED_KEYS for a key of bytes too. big_endian: the most significant byte comes first; it always does for bytes. table:
 * null, or the fields of a key of several: their number, then a FieldSpec each, the first one first. `width` is then the sum
 * of their bytes, and the rest of the key is theirs to say.
 * For LINES only. table: LineOrder.table(), which must outlive every use. terminator: the byte that ends a line. */
struct OrderSpec {
    int64_t kind, width, descending, record, offset, key_kind, big_endian, terminator;
    const int64_t* table;
};

/* A field of a record's key, in the words of OrderSpec. */
struct FieldSpec {
    int64_t offset, width, kind, big_endian, descending;
};

enum KernelNumber { PATH = 0, VECTOR = 1 };  /* gm_kernel names the others */
enum PathShape { CHAINS = 4 };   /* the merges that PATH and VECTOR do at once, and so the parts of a tile */
enum AlgorithmNumber { SORT_MERGE = 0, SORT_BOTTOM_UP = 1, SORT_ITERATIVE = 2, SORT_RECURSIVE = 3, SORT_RADIX = 4 };
enum MarginKind { NO_MARGIN = 0, COLUMNS = 1, COUNT_AHEAD = 2, COUNT_AFTER = 3, COUNT_APART = 4, COLUMNS_APART = 5,
    GROUPS = 6 };
enum Selects { SELECT_LESS = 1, SELECT_EQUAL = 2 };
/* An as-of join of sorted keys, not of float16. Descending keys have no groups, and their direction is ASOF_BACKWARD. a, b: the
 * items, a_count and b_count of them. direction: an AsofDirection. An item of A has as its partner the last item of B that is not greater, the first one that is not less, or the nearer one of both, the former
 * if they are equally near. NaN and NaT have no partners. limit: the largest distance of partners, as an unsigned integer for integers
 * and dates, and as the bits of a double for floats. a_groups, b_groups: null, or a number for each item. Both sides are then
 * sorted by these first, and partners have the same one. */
struct ArrayAsofSpec {
    const unsigned char *a, *b;
    const int64_t *a_groups, *b_groups;
    int64_t a_count, b_count, direction, limit;
};

/* Text beside each line that goes out. COLUMNS: for a set of two runs, a text ahead of lines that both hold, that only the
 * first and that only the second holds; these texts lie in `text`, one behind the other, and equal, only_a and only_b are
 * their bytes; -1 leaves such lines out. COUNT_AHEAD, COUNT_AFTER: of equal lines the first goes out with their number, ahead
 * of it as uniq -c has it, or behind a tab at its end; or, with a separator other than 0 (see field_separator.cuh), as the first or
 * last field of a record of CSV, ahead of a carriage return at its end. runs: 0, or the number of runs of an upload, each with a name
 * that goes out directly ahead of its lines: that of run r ends at byte name_ends[r] of `names`, where the next one begins, and 64
 * bytes behind the last one are readable. COUNT_APART: the first of equal items of any kind goes out, and gm_equals
 * has their number. COLUMNS_APART: for a set of two runs of lines or records, gm_equals has 0 for an item that both hold, 1 for one
 * that only the first holds, 2 for one that only the second holds. Where equals are counted, ranges of chunks must not cut groups of
 * equal items. GROUPS: all lines or records go out whatever their places, and gm_equals has 1 for one that equals the item ahead of
 * it, be it ahead of the chunk, else 0; the rule is one of places. */
struct Margin {
    int64_t kind, equal, only_a, only_b;
    const unsigned char* text;
    int64_t separator, runs;
    const int64_t* name_ends;
    const unsigned char* names;
};

/* kernel: a number that gm_kernel has a name for. block_size: the threads of a block. items: the outputs of a thread, 0 for its whole piece. tile:
 * the items that are staged at once (PATH, VECTOR: the outputs that CHAINS chains share). For sorts only. algorithm: an
 * AlgorithmNumber. sort_tile: the items that are sorted together before any merge. */
struct LaunchSpec {
    int64_t kernel, block_size, items, tile, algorithm, sort_tile;
};

/* The place of a source's bytes: a file from byte `start` on (descriptor >= 0), or memory, or a function that reads `nbytes`
 * at `position` into `out` and returns `nbytes` (anything else is a failure: ctypes returns 0 where an exception is lost).
 * size: the bytes of the source. held: the bytes that exist; if this is one less than `size`, the last line lacks its
 * terminator. swap: the bytes of a key if its byte order is foreign
 * and must be turned while it is read, else 0. key: null, or the place of an item's key. Then only the key is compared, as if it
 * were the item, and the order that a call is given is that of such keys. Of lines it is LineOrder.table(): one key is a part
 * of the line; several are these parts as they stand, with separators between them, or with spaces if blanks separate fields.
 * Of records it is the bytes of a record, the number of fields, and a FieldSpec each: the fields lie one behind the other in the
 * key, in the byte order that the call's order says. */
struct SourceSpec {
    int64_t descriptor, start, size, held, swap;
    const int64_t* key;
    const unsigned char* memory;
    int64_t (*read)(int64_t context, int64_t position, unsigned char* out, int64_t nbytes);
    int64_t context;
};

/* The place of a chunk's result: byte `start` of a file. Calls end at multiples of `piece` bytes, and hold a permit of the
 * gate (gate may be null). descriptor < 0: the result stays in the workspace. gm_result is then null if
 * the chunk is far larger than the capacity, and gm_receive gives the result. swap: as in SourceSpec. memory: null, or what
 * gm_map returned for the file; then the result goes there without a call. */
struct SinkSpec {
    int64_t descriptor, start, piece, swap;
    struct Gate* gate;
    unsigned char* memory;
};

/* The outcome of a chunk. items: the items that went out. dropped: the items left out. nbytes: the bytes of the result. *_ns: the
 * nanoseconds of each stage. */
struct ChunkResult {
    int64_t items, dropped, nbytes;
    int64_t read_ns, index_ns, check_ns, kernel_ns, write_ns;
};

enum RecordFault { NO_RECORD_FAULT = 0, SURPLUS_FIELD = 1, TEXT_BEHIND_QUOTE = 2, OPEN_QUOTE = 3 };

/* The pairs of lines of a diff's result, and how their changed columns are written. terminator: the byte that ends an item. old_mark,
 * new_mark: the mark_bytes bytes ahead of the old and the new line of a pair. separator: the text between fields, of separator_size
 * bytes; 0 if blanks separate them. quoted: 1 if fields may be quoted as in CSV. returns: 1 if a carriage return at a line's end belongs
 * to no field. key_field: the number of the field that is the key; -1 for the whole line. keys: null, or the keys of the pairs in place of
 * this field; that of pair p lies between bytes key_edges[p] and key_edges[p + 1]. ignored: the numbers of the fields that are left
 * out, ignored_count of them. titles: the titles of the first titles_count fields, as they are written; that of field f lies between
 * bytes title_edges[f] and title_edges[f + 1]. The title of another field is its number plus first_number. Fields are numbered from 0. */
struct ChangesSpec {
    int64_t terminator, mark_bytes, separator_size, quoted, returns, key_field, ignored_count, titles_count, first_number;
    const unsigned char *old_mark, *new_mark, *separator, *titles, *keys;
    const int64_t *title_edges, *key_edges, *ignored;
};

/* The outcome of gm_changed_columns. taken: the bytes of the items that were gone through. made: the bytes of the output. pairs: their
 * number. */
struct ChangesResult {
    int64_t taken, made, pairs;
};

/* What the quotes of CSV were like in the text so far. separator: the text between fields, of separator_size bytes. proper: 1 if
 * quotes enclose whole fields, and carriage returns stand only ahead of newlines. lines: 1 if no quotes enclose a newline. doubled:
 * 1 if there are quotes within quotes. inside, bound, closing, returned: 1 if the last byte was enclosed, ended a field, was a
 * closing quote, was a carriage return that is not enclosed. words: 2 * separator_size numbers. All but proper, lines and bound are 0
 * at first, and these three are 1. */
struct CsvMarks {
    int64_t proper, lines, doubled, inside, bound, closing, returned, separator_size;
    const unsigned char* separator;
    int64_t* words;
};

/* The columns of the records that gm_rearrange writes. count: their number. places: for each column the number of the field,
 * counted from 0, that becomes it; -1 for a gap. fields: the number of fields that a record may have; it may lack some at its
 * end. separator: the text between fields, of separator_size bytes. quote: the byte that encloses fields. escape: the byte that
 * makes the byte behind it text. Both are -1 for none. */
struct Columns {
    int64_t count, fields, separator_size, quote, escape;
    const int64_t* places;
    const unsigned char* separator;
};

/* The outcome of gm_rearrange. taken: the bytes of the text that were gone through. made: the bytes of the output. records: their
 * number. special: whether a quote, an escape or a carriage return was among them. fault: a RecordFault of the record behind
 * them. */
struct Rearranged {
    int64_t taken, made, records, special, fault;
};

/* Lines of JSON. Paths name the values that are keys. The paths form a tree; its first node is the whole line. name, name_size: the
 * name of an object's member, in `texts`. index: the number of an array's element; -1 if the name is not a number. child: the first
 * node within this one. next: the next node beside it. Both are -1 for none. low, high: the range of the slots within it. slot: its
 * own slot if it is a key, else -1. */
struct JsonNode {
    int64_t name, name_size, index, child, next, low, high, slot;
};
/* What a key reads: values of one type; numbers, and strings that hold one; texts for kinds of keys; the same texts behind a byte.
 * JSON_ADDED is no key, and has no image: the output gets a member of this name, so that lines must be objects without one. Such
 * keys come behind all others. */
enum JsonReading { JSON_VALUES = 0, JSON_NUMBERS = 1, JSON_TEXTS = 2, JSON_TAGGED_TEXTS = 3, JSON_ADDED = 4 };
/* null_image: the byte that is the image of a null or missing value; 0 for an empty image. nulls: the number of texts that stand for
 * a null. They begin at byte null_texts of `texts`: for each its size as an int64_t, then the text, with 0, 1 and 2 as pairs. */
struct JsonKey {
    int64_t slot, reads, null_image, nulls, null_texts;
};
struct JsonKeys {
    const struct JsonNode* nodes;
    const struct JsonKey* keys;
    const unsigned char* texts;
    int64_t count;
};
enum JsonType { JSON_NOTHING = 0, JSON_BOOL = 1, JSON_NUMBER = 2, JSON_STRING = 3, JSON_CONTAINER = 4 };
enum JsonFault { NO_JSON_FAULT = 0, VALUE_EXPECTED = 1, NAME_EXPECTED = 2, COLON_EXPECTED = 3, COMMA_EXPECTED = 4,
    TEXT_BEHIND_VALUE = 5, OPEN_STRING = 6, CONTROL_IN_STRING = 7, INVALID_ESCAPE = 8, INVALID_UTF8 = 9, INVALID_NUMBER = 10,
    TOO_DEEP = 11, LINE_ENDS = 12, MIXED_TYPES = 13, NO_ORDER = 14, NO_NUMBER = 15, LONG_EXPONENT = 16,
    NO_OBJECT = 17, HAS_MEMBER = 18 };
enum JsonWords { FOUND_WORDS = 4 };
/* The outcome of gm_json_keys. taken: the place in the text that was reached. made: the bytes of the output. lines, blanks: the
 * numbers of lines and of blank lines up to there; each call adds to them. fault: a JsonFault of the next line, at byte `at` of the
 * text, in key number `key`, or -1 for the line itself. blank: the number of each blank line and its bytes, with room for
 * most_blanks of them. first, last: a value for each key, in FOUND_WORDS words: a JsonType, the bytes of the text at which the
 * value begins and ends, and the number of its line. last is the value in the last line that was read. first is the first value
 * that is not null; if the key reads values, all others have its type. */
struct JsonLines {
    int64_t taken, made, lines, blanks, most_blanks, fault, at, key;
    int64_t *blank, *first, *last;
};

/* A join of lines of JSON. count: the number of keys that are members of B's objects. names: for each of these its name in A, which
 * is empty if the key is not a member of A's objects, and its name in B. ends: the end of each name in `names`. same: whether each key
 * has the same name in both. */
struct JsonJoin {
    const unsigned char* names;
    const int64_t* ends;
    int64_t count, same;
};
/* The outcome of gm_json_join. taken: the bytes of items that were read. made: the bytes of the output. fault: 1 if the next item has
 * a line that is not an object, else 0. */
struct JsonJoined {
    int64_t taken, made, fault;
};

/* The types of values in lines of JSON. The values at one path form a node: of the line itself, which is node 0, of an object's
 * member, or of all elements of an array. parent: the node around it. name, name_size: its name, without escapes, in `names`; -1
 * bytes for elements. child, next: as in JsonNode. recent: its child that came last. kinds: bit k for each JsonKind that its values
 * had. object: the number of its last object. within: the number that its parent had when this node was last read. */
struct JsonMember {
    int64_t parent, name, name_size, child, next, recent, kinds, object, within;
};
/* A double holds an EXACT_INTEGER. An int64_t holds an OTHER_INTEGER, and only a uint64_t holds a LARGE_INTEGER. A NEGATIVE
 * integer has another kind, too. LONE_SURROGATE is a string that has no text in UTF-8. MEMBER_TWICE is a name that its object had
 * before. */
enum JsonKind { NULL_KIND = 0, BOOL_KIND = 1, EXACT_INTEGER = 2, OTHER_INTEGER = 3, LARGE_INTEGER = 4, HUGE_INTEGER = 5,
    NEGATIVE = 6, FRACTION = 7, STRING_KIND = 8, LONE_SURROGATE = 9, ARRAY_KIND = 10, OBJECT_KIND = 11, MEMBER_TWICE = 12 };
enum JsonEventWords { EVENT_WORDS = 5 };
/* members, names: have room for most_members nodes and names_room bytes; count and names_size of these are taken. event: the first
 * value of each kind of each node, in EVENT_WORDS words: the node, the JsonKind, the number of the line, and the bytes of the text
 * at which it begins and ends; of an object or array, only the first one. There is room for most_events; the caller takes out
 * `events`. taken: the place in the text that was reached. lines: the number of lines up to there. objects: those so far. fault, at:
 * as in JsonLines. */
struct JsonTypes {
    struct JsonMember* members;
    unsigned char* names;
    int64_t* event;
    int64_t most_members, names_room, most_events, count, names_size, events, taken, lines, objects, fault, at;
};

/* The level of the library ("x86-64-v3"), and its version. */
const char* gm_level(void);
const char* gm_version(void);
/* The name of the kernel of this number ("path", "tiled_full"); null if there is none. Numbers have no gaps. */
const char* gm_kernel(int64_t number);
/* The bytes of the vectors by which VECTOR merges keys of this order; 0 if it merges them as PATH does, because vectors of such keys
 * are slower than single items here. */
int64_t gm_vector_bytes(const struct OrderSpec* order);

/* A gate lets at most `permits` threads through at a time. */
struct Gate* gm_gate_open(int64_t permits);
void gm_gate_close(struct Gate* gate);

/* Maps the first `nbytes` bytes of a file, to be written; they must exist. Null if that cannot be. From the first mapping on,
 * SIGBUS is handled: a thread that writes a byte which the file system lost goes on, and the mapping is marked. Whatever
 * else raises SIGBUS goes to the handler that was there before. */
unsigned char* gm_map(int64_t descriptor, int64_t nbytes);
/* Ends a mapping, as soon as no call uses it any more. */
void gm_unmap(unsigned char* memory);
/* 1 if bytes of the mapping were lost, else 0. */
int64_t gm_map_lost(const unsigned char* memory);
/* Copies data to byte `position` of the mapping; WRITE_FAILED if bytes of it were lost, or it has ended. Any thread. */
int64_t gm_map_write(unsigned char* memory, int64_t position, const unsigned char* data, int64_t nbytes);
/* Starts up to `processes` processes that bring the first `nbytes` bytes of a mapping into memory before they are written;
 * pages keep what they hold. Returns how many were started, whose numbers ids then has. They are processes because threads
 * would hold up every other thread of this one that maps memory, as a GPU's driver does hundreds of times while it starts. */
int64_t gm_map_ahead(unsigned char* memory, int64_t nbytes, int64_t processes, int64_t* ids);
/* Ends such processes. */
void gm_map_ahead_end(const int64_t* ids, int64_t count);

/* Writes a line of CSV for each changed column of the pairs among whole items of a diff's result: the key, the title of the column, the
 * old value and the new one, without the quotes that the lines have around them. It stops ahead of the first pair whose lines do not fit
 * into `room`. */
int64_t gm_changed_columns(const struct ChangesSpec* spec, const unsigned char* items, int64_t nbytes, unsigned char* out,
    int64_t room, struct ChangesResult* result);
/* Goes on with `nbytes` bytes of text, a multiple of 64. end: -1, or the byte that newlines become that end records. */
void gm_csv_marks(struct CsvMarks* marks, unsigned char* text, int64_t nbytes, int64_t end);
/* Writes the records of CSV in text[0 .. nbytes) with other columns to `out`, as many as are whole and as there is room for, each
 * with a newline. PADDING bytes behind the text must be readable. ends: 1 if no text follows, so that the last record needs no
 * newline. Fields stay as they are written; a record of one empty field becomes two quotes. */
int64_t gm_rearrange(const struct Columns* columns, const unsigned char* text, int64_t nbytes, int64_t ends, unsigned char* out,
    int64_t room, struct Rearranged* found);

/* Writes the lines of JSON in text[start .. stop) to `out`, as many as there is room for: for each the images of its keys, with byte
 * 1 behind each, the line, and byte 0. Blank lines are left out. The text ends in a newline, and PADDING bytes behind it must be
 * readable. Images hold neither byte 0 nor byte 1. A surrogate without its other half counts as a character of three bytes. If
 * several members have one name, the last one counts. Stops at a line that is not valid, or whose key has no order. */
int64_t gm_json_keys(const struct JsonKeys* keys, const unsigned char* text, int64_t start, int64_t stop, unsigned char* out,
    int64_t room, struct JsonLines* found);
/* Writes the lines among such items to `out`, which may hold as many bytes, each with a newline. Returns their bytes. */
int64_t gm_json_lines(const unsigned char* items, int64_t nbytes, int64_t keys, unsigned char* out);
/* Adds the types of the lines in text[start .. stop) to `found`, which has node 0. The text ends in a newline, and PADDING bytes
 * behind it must be readable. Stops ahead of a line that is not valid, and of one that finds no room. */
void gm_json_types(const unsigned char* text, int64_t start, int64_t stop, struct JsonTypes* found);
/* Writes a line for each item to `out`, as many as there is room for. An item is a line of A, byte 1, a line of B, and byte 0; one of
 * both may be empty. PADDING bytes behind the items must be readable. The line has the members of A's object, then those of B's
 * that are not keys, with "_2" behind names that A has. All else stays as it is written. In B alone, keys get their names in A,
 * and other members with these names "_2". */
int64_t gm_json_join(const struct JsonJoin* join, const unsigned char* items, int64_t nbytes, unsigned char* out, int64_t room,
    struct JsonJoined* found);

/* Members that the lines of such items get. Each item has the values of `ahead` members ahead of its images, with byte 1 behind each;
 * and if `behind` is not 0, byte 1 and the value of one more member behind its line, or ahead of a carriage return at its end.
 * names: for each member its name in quotes and a colon, one behind the other, that of the last one behind all; name m ends at
 * byte ends[m]. keys: the number of images. */
struct JsonMembers {
    int64_t ahead, behind, keys;
    const int64_t* ends;
    const unsigned char* names;
};
/* Writes the lines among such items to `out`, each with a newline, the first members ahead of its own ones. Lines are objects; an item
 * without any byte 1 goes out as it is. `out` has room for the items and, for each, for all names. Returns the bytes. */
int64_t gm_json_members(const struct JsonMembers* members, const unsigned char* items, int64_t nbytes, unsigned char* out);

/* Where the summed columns of items lie. FIELDS_OF_LINES: fields of lines, as `separator` says (see field_separator.cuh).
 * FIELDS_OF_RECORDS: fields of the record of CSV ahead of byte 1 in a line. MEMBERS_OF_LINES: values of the line of JSON behind
 * `keys` images. NUMBERS_OF_RECORDS: numbers in records of `record` bytes. COUNTS_OF_LINES: the text behind the first newline. */
enum SumForm { FIELDS_OF_LINES = 0, FIELDS_OF_RECORDS = 1, MEMBERS_OF_LINES = 2, NUMBERS_OF_RECORDS = 3, COUNTS_OF_LINES = 4 };
enum SumQuotes { NO_QUOTES = 0, DOUBLED_QUOTES = 1, ESCAPED_QUOTES = 2 };

/* A summed column. place: the field, the slot of a member, or the byte in a record. For numbers in records, width, kind (an ItemKind)
 * and big_endian. name, name_size: of a member of the whole object, its name with quotes and a colon in `names`; of others 0. */
struct SumColumn {
    int64_t place, width, kind, big_endian, name, name_size;
};

/* Sums of columns over groups of equal items. columns: `count` of them, fields in ascending order. terminator: the byte that ends a
 * line. quotes: a SumQuotes, for FIELDS_OF_RECORDS. last: 1 if the last item of a group goes out, 0 if the first one does. thousands,
 * decimal: of fields, the byte between digits, or 0, and the one ahead of the fraction, 0 for a point. Sums have the latter alone. */
struct SumSpec {
    int64_t form, count, terminator, separator, quotes, record, keys, last, thousands, decimal;
    const struct SumColumn* columns;
    const struct JsonKeys* members;
    const unsigned char* names;
};

/* Opens sums, which hold the group that is not over; null if there is no memory. What the spec points to must outlive them. */
struct Sums* gm_sums_open(const struct SumSpec* spec);
void gm_sums_close(struct Sums* sums);
/* Adds whole items, `items` of them. follows: for each 1 if it belongs to the group of the item ahead of it, else 0; null if nothing
 * is added, but the columns of all items are read. The item of each group that is over goes out, with sums in its columns: decimal
 * numbers are added exactly; those of records are integers, which must fit the column, or floats, which are added in their order
 * as doubles. A group with one number leaves it as it stands; empty texts and nulls are no numbers. May end in NO_NUMBER_TO_SUM,
 * NO_COLUMN_TO_SUM, or LONG_SUM for a number or sum of too many digits, or one that does not fit. */
int64_t gm_sums_add(struct Sums* sums, const unsigned char* data, int64_t nbytes, const int64_t* follows, int64_t items,
    struct Failure* failure);
/* Ends the last group. */
int64_t gm_sums_end(struct Sums* sums, struct Failure* failure);
/* What has gone out since the last call; it stays until the next call. */
unsigned char* gm_sums_result(struct Sums* sums, int64_t* nbytes);
/* The beginning of items whose groups are known. items, nbytes: the items that belong to the group of the item ahead of all, and their
 * bytes. groups: the groups that begin in all `items` items. */
struct SumHead {
    int64_t items, nbytes, groups;
};
void gm_sums_head(const struct SumSpec* spec, const unsigned char* data, int64_t nbytes, const int64_t* follows, int64_t items,
    struct SumHead* head);

/* Writes lines that begin with counts, as uniq -c writes them, to `out`, which may hold as many bytes: for each the text behind the
 * count, a newline, the count, and the byte `end`. Each line ends in a newline. Returns the bytes, or the complement of the byte at
 * which the first line without a count begins. */
int64_t gm_counted_items(const unsigned char* text, int64_t nbytes, int64_t end, unsigned char* out);
/* Writes the lines of such items as uniq -c does to `out`, which has room for 8 more bytes for each. An item without a newline is
 * a line without a count. Returns the bytes. */
int64_t gm_counted_lines(const unsigned char* items, int64_t nbytes, int64_t end, unsigned char* out);

/* The rows low to high - 1 of an input, in which `count` wanted ones lie. */
struct RowRange {
    int64_t low, high, count;
};

/* The values of `rows` rows of an input, from row `first` on. */
struct RowChunk {
    int64_t input, first, rows;
    const unsigned char* values;
};

/* References to rows of tables lie in every `words`-th word, and hold the number of an input above 40 bits of a row in it. Writes
 * for each of `inputs` inputs the range that its rows lie in to `ranges`. Returns 0 if a reference is to another input, else 1. */
int64_t gm_row_ranges(const int64_t* references, int64_t words, int64_t count, int64_t inputs, struct RowRange* ranges);
/* Writes the values of such rows to `out`, in the order of the references. width: the bytes of a value. Returns 0 if a row is in no
 * chunk, or if there is no memory, else 1. */
int64_t gm_gather(const int64_t* references, int64_t words, int64_t count, int64_t width, const struct RowChunk* chunks,
    int64_t chunk_count, unsigned char* out);

/* Opens a workspace; null if there is no memory. threads: the host threads that may share one piece of work. */
struct Workspace* gm_open(const struct OrderSpec* order, int64_t capacity, int64_t threads);
void gm_close(struct Workspace* workspace);
/* The margin of all that the workspace puts out from now on, for lines. Its text must outlive the workspace. */
void gm_margin(struct Workspace* workspace, const struct Margin* margin);
/* Room for the bytes of a chunk; null if there is no memory. When it grows, it loses its content. */
unsigned char* gm_staging(struct Workspace* workspace, int64_t nbytes);
/* Find the items, and their prefixes, of the runs that lie in staging, back to back. lengths: the bytes of each run. */
int64_t gm_upload(struct Workspace* workspace, const int64_t* lengths, int64_t runs);
/* The number of items in each run. Lines must be uploaded before. */
void gm_counts(struct Workspace* workspace, int64_t* counts);
/* DONE, or DISORDER with the run and the byte in it. strict: an item that equals the one ahead of it is disorder, too. */
int64_t gm_disorder(struct Workspace* workspace, int64_t strict, struct Failure* failure);
/* DONE, or DISORDER with the run, and the byte in it, of the first line that has an invalid key. Such keys are of a kind with
 * invalid texts, and have the flag CHECKED. */
int64_t gm_fault(struct Workspace* workspace, struct Failure* failure);
/* Merge or sort the items. equals: bits of Equals. The runs do not change. */
int64_t gm_merge(struct Workspace* workspace, const struct LaunchSpec* launch, int64_t equals);
int64_t gm_sort(struct Workspace* workspace, const struct LaunchSpec* launch, int64_t equals);
/* The result of the last merge or sort; nbytes and items may be null. */
unsigned char* gm_result(struct Workspace* workspace, int64_t* nbytes, int64_t* items);
/* The bytes of the first `items` items of that result. */
int64_t gm_bytes_ahead(const struct Workspace* workspace, int64_t items);
/* With a margin of COUNT_APART, COLUMNS_APART or GROUPS: its number of each item of the result, until the next call; null otherwise. */
int64_t* gm_equals(struct Workspace* workspace);
/* Merge or sort without gathering rows. After that any thread may ask for the bytes [position, position + nbytes) of the
 * result. For keys this is gm_sort and a copy. */
int64_t gm_sort_rows(struct Workspace* workspace, const struct LaunchSpec* launch, int64_t equals);
void gm_receive(struct Workspace* workspace, int64_t position, int64_t nbytes, unsigned char* out);

/* Merge lines as sort -m does, whether they are in order or not: only the next lines of the runs, the heads, are compared.
 * equals: KEEP_ALL or FIRST, for neighbours in the result. room: bytes of the result that are held. Null if there is no
 * memory. One thread at a time uses it. */
struct Heads* gm_heads_open(const struct OrderSpec* order, int64_t runs, int64_t equals, int64_t room);
void gm_heads_close(struct Heads* heads);
/* The line that went out last before this merge, without its terminator. Call it first. */
int64_t gm_heads_follow(struct Heads* heads, const unsigned char* line, int64_t size);
/* What the caller does next: it takes nbytes of the result at `at`, or, if there are none, gives more bytes of `run`, of whose
 * next line `held` bytes are there. run: -1 if the merge is over. dropped: the lines that were left out. fault: a run that gave a
 * line with an invalid key (see gm_fault), or -1. */
struct HeadsResult {
    const unsigned char* at;
    int64_t nbytes, run, held, dropped, fault;
};
void gm_heads_next(struct Heads* heads, struct HeadsResult* result);
/* The place for the next `nbytes` bytes of a run, which the caller fills before gm_heads_next; null if there is no memory.
 * last: 1 if no more follow. */
unsigned char* gm_heads_room(struct Heads* heads, int64_t run, int64_t nbytes, int64_t last);
/* The lines of each run that were merged. */
void gm_heads_counts(struct Heads* heads, int64_t* counts);

/* A sieve leaves out items that cannot be among the first ones of a sort, or with `last` among the last ones. Until it has a
 * bound, all items stay. Null if there is no memory. One thread at a time uses it. */
struct Sieve* gm_sieve_open(const struct OrderSpec* order, int64_t last);
void gm_sieve_close(struct Sieve* sieve);
/* From now on an item is left out if it goes behind this one (with `last`: ahead of it) and, if `equals` is 1, if it compares
 * equal. item: a key in the host's byte order, a record, or a line without its terminator. */
int64_t gm_sieve_bound(struct Sieve* sieve, const unsigned char* item, int64_t size, int64_t equals);
/* taken: the bytes of whole items that were gone through. items: their number. made: the bytes of those that stay. full: 1 if
 * the next item stays, and there is no room for it. fault: 1 if a line among them has an invalid key (see gm_fault). */
struct Sieved {
    int64_t taken, items, made, full, fault;
};
/* Copies the items that stay from items[0 .. nbytes) to `out`, as many as there is room for. Both are aligned to keys. PADDING
 * bytes behind the items must be readable. What is not a whole item at their end is not taken. */
void gm_sieve_pass(struct Sieve* sieve, const unsigned char* items, int64_t nbytes, unsigned char* out, int64_t room,
    struct Sieved* found);
/* Finds the items that go out of equal ones, wherever these lie; the items need no order. One thread at a time uses a Seen.
 * equals: bits of BY_PLACE, for places in the order in which items come. most: the bytes of items, and of the table of their
 * hashes, that are held at a time; one item always is. bits: the bytes of the bits that say which items go out. If these are more, the
 * others lie in the file `descriptor`; it is -1 if they cannot be. hash_bits: the bits of a hash that count; 64, but in tests. */
struct SeenSpec {
    int64_t equals, most, bits, descriptor, hash_bits;
};
/* taken: the bytes of the text that were gone through, whole items. items: their number. kept: those that go out. part: the part
 * that the caller writes the nbytes bytes at `at` to, before its next call; -1 for none. fault: the byte of the text at which an item
 * with an invalid key begins (see gm_fault), or -1; items are taken up to about there. */
struct SeenResult {
    const unsigned char* at;
    int64_t nbytes, taken, items, kept, part, fault;
};
struct Seen* gm_seen_open(const struct OrderSpec* order, const struct SeenSpec* spec);
void gm_seen_close(struct Seen* seen);
/* Begins with the items of the caller, or with those of a part. Those that are not equal to any that is held, and find no room, go
 * to `parts` parts, a power of two; equal ones go to the same part. room: bytes of a part that are held. depth: 0 for the items
 * of the caller, and one more for a part of a part. */
int64_t gm_seen_begin(struct Seen* seen, int64_t parts, int64_t room, int64_t depth, struct Failure* failure);
/* Takes items until those of a part must be written, or the text holds no more whole ones. records: 1 if the text is one of a
 * part's pieces, which come in the order in which they were written. PADDING bytes behind the text must be readable. */
int64_t gm_seen_take(struct Seen* seen, const unsigned char* text, int64_t nbytes, int64_t records, struct SeenResult* result,
    struct Failure* failure);
/* The next piece of a part that must be written at the end; none if result->part is -1. */
void gm_seen_flush(struct Seen* seen, struct SeenResult* result);
/* Writes the items of a text that go out to `out`, which has as much room. Once all parts are decided, the items of the caller come again,
 * in the same order. Sets taken, items, kept and nbytes. */
int64_t gm_seen_put(struct Seen* seen, const unsigned char* text, int64_t nbytes, unsigned char* out, struct SeenResult* result,
    struct Failure* failure);

/* One chunk, from its first read to its last write. ranges: start and stop in each of `inputs` sources. check: whether
 * disorder is an error (also between a range's first item and the one ahead of it). sorts: sort instead of merging.
 * equals: bits of Equals. Items that went out before the ranges count too. */
struct ChunkSpec {
    const struct SourceSpec* sources;
    const int64_t* ranges;
    int64_t inputs, check, sorts, equals;
};
int64_t gm_chunk(struct Workspace* workspace, const struct ChunkSpec* chunk, const struct LaunchSpec* launch,
    const struct SinkSpec* sink, struct ChunkResult* result, struct Failure* failure);

/* Cut the merge of the sources between the positions low[] and high[], which must be cuts. cuts[c * inputs + i] becomes the
 * byte of source i at which cut c lies. About targets[c] bytes lie ahead of cut c; targets must ascend. Each cut is exact
 * under (key, input, position), so it is a co-rank. If the sources are not sorted, cuts still never go backwards. threads: how
 * many may read at once, if there are many sources. groups: 1 if no cut may lie between items that compare equal; a cut then
 * moves ahead of them. */
struct CutSpec {
    const struct SourceSpec* sources;
    const int64_t *low, *high, *targets;
    int64_t inputs, count, threads, groups;
};
int64_t gm_cut(const struct OrderSpec* order, const struct CutSpec* cut, int64_t* cuts, struct Failure* failure);
/* DONE if the items ahead of the positions are the first items of the merge; the sources must be in order up to there.
 * DISORDER if the item at the position of one source goes ahead of one of them. The Failure names this source. */
int64_t gm_is_cut(const struct OrderSpec* order, const struct SourceSpec* sources, const int64_t* positions, int64_t inputs,
    struct Failure* failure);

/* Find an item of the caller's in each source, which must be in order. item: `nbytes` bytes, a key in the host's byte order,
 * a record, or a line without its terminator. ahead[i] becomes the byte of source i at which the first item lies that does
 * not go before it, behind[i] that of the first one that goes behind it. */
struct BoundSpec {
    const struct SourceSpec* sources;
    const unsigned char* item;
    int64_t inputs, nbytes;
};
int64_t gm_bounds(const struct OrderSpec* order, const struct BoundSpec* spec, int64_t* ahead, int64_t* behind,
    struct Failure* failure);
/* Joins of two sources of lines or of records, A and B, whose `key` is set. Items with equal keys are a group; each item of A's
 * group goes out with each of B's.
 * keys: the order of the keys. shows: a sum of JoinShows. filler: of lines, the bytes that stand for fields that are empty or not
 * there; of records, the byte that stands for those that are not there.
 * A line that goes out has the key, then the other fields of A, then those of B. separator: goes out between fields, see field_separator.cuh. columns:
 * null, or the fields that go out, `count` of them, two numbers each: 0 and the number of a key, or 1 or 2 for A or B and the
 * number of a field; all are counted from 0. most_a, most_b: not 0 if the columns are the key and all
 * other fields of lines of A and B that have so many fields. Any others must be empty, or it is an error, SURPLUS_FIELDS, whose
 * `error` is the number of fields. If no field of B's goes out, most_b is 0.
 * A record that goes out has the bytes of A's, then those of B's that are not its key. If there is none of A, the key lies in its
 * place. If no record of B can go out, there are no bytes for it.
 * JOIN_DIFF is not a join. Items that only one input has go out, and so do both items of a pair whose bytes differ. They stay
 * as they are, behind a mark. Items with equal keys are paired in order: the first of A with the first of B.
 * filler: the marks of an item of A alone, of B alone, and of changed items of A and of B, all of one length. columns: null, or
 * `count` fields of lines that are not compared. JOIN_UNIQUE: two items of an input with equal keys are an error. JOIN_COUNTS:
 * items are counted and not written. JOIN_EACH: no items are passed at once, for tests.
 * asof: not null for an as-of join, whose shows are JOIN_PAIRS and JOIN_ONLY_A: each item of A goes out once, see AsofSpec. */
enum JoinShows { JOIN_PAIRS = 1, JOIN_ONLY_A = 2, JOIN_ONLY_B = 4, JOIN_PAIRED_A = 8, JOIN_DIFF = 16, JOIN_UNIQUE = 32,
    JOIN_COUNTS = 64, JOIN_EACH = 128 };
/* Which item of B an as-of join pairs with one of A. Keys that are no values have no partner. All keys but the last must be equal.
 * direction: ASOF_BACKWARD, the last item of B whose last key is not above that of A; ASOF_FORWARD, the first one whose key is not
 * below it; ASOF_NEAREST, the one of both that is nearer, of two equally near ones the one that ASOF_BACKWARD finds.
 * measure: what the last key is. nulls: bytes, each of which begins the key of a null; 0 for none. width: the bytes of an image.
 * tail: of items of tables whose key is bytes, those of the last key, a byte for nulls included; 0 for others.
 * descending: whether last keys descend. The items of both inputs are then paired as if they were read from their ends; images of
 * fixed size are complements. limited: whether there is a tolerance. It is limit_low and limit_high, 128 bits, of images and, in nanoseconds, of times and
 * durations; limit_low, the bits of a double, of floats; text, decimal digits with a point, of other numbers. */
enum AsofDirection { ASOF_BACKWARD = 0, ASOF_FORWARD = 1, ASOF_NEAREST = 2 };
/* ASOF_BY_KIND: a text by the kind of its key. ASOF_BYTES: bytes. ASOF_NULLABLE: bytes or nulls. ASOF_JSON: the image of a JSON
 * number. Images of fixed size: ASOF_WHOLE of integers, ASOF_DATE of integers of which the greatest is NaT, ASOF_FLOAT as of keys.cuh,
 * ASOF_ROW_FLOAT as tables have them: those of negative floats are less by 1. In lines, images of tables lie behind a byte, 7 bits
 * in each byte. */
enum AsofMeasure { ASOF_BY_KIND = 0, ASOF_BYTES = 1, ASOF_NULLABLE = 2, ASOF_JSON = 3, ASOF_WHOLE = 4, ASOF_DATE = 5, ASOF_FLOAT = 6,
    ASOF_ROW_FLOAT = 7 };
struct AsofSpec {
    int64_t direction, measure, nulls, width, tail, limited, limit_low, limit_high, descending;
    const unsigned char* text;
    int64_t text_bytes;
};
struct JoinSpec {
    const struct SourceSpec* sources;
    const struct OrderSpec* keys;
    const struct AsofSpec* asof;
    const int64_t* columns;
    const unsigned char* filler;
    int64_t count, filler_bytes, separator, shows, most_a, most_b;
};
/* A part of a join's result: where it lies until the next call, its bytes and items. taken[0], taken[1]: the items of A and B
 * that are behind it. changed: of a JOIN_DIFF, the pairs so far whose items differ. over: 1 if nothing follows. *_ns: as in
 * ChunkResult. */
struct JoinResult {
    const unsigned char* at;
    int64_t nbytes, lines, taken_a, taken_b, changed, over, read_ns, kernel_ns;
};
/* Opens a join; null if there is no memory. The spec, and all it points to, must outlive it. One thread at a time uses it.
 * room: the bytes of each input that are held at a time, unless one item is longer. A group of B that is larger is read again
 * for each item of A. */
struct Join* gm_join_open(const struct JoinSpec* spec, int64_t room);
void gm_join_close(struct Join* join);
/* Begins with these ranges, start and stop in A and in B, which must hold whole groups. check: disorder is an error, in them and
 * between a range's first item and the one ahead of it. */
int64_t gm_join_start(struct Join* join, const int64_t* ranges, int64_t check, struct JoinResult* result,
    struct Failure* failure);
/* The next part of the result, which ends as soon as it has `most` bytes. */
int64_t gm_join_next(struct Join* join, int64_t most, struct JoinResult* result, struct Failure* failure);
/* For lines: the line that two of them make, whatever their keys. Each comes without its terminator, and may be null. */
int64_t gm_join_pair(struct Join* join, const unsigned char* a, int64_t a_size, const unsigned char* b, int64_t b_size,
    struct JoinResult* result);
/* For lines: the number of fields in a line of A (input 0) or B (input 1), or -1 if there is no memory. */
int64_t gm_join_fields(struct Join* join, int64_t input, const unsigned char* line, int64_t size);

/* Merges and sorts of arrays of keys in memory. runs, counts: the address and the number of items of each. */
int64_t gm_merge_arrays(const struct OrderSpec* order, const struct LaunchSpec* launch, const unsigned char* const* runs,
    const int64_t* counts, int64_t inputs, unsigned char* out, int64_t threads);
/* The same of keys of 4 or 8 bytes, no DATE_KEYS, with values of value_bytes each, 4 or 8, in arrays of their own. */
int64_t gm_merge_pairs(const struct OrderSpec* order, const struct LaunchSpec* launch, const unsigned char* const* runs,
    const unsigned char* const* values, const int64_t* counts, int64_t inputs, int64_t value_bytes, unsigned char* out,
    unsigned char* out_values, int64_t threads);
/* Writes a set of sorted arrays to the front of out, which has room for all of their items. equals: a set. kept becomes the
 * number of the set's items. */
int64_t gm_combine_arrays(const struct OrderSpec* order, const struct LaunchSpec* launch, const unsigned char* const* runs,
    const int64_t* counts, int64_t inputs, int64_t equals, unsigned char* out, int64_t* kept, int64_t threads);
int64_t gm_sort_array(const struct OrderSpec* order, const struct LaunchSpec* launch, const unsigned char* items, int64_t count,
    unsigned char* out, int64_t threads);
/* ranks[k] becomes the index of the item that is k-th in stable order. */
int64_t gm_sort_ranks(const struct OrderSpec* order, const struct LaunchSpec* launch, const unsigned char* items, int64_t count,
    int64_t* ranks, int64_t threads);
/* Finds the items that go before the item at `bound` or equal it, as `selects` says: a sum of Selects. *found becomes their number,
 * and `indices` holds the indices of the first `room` of them, which ascend. */
int64_t gm_select(const struct OrderSpec* order, const unsigned char* items, int64_t count, const unsigned char* bound,
    int64_t selects, int64_t* indices, int64_t room, int64_t* found, int64_t threads);
/* Finds the partner of each item of A in B: indices[i] becomes its index, or -1. */
int64_t gm_asof(const struct OrderSpec* order, const struct ArrayAsofSpec* spec, int64_t* indices, int64_t threads);
/* The first index whose item goes before the one ahead of it, or -1. strict: or equals it. */
int64_t gm_first_disorder(const struct OrderSpec* order, const unsigned char* items, int64_t count, int64_t strict);

/* Launches on a GPU. Kernels, streams and what they work on are the driver's: their addresses are in the device's memory.
 *
 * The addresses of the driver's functions: cuLaunchKernel, cuLaunchKernelEx, cuMemsetD8Async, cuMemcpyAsync,
 * cuStreamIsCapturing and cuStreamSynchronize. */
struct GpuDriver {
    const void *launch, *launch_dependent, *fill, *copy, *is_captured, *wait;
};
enum GpuStepKind { GPU_LAUNCH = 0, GPU_DEPENDENT_LAUNCH = 1, GPU_ZEROS = 2, GPU_COPY = 3 };
enum GpuLimits { GPU_MOST_WORDS = 512 };     /* arguments of a kernel that every driver takes */
enum GpuStatus { GPU_CAPTURED = 1000000 };  /* beyond the driver's own: a graph captures the stream */
/* A step of a program. kind: a GpuStepKind; a dependent launch may begin before the previous kernel ends. kernel: a CUfunction.
 * size: the blocks of a launch, else bytes. threads: of a block. shared: bytes of dynamic shared memory. words: the number of
 * arguments, which are 64-bit words: those of the kernel; the address to fill; the addresses to copy from and to. places: the
 * number of words that an address is added to. Behind it are a pair for each place, the number of the word and that of the
 * address, and then the words. */
struct GpuStep {
    int64_t kind, kernel, size, threads, shared, words, places;
};
/* The beginning of a program, whose steps follow. */
struct GpuProgram {
    const struct GpuDriver* driver;
    int64_t steps;
};
/* Queues the steps of a program, which begins with a GpuProgram, on a stream of the current context. addresses: the stream, then
 * those that the places add. The status of the driver, whose 0 is success; after another one no further step is queued. */
int64_t gm_gpu_queue(const int64_t* program, const int64_t* addresses);
/* The same, and waits for the stream. GPU_CAPTURED, and nothing is queued, if a graph captures the stream. */
int64_t gm_gpu_answer(const int64_t* program, const int64_t* addresses);

/* Calls on arrays of CuPy. Objects of Python are pointers here, and its lock is held.
 *
 * The addresses of functions of Python's stable interface: PyObject_GetAttr, PyObject_Type, PyLong_AsLongLong,
 * PyLong_FromLongLong, PySequence_GetItem, PyTuple_Size, PyTuple_GetItem, PyTuple_Pack, PyObject_CallFunctionObjArgs, Py_IncRef,
 * Py_DecRef, PyErr_Occurred, PyErr_Clear, PyEval_SaveThread and PyEval_RestoreThread. */
struct PythonApi {
    const void *attribute, *type, *integer, *from_integer, *item, *tuple_size, *tuple_item, *pair, *call, *keep, *drop, *error,
        *clear, *release, *acquire;
};
enum GpuCallLimits { GPU_MOST_RUNS = 16, GPU_MOST_ROOMS = 4, GPU_ROW_WORDS = 7 };
/* The calls of a kind on one device, of `runs` runs. All objects outlive it: the class of arrays, the dtypes of keys and values,
 * None, the names of attributes; functions that make a result and its values of so many items, that give memory of so many bytes,
 * and that give the current stream. `result` is None for calls that wait for an answer in place of a result. width, value_width: the bytes of a key and of a value; value_unit: what the addresses of
 * values are multiples of.
 * table: for each recording that a call may use GPU_ROW_WORDS words: an object that keeps the program, the program, the number of
 * memories that it needs, their bytes; then the counts of the runs. A program takes the addresses of the runs, of the output, of
 * the values, of their output, and of the memories. */
struct ArrayCall {
    const void *array_class, *dtype, *value_dtype, *none, *dtype_name, *strides_name, *size_name, *data_name, *address_name,
        *device_name, *result, *value_result, *scratch, *stream;
    int64_t runs, device, width, value_width, value_unit, rows;
    const int64_t* table;
};
/* Says which functions to call. The structure must stay. */
void gm_py_open(const struct PythonApi* api);
/* Carries out a call: checks its arrays, makes its results, and queues the steps on the current stream. It is a method of Python,
 * of METH_FASTCALL. self: the address of an ArrayCall, as an int. arguments: the arrays, a sequence; their values, or None; the
 * array for the keys, or None, or for an answer its address in pinned memory, as an int. The result: an array, or a tuple of keys
 * and values; for an answer that is there, the sequence of arrays. None if an array is not a contiguous aligned one of the kind on
 * the device, if they do not match, if out overlaps another one, if no recording has their counts, if a graph captures the stream
 * that is to be waited for, or if the driver refuses a step: then nothing is lost by another way to do it. Null, with an error, if
 * a function raised it. */
void* gm_py_call(void* self, void* const* arguments, int64_t count);

/* Numbers that order texts: ranks[i], unsigned, is less than ranks[j] if the key of text i goes before that of text j, and equal
 * if the keys are equal. order: of LINES, stable. texts: `width` bytes each, 1 or more, without the NUL bytes at their ends; 64
 * bytes behind the last one can be read. DISORDER if a key is invalid (see gm_fault); the Failure's position is then the number of
 * the first such text. */
int64_t gm_text_ranks(const struct OrderSpec* order, const unsigned char* texts, int64_t width, int64_t count, int64_t* ranks,
    int64_t threads, struct Failure* failure);

/* Opens a locale, by whose name orders of lines compare. 1: it is open; 0: there is none of this name; 2: its texts are not UTF-8. */
int64_t gm_locale(const char* name);
/* See word_of_locale of collation.hpp. */
int64_t gm_locale_word(const char* name, int64_t word, unsigned char* out, int64_t room);
/* Negative, zero or positive, if item a goes before, with or behind item b. Lines come without their terminators. */
int64_t gm_compare(const struct OrderSpec* order, const unsigned char* a, int64_t a_size, const unsigned char* b, int64_t b_size);
/* 1 if key `number` of a line is no value of its kind, and no null; else 0. */
int64_t gm_is_invalid(const struct OrderSpec* order, int64_t number, const unsigned char* line, int64_t size);
/* 1 if key `number` of a line, whose kind is a time, is one; else 0. found[0] and found[1] become its seconds since 1970 and the
 * nanoseconds behind them, found[2] and found[3] the places where it begins and ends in the line. */
int64_t gm_read_time(const struct OrderSpec* order, int64_t number, const unsigned char* line, int64_t size, int64_t* found);
/* 1 if a text, with 64 bytes behind it that can be read, is a duration; else 0. found[0] and found[1] become its seconds and the
 * nanoseconds behind them, without the sign; found[2] 1 if it is negative, else 0. */
int64_t gm_read_duration(const unsigned char* text, int64_t size, int64_t* found);
/* Opens an extended regular expression of POSIX, which ends in NUL. It matches bytes. Null if it is invalid: then `message`, of
 * `room` bytes, becomes the message of the C library, ended by NUL; it stays as it is if there is no memory. */
void* gm_pattern_open(const unsigned char* text, unsigned char* message, int64_t room);
void gm_pattern_close(void* pattern);
/* Finds the lines of `text` that begin records: lines that the pattern matches or, if it is null, whose key 0 in the order is a
 * valid time. The text has no newline behind its last line. The newline ahead of each such line becomes the byte `end`. begun[0]
 * becomes a sum of 1 if the first line begins a record, and 2 if any does. */
int64_t gm_mark_records(const void* pattern, const struct OrderSpec* order, unsigned char* text, int64_t size, int64_t end,
    int64_t* begun);
/* bounds[0] and bounds[1] become the places where key `number` of a line begins and ends. */
void gm_key_bounds(const struct OrderSpec* order, int64_t number, const unsigned char* line, int64_t size, int64_t* bounds);

#ifdef __cplusplus
}
#endif
