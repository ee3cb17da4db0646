// What the files of libmicart's host side share. Not seen by generated code (that is micart.h).
#ifndef MICA_HOST_RUNTIME_H
#define MICA_HOST_RUNTIME_H

#include "../include/micart.h"

#include <stddef.h>
#include <stdint.h>

namespace mica::rt {

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using i64 = int64_t;
using u128 = unsigned __int128;
using i128 = __int128;

// ---- text.cc: bytes that grow; never fails but by ending the program.
struct Text {
  char *data = nullptr;
  i64 length = 0;
  i64 capacity = 0;
  bool raw = true; // whether put_byte writes the byte itself, or the code point of that number
  Text() = default;
  Text(const Text &) = delete;
  Text &operator=(const Text &) = delete;
  ~Text();
  void reserve(i64 more);
  void put(const char *bytes, i64 count);
  void put(const char *zero_ended);
  void put_char(char c) { put(&c, 1); }
  void put_repeated(char c, i64 count);
  void put_code(u32 code);        // as UTF-8; what is no code point becomes U+FFFD
  void put_byte(u8 byte);         // one raw byte
  void put_string(mica_string s); // as UTF-8
  void putf(const char *format, ...) __attribute__((format(printf, 2, 3)));
  const char *zero_ended();
};
// Decodes one code point at bytes[at], moving at; a bad sequence gives U+FFFD for each maximal bad part.
u32 decode_utf8(const char *bytes, i64 length, i64 &at);
i64 count_codes(const char *bytes, i64 length);                   // code points in UTF-8
const char *bytes_in_words(i64 bytes, char *buffer, size_t size); // "1.5 GiB (1610612736 bytes)"

// ---- flags.cc: what stood between +mica and -mica.
struct Flags {
  int threads = 0; // 0: as many as there are cores
  int gpu = -1;    // -1: the first that fits
  bool stats = false;
  bool info = false;
  bool check = false;
  bool help = false;
  const char *trace = nullptr;
  const char *products = nullptr;
  int argument_count = 0; // the program's own arguments, without its name
  const char **arguments = nullptr;
};
extern Flags flags;
void read_flags(int argc, char **argv); // ends the program with exit code 2 where they are wrong
void print_flag_help();

// ---- info.cc
void print_info();  // +mica info
void print_check(); // +mica check

// ---- start.cc
[[noreturn]] void end_program(int code); // flush, statistics, trace, exit
void start_clock();
double seconds(); // monotonic, since the start

// ---- failure.cc
[[noreturn]] void refuse(const char *format, ...)
    __attribute__((format(printf, 1, 2))); // before the program's work: exit 2
void install_signal_handlers();
void remember_unfinished(const char *path); // a file to remove where a signal ends the program; null: none

// ---- shortest.cc: the shortest decimal digits that read back the same.
struct Decimal {
  char digits[24]; // no leading or trailing zeros; "0" for zero
  int count = 0;
  int exponent = 0; // value = 0.d1d2d3... * 10^exponent
};
// value = mantissa * 2^exponent, exact; `lower_gap_is_half` where the next smaller number is half as far
// away.
Decimal shortest_decimal(u64 mantissa, int exponent, bool lower_gap_is_half);
void put_shortest(Text &out, int type,
                  u64 bits); // float16, bfloat16, float32 (bits in the low part), float64

// ---- numbers.cc
double float_from_bits(int type, u64 bits); // exact, any float type
bool parse_number(const char *text, i64 length, int type,
                  void *out);    // any scalar type; false leaves out alone
i64 type_size(int type);         // bytes of one value
const char *type_name(int type); // the language's name

// ---- memory.cc
void *allocate(i64 bytes); // malloc that ends the program where there is none
void *reallocate(void *p, i64 bytes);
void release(void *p);
void register_mapping(void *base, i64 bytes, void *user); // mica_dispose(user) unmaps
struct MemoryCounts {
  i64 held;
  i64 highest;
};
MemoryCounts host_memory();

// ---- files.cc
// A file written beside its final name and renamed when it is whole; the destructor removes what was not
// finished.
struct Output {
  const char *file;
  i64 line;
  Text path;      // where it ends up
  Text temporary; // what is written; empty where the target is no regular file and is written directly
  int handle = -1;
  Output(const char *file, int line, mica_string path);
  ~Output();
  void write(const void *data, i64 bytes);
  void finish(bool durable);
  [[noreturn]] void fail(const char *what, int error);
};
// A whole file, mapped privately (writes stay in memory).
struct Mapping {
  void *base = nullptr;
  i64 length = 0;
};
Mapping map_file(const char *file, int line, const char *path); // fails with the reason
void unmap(Mapping m);

// ---- trace.cc
bool tracing();
void trace_span(const char *name, const char *category, double begin, double end, int track);
void write_trace();

// ---- stats.cc
struct Counters {
  i64 launches;
  double waited;
  i64 device_held;
  i64 device_highest;
};
extern Counters counters;
void print_stats();

// ---- card_driver.cc
const char *card_unavailable(); // why there is no card, in plain words; null where there is one
int card_count();
void finish_card(); // waits for queued work at the program's end, reporting its failures
} // namespace mica::rt
#endif
