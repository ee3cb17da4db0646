// Types of Spectra. They are interned: within one module two types are equal exactly where their pointers
// are.
//
//   scalar   i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 bool unicode          (i128, u128 reserved)
//   whole    f32[8,2]   f32[8,2] gpu   f32[4] gpu tracked        sizes are constants; row-major; any size may
//   be 0 device   f32 gpu                                             one scalar that lives on the card
//   pointer  ptr<T>        array  array<1..10, T>      slice  slice<T>  (run-time length, host only)
//   record   record<Layer> function fn(i32, f64) -> i32          a code pointer and a frame pointer
//   string   random   draw   frame (an untyped frame pointer)
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace spectra {

enum class Scalar : uint8_t {
  i8,
  i16,
  i32,
  i64,
  i128,
  u8,
  u16,
  u32,
  u64,
  u128,
  f16,
  bf16,
  f32,
  f64,
  boolean,
  unicode
};
inline constexpr int kScalarCount = 16;

enum class TypeKind : uint8_t {
  scalar,
  whole,
  pointer,
  array,
  slice,
  record,
  function,
  string,
  random,
  draw,
  frame
};

struct Type;

/// A record's declaration. Two records are alike by name only.
struct Record {
  struct Field {
    std::string name;
    const Type *type = nullptr;
  };
  std::string name;
  std::vector<Field> fields;
  bool defined = false; ///< false while only named (through a pointer)
  /// What size_of, align_of and field_offset have computed of it.
  struct Layout {
    int64_t size = 0, align = 1;
    std::vector<int64_t> offsets;
  };
  mutable Layout layout;
  int field_index(std::string_view field) const;
};

struct Type {
  TypeKind kind = TypeKind::scalar;
  Scalar scalar = Scalar::i32;    ///< scalar, whole: the type of a cell
  bool gpu = false;               ///< scalar, whole: lives on the card
  bool tracked = false;           ///< scalar, whole: a variable that the tape records; values never carry it
  std::vector<int64_t> sizes;     ///< whole: one size a dimension, at least one dimension
  int64_t low = 0, high = -1;     ///< array: inclusive bounds
  const Type *element = nullptr;  ///< pointer, array, slice; function: the result or null
  const Record *record = nullptr; ///< record
  std::vector<const Type *> parameters; ///< function

  bool is_scalar() const { return kind == TypeKind::scalar; }
  bool is_whole() const { return kind == TypeKind::whole; }
  /// A whole value or a scalar on the card: what kernels compute.
  bool is_device_or_whole() const { return is_whole() || (is_scalar() && gpu); }
  bool is_float() const {
    return (is_scalar() || is_whole()) && scalar >= Scalar::f16 && scalar <= Scalar::f64;
  }
  bool is_integer() const { return (is_scalar() || is_whole()) && scalar <= Scalar::u128; }
  bool is_signed() const { return (is_scalar() || is_whole()) && scalar <= Scalar::i128; }
  bool is_bool() const { return (is_scalar() || is_whole()) && scalar == Scalar::boolean; }
  int rank() const { return is_whole() ? static_cast<int>(sizes.size()) : 0; }
  int64_t cells() const; ///< product of the sizes; 1 for a scalar
  int64_t rows() const;  ///< cells / last size, counting rows also where the last size is 0
  int64_t columns() const { return is_whole() ? sizes.back() : 1; } ///< the last dimension
};

/// Bytes of one cell in memory: bool is one byte, unicode four.
int scalar_bytes(Scalar);
const char *scalar_name(Scalar);

/// Owns and interns the types of one module.
class TypeTable {
public:
  const Type *scalar(Scalar s, bool gpu = false, bool tracked = false);
  const Type *whole(Scalar cell, std::vector<int64_t> sizes, bool gpu = false, bool tracked = false);
  const Type *pointer(const Type *element);
  const Type *array(int64_t low, int64_t high, const Type *element);
  const Type *slice(const Type *element);
  const Type *record(std::string_view name); ///< creates an undefined record where the name is new
  const Type *function(std::vector<const Type *> parameters, const Type *result);
  const Type *string();
  const Type *random();
  const Type *draw();
  const Type *frame();

  const Type *untracked(const Type *t); ///< the same without `tracked` (scalar and whole; others unchanged)
  const Type *with_scalar(const Type *t, Scalar cell); ///< the same shape and place with another cell type
  const Type *with_sizes(const Type *t,
                         std::vector<int64_t> sizes); ///< no sizes: the scalar in the same place

  Record *define(std::string_view name); ///< the record to fill; same object as record(name)->record
  const std::vector<Record *> &records() const { return record_order_; }

private:
  const Type *intern(Type &&type, std::string key);
  std::deque<Type> types_;
  std::map<std::string, const Type *, std::less<>> interned_;
  std::deque<Record> record_storage_;
  std::map<std::string, Record *, std::less<>> records_;
  std::vector<Record *> record_order_;
};

/// The type's text; reading it back gives the same type.
std::string to_text(const Type *type);
/// As a Mica programmer writes it: "matrix[8, 2] of float32 on gpu", for messages.
std::string to_source(const Type *type);
/// "[8, 2]", or "one value" for a scalar, for messages.
std::string shape_text(const Type *type);

/// The broadcast of two shapes (language.md 5): one is a suffix of the other and a size of 1 stretches; false
/// where they don't fit. An empty shape (a scalar) fits everything.
bool broadcast_sizes(const std::vector<int64_t> &a, const std::vector<int64_t> &b,
                     std::vector<int64_t> &result);

/// Size and alignment in bytes of a value in memory, as generated code and libmicart see it (SPECTRA.md
/// "Memory").
int64_t size_of(const Type *type);
int64_t align_of(const Type *type);
int64_t field_offset(const Record *record, int field);

} // namespace spectra
