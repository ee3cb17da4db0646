// Types as a Mica program has them. Spectra's types know neither enumerations nor subranges nor open shapes,
// so the checker has its own, interned: two types are the same exactly where their pointers are.
#pragma once
#include "spectra/diag.h"
#include "spectra/types.h"
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace mica::check {

struct Type;
struct RecordType;
struct EnumType;

enum class Kind : uint8_t {
  poison,      ///< after an error: fits everything and causes no further message
  none,        ///< what a procedure without an answer gives
  scalar,      ///< the numbers, bool and unicode, perhaps on the card
  enumeration, ///< distinct by declaration
  subrange,    ///< of an integer type, unicode, bool or an enumeration (`element`), `low`..`high`
  string,
  random,
  whole,     ///< vector, matrix, tensor
  open,      ///< a whole value with open sizes; only a parameter's type before its procedure is instantiated
  array,     ///< `low`..`high` of `element`; `index` is the index's type
  slice,     ///< `pointer array of element`
  record,    ///< distinct by declaration (and by what `like` derives)
  pointer,   ///< to `element`
  procedure, ///< `parameters`, answer in `element` (null: none)
  nil        ///< the type of `nil`, fits every pointer, slice and procedure type
};

struct Parameter {
  const Type *type = nullptr;
  bool by_reference = false;
  friend bool operator==(const Parameter &, const Parameter &) = default;
};

struct Type {
  Kind kind = Kind::poison;
  spectra::Scalar scalar =
      spectra::Scalar::i32;          ///< scalar, whole, open: the cell; enumeration: i32; subrange: base's
  bool gpu = false, tracked = false; ///< scalar, whole, open
  int rank = 0;                      ///< whole; open: 1, 2 or -1 (`tensor`, any rank)
  std::vector<int64_t> sizes;        ///< whole
  int64_t low = 0, high = -1;        ///< subrange, array, enumeration (0..count-1)
  const Type *index = nullptr;       ///< array
  const Type *element = nullptr;     ///< array, slice, pointer; subrange: base; procedure: answer or null
  const RecordType *record = nullptr;
  const EnumType *enumeration = nullptr;
  std::vector<Parameter> parameters; ///< procedure

  bool is(Kind k) const { return kind == k; }
  bool is_poison() const { return kind == Kind::poison; }
  bool is_scalar() const { return kind == Kind::scalar; }
  bool is_whole() const { return kind == Kind::whole; }
  /// A whole value or a scalar on the card: what verbs compute and kernels run.
  bool is_device_or_whole() const {
    return kind == Kind::whole || kind == Kind::open || (kind == Kind::scalar && gpu);
  }
  /// An integer, float, bool or unicode of the host (no subrange, no enumeration).
  bool is_host_scalar() const { return kind == Kind::scalar && !gpu; }
  bool has_cells() const { return kind == Kind::scalar || kind == Kind::whole || kind == Kind::open; }
  bool is_float() const {
    return has_cells() && scalar >= spectra::Scalar::f16 && scalar <= spectra::Scalar::f64;
  }
  bool is_integer() const { return has_cells() && scalar <= spectra::Scalar::u128; }
  bool is_bool() const { return has_cells() && scalar == spectra::Scalar::boolean; }
  bool is_unicode() const { return has_cells() && scalar == spectra::Scalar::unicode; }
  /// What counts one by one: integers, bool, unicode, enumerations, subranges (on the host).
  bool is_ordinal() const;
  /// Records, arrays: they live in memory and travel as pointers.
  bool is_aggregate() const { return kind == Kind::record || kind == Kind::array; }
};

struct Field {
  std::string_view name; ///< in NFC, kept by the tree
  const Type *type = nullptr;
  spectra::Place place;
};

struct RecordType {
  std::string name;      ///< as messages say it
  std::string link_name; ///< Spectra's name; unique in the text
  std::vector<Field> fields;
  bool complete = false; ///< false while its declaration is being resolved
  const Type *type = nullptr;
  /// Where `like` derived it from another: the same fields untracked, tracked or of another cell type.
  const Type *derived_from = nullptr;
  int field_index(std::string_view field) const;
};

struct EnumType {
  std::string name;
  std::vector<std::string_view> names;
  const Type *type = nullptr;
};

/// Bits and sign of the integers and floats.
int bits_of(spectra::Scalar);
bool is_signed(spectra::Scalar);
bool is_float(spectra::Scalar);
bool is_integer(spectra::Scalar);
/// The least and the greatest value of an integer type (unicode: 0..0x10FFFF, bool: 0..1).
__int128 min_of(spectra::Scalar);
__int128 max_of(spectra::Scalar);
/// "int32", "bfloat16", "bool": as a program writes it.
const char *source_name(spectra::Scalar);
/// Whether every value of `from` is one of `to` without loss, and the language converts by itself
/// (language.md 3).
bool widens(spectra::Scalar from, spectra::Scalar to);
/// The narrowest type that both widen to; false where there is none.
bool common_scalar(spectra::Scalar a, spectra::Scalar b, spectra::Scalar &common);

/// Owns and interns all types, and knows how each looks in Spectra.
class Types {
public:
  explicit Types(spectra::TypeTable &table);

  const Type *poison() const { return poison_; }
  const Type *none() const { return none_; }
  const Type *nil() const { return nil_; }
  const Type *string() const { return string_; }
  const Type *random() const { return random_; }
  const Type *scalar(spectra::Scalar s, bool gpu = false, bool tracked = false);
  const Type *whole(spectra::Scalar cell, std::vector<int64_t> sizes, bool gpu = false, bool tracked = false);
  const Type *open(spectra::Scalar cell, int rank, bool gpu, bool tracked);
  const Type *subrange(const Type *base, int64_t low, int64_t high);
  const Type *array(const Type *index, int64_t low, int64_t high, const Type *element);
  const Type *slice(const Type *element);
  const Type *pointer(const Type *element);
  const Type *procedure(std::vector<Parameter> parameters, const Type *answer);
  EnumType *new_enum(std::string name);
  RecordType *new_record(std::string name, std::string link_name);

  const Type *i32() { return scalar(spectra::Scalar::i32); }
  const Type *i64() { return scalar(spectra::Scalar::i64); }
  const Type *f64() { return scalar(spectra::Scalar::f64); }
  const Type *boolean() { return scalar(spectra::Scalar::boolean); }
  const Type *unicode() { return scalar(spectra::Scalar::unicode); }

  /// The same type with another property; only scalars, wholes and open types carry them, others come back
  /// unchanged
  /// (`tracked` of aggregates: see `like`).
  const Type *with_tracked(const Type *, bool tracked);
  const Type *with_gpu(const Type *, bool gpu);
  const Type *with_cell(const Type *, spectra::Scalar cell);
  const Type *with_sizes(const Type *,
                         std::vector<int64_t> sizes); ///< no sizes: the scalar in the same place
  /// What `like x` means for x's type: the same untracked (or tracked), perhaps of another cell type;
  /// aggregates become a derived record or array of alike leaves. Null where `cell` or `tracked` cannot apply
  /// to a leaf.
  const Type *like(const Type *, bool tracked, const spectra::Scalar *cell);

  /// The base of a subrange, else the type itself.
  static const Type *base(const Type *t) { return t->kind == Kind::subrange ? t->element : t; }
  /// As a programmer writes it: "pointer Node", "matrix[8, 2] of float32 on gpu".
  std::string name(const Type *) const;
  /// How it looks in Spectra. Poison lowers to i32; open types can't be lowered.
  const spectra::Type *lower(const Type *);
  const spectra::Type *lower_value(const Type *); ///< without `tracked`, as values have it
  const spectra::Type *
  lower_parameter(const Parameter &); ///< records, arrays and var parameters are pointers
  void define_records();              ///< gives Spectra's table the records' fields
  /// The whole or device-scalar or other leaf type of Spectra as a type of Mica (the inverse for leaves).
  const Type *raise(const spectra::Type *);
  spectra::TypeTable &table() { return table_; }

private:
  const Type *intern(Type &&type);
  spectra::TypeTable &table_;
  std::deque<Type> storage_;
  std::unordered_multimap<size_t, const Type *> interned_;
  std::deque<RecordType> records_;
  std::deque<EnumType> enums_;
  std::unordered_map<const Type *, const spectra::Type *> lowered_;
  std::unordered_map<std::string, const Type *> likes_;
  const Type *plain_[spectra::kScalarCount] = {};
  const Type *poison_, *none_, *nil_, *string_, *random_;
};

} // namespace mica::check
