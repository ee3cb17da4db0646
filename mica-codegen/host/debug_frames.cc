// Variables that inner procedures touch live in a frame record (SPECTRA.md 4). A debugger shows them by their
// own names: in the procedure that has the frame, and in the inner ones, through their static links.
#include "function.h"

namespace mica::codegen {

using spectra::Type;
using spectra::TypeKind;
using LValue = llvm::Value *;

/// The fields of a frame, each a variable of this function: `way` leads from `address` to the frame.
void FunctionEmitter::show_fields(const spectra::Record &frame, LValue address,
                                  const std::vector<uint64_t> &way, bool own) {
  llvm::DIFile *file = subprogram_->getFile();
  const unsigned line = subprogram_->getLine();
  for (size_t i = 0; i < frame.fields.size(); ++i) {
    const spectra::Record::Field &field = frame.fields[i];
    if (field.name == "up" || field.name.find('\'') != std::string::npos) continue;
    llvm::DIType *type = unit_.debug_type(field.type);
    unsigned parameter = 0;
    for (size_t a = 0; own && a < func_.body->args.size(); ++a)
      if (func_.body->args[a]->name == field.name) parameter = static_cast<unsigned>(a) + 1;
    llvm::DILocalVariable *variable =
        parameter
            ? unit_.debug->createParameterVariable(subprogram_, field.name, parameter, file, line, type, true)
            : unit_.debug->createAutoVariable(subprogram_, field.name, file, line, type, true);
    std::vector<uint64_t> words = way;
    words.insert(words.end(), {llvm::dwarf::DW_OP_plus_uconst,
                               static_cast<uint64_t>(spectra::field_offset(&frame, static_cast<int>(i)))});
    unit_.debug->insertDeclare(address, variable, unit_.debug->createExpression(words),
                               llvm::DILocation::get(unit_.context, line, 0, subprogram_),
                               b_.GetInsertBlock());
  }
}

const spectra::Record *FunctionEmitter::frame_of(std::string_view function) const {
  for (const spectra::Record *record : unit_.spectra.types.records())
    if (record->defined && record->name == std::string(function) + ".frame") return record;
  return nullptr;
}

/// In `Outer.Middle.Inner` with the frame of the nearest outer procedure that has one: its variables, then
/// those of the frames further out, nearest first, so that an inner name hides an outer one.
void FunctionEmitter::show_outer_frames(LValue frame) {
  if (!unit_.debug || unit_.spectra.options.optimizes()) return;
  LValue slot = entry_slot(unit_.pointer(), "");
  b_.CreateStore(frame, slot);
  std::vector<uint64_t> way = {llvm::dwarf::DW_OP_deref};
  std::string_view name = func_.name;
  for (size_t dot = name.rfind('.'); dot != std::string_view::npos; dot = name.rfind('.')) {
    name = name.substr(0, dot);
    const spectra::Record *record = frame_of(name);
    if (!record) continue;
    show_fields(*record, slot, way, false);
    const int up = record->field_index("up");
    if (up < 0) return;
    way.insert(way.end(),
               {llvm::dwarf::DW_OP_plus_uconst, static_cast<uint64_t>(spectra::field_offset(record, up)),
                llvm::dwarf::DW_OP_deref});
  }
}

} // namespace mica::codegen
