// Variables that live on the card: a slot on the host holds each one's address. What a variable needs is one
// range of memory, its parts in order, each aligned to 256 bytes.
#include "card.h"
#include "device.h"

namespace mica::codegen {
namespace {

using LValue = llvm::Value *;

constexpr int64_t kPartAlignment = 256;

/// A part that repeats: `count` times, so many bytes apart on either side (struct mica_card_part).
struct Part {
  int64_t host, card, bytes, count, host_step, card_step;
};

int64_t part_bytes(const Type *type) {
  int64_t bytes = type->cells() * spectra::scalar_bytes(type->scalar);
  return std::max(kPartAlignment, (bytes + kPartAlignment - 1) / kPartAlignment * kPartAlignment);
}

/// Adds the parts of `type` at these offsets; gives the bytes that they take on the card.
int64_t find_parts(const Type *type, int64_t host, int64_t card, std::vector<Part> &parts) {
  if (type->is_device_or_whole()) {
    if (!type->gpu) return 0;
    parts.push_back({host, card, type->cells() * spectra::scalar_bytes(type->scalar), 1, 0, 0});
    return part_bytes(type);
  }
  if (type->kind == TypeKind::record) {
    int64_t start = card;
    for (size_t i = 0; i < type->record->fields.size(); ++i)
      card += find_parts(type->record->fields[i].type,
                         host + spectra::field_offset(type->record, static_cast<int>(i)), card, parts);
    return card - start;
  }
  if (type->kind != TypeKind::array || !has_card_parts(type->element)) return 0;
  int64_t count = std::max<int64_t>(0, type->high - type->low + 1), step = spectra::size_of(type->element);
  std::vector<Part> one;
  int64_t bytes = find_parts(type->element, 0, 0, one);
  bool simple = std::all_of(one.begin(), one.end(), [](const Part &p) { return p.count == 1; });
  int64_t copies = simple ? 1 : count;
  for (int64_t i = 0; i < copies && count; ++i)
    for (Part part : one) {
      part.host += host + i * step;
      part.card += card + i * bytes;
      if (simple) part.count = count, part.host_step = step, part.card_step = bytes;
      parts.push_back(part);
    }
  return bytes * count;
}

struct Parts {
  LValue table, count;
  int64_t bytes;
};
Parts parts_of(Unit &unit, const Type *type) {
  std::vector<Part> parts;
  int64_t bytes = find_parts(type, 0, 0, parts);
  std::vector<int64_t> words;
  for (const Part &p : parts)
    words.insert(words.end(), {p.host, p.card, p.bytes, p.count, p.host_step, p.card_step});
  return {unit.int64s(words), llvm::ConstantInt::get(unit.i(64), parts.size()), bytes};
}

LValue call(Unit &unit, Builder &b, const char *name, llvm::Type *result, llvm::ArrayRef<LValue> arguments) {
  std::vector<llvm::Type *> types;
  for (LValue v : arguments) types.push_back(v->getType());
  return b.CreateCall(unit.runtime(name, result, types), arguments);
}

} // namespace

bool has_card_parts(const Type *type) {
  switch (type->kind) {
  case TypeKind::scalar:
  case TypeKind::whole: return type->gpu;
  case TypeKind::array: return has_card_parts(type->element);
  case TypeKind::record:
    return std::any_of(type->record->fields.begin(), type->record->fields.end(),
                       [](const spectra::Record::Field &field) { return has_card_parts(field.type); });
  default: return false;
  }
}

LValue emit_card_place(Unit &unit, Builder &b, Place place, LValue variable, const Type *type,
                       LValue repeat) {
  auto [file, line] = place_arguments(unit, place);
  Parts parts = parts_of(unit, type);
  return call(unit, b, "mica_card_place", unit.pointer(),
              {file, line, variable, repeat, b.getInt64(static_cast<uint64_t>(spectra::size_of(type))),
               b.getInt64(static_cast<uint64_t>(parts.bytes)), parts.table, parts.count});
}

void emit_card_unplace(Unit &unit, Builder &b, LValue variable, const Type *type) {
  Parts parts = parts_of(unit, type);
  call(unit, b, "mica_card_unplace", b.getVoidTy(), {variable, parts.table, parts.count});
}

void emit_card_copy_value(Unit &unit, Builder &b, Place place, LValue to, LValue from, const Type *type) {
  auto [file, line] = place_arguments(unit, place);
  Parts parts = parts_of(unit, type);
  call(unit, b, "mica_card_copy_value", b.getVoidTy(),
       {file, line, to, from, b.getInt64(static_cast<uint64_t>(spectra::size_of(type))), parts.table,
        parts.count});
}

void emit_card_start(Unit &unit, Builder &b) {
  const spectra::Variable *first = nullptr;
  for (const spectra::Variable &v : unit.spectra.variables)
    if (!first && has_card_parts(v.type)) first = &v;
  bool works = first || (unit.card && !unit.card->tables.empty());
  for (const spectra::Func *func : unit.spectra.funcs)
    for (const spectra::Variable &local : func->locals) works |= has_card_parts(local.type);
  if (!works) return;
  call(unit, b, "mica_card_start", b.getVoidTy(), {});
  for (const spectra::Variable &v : unit.spectra.variables)
    if (has_card_parts(v.type))
      emit_card_place(unit, b, v.place, unit.variable(v.name), v.type, b.getInt64(1));
}

} // namespace mica::codegen
