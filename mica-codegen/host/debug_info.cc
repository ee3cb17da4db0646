// Types, functions and variables as a debugger sees them (DWARF 5). Names are those of the source.
#include "unit.h"

namespace mica::codegen {
namespace {

using namespace llvm::dwarf;

class DebugTypes {
public:
  explicit DebugTypes(Unit &unit) : unit_(unit), debug_(*unit.debug), file_(unit.debug_files[0]) {}

  llvm::DIType *make(const Type *type) {
    uint64_t bits = static_cast<uint64_t>(spectra::size_of(type)) * 8;
    if (type->gpu) { // the host holds its address
      Type there = *type;
      there.gpu = false;
      return debug_.createPointerType(make(&there), 64);
    }
    switch (type->kind) {
    case TypeKind::scalar: return scalar(type, bits);
    case TypeKind::whole: {
      llvm::SmallVector<llvm::Metadata *> ranges;
      for (int64_t size : type->sizes) ranges.push_back(debug_.getOrCreateSubrange(0, size));
      const Type *cell = unit_.spectra.types.scalar(type->scalar);
      return debug_.createArrayType(bits, 512, unit_.debug_type(cell), debug_.getOrCreateArray(ranges));
    }
    case TypeKind::array: {
      llvm::Metadata *range = debug_.getOrCreateSubrange(type->low, type->high - type->low + 1);
      return debug_.createArrayType(bits, 0, unit_.debug_type(type->element),
                                    debug_.getOrCreateArray({range}));
    }
    case TypeKind::pointer: return debug_.createPointerType(unit_.debug_type(type->element), 64);
    case TypeKind::frame: return debug_.createPointerType(nullptr, 64);
    case TypeKind::slice:
      return words(spectra::to_source(type), "data",
                   debug_.createPointerType(unit_.debug_type(type->element), 64), "length", word(true));
    case TypeKind::string: { // UTF-32
      const Type *code = unit_.spectra.types.scalar(Scalar::unicode);
      return words("string", "data", debug_.createPointerType(unit_.debug_type(code), 64), "length",
                   word(true));
    }
    case TypeKind::function: {
      llvm::DIType *address = debug_.createPointerType(nullptr, 64);
      return words(spectra::to_source(type), "code", address, "frame", address);
    }
    case TypeKind::random:
    case TypeKind::draw: return words("random", "key", word(false), "counter", word(false));
    case TypeKind::record: return record(type, bits);
    }
    return nullptr;
  }

private:
  llvm::DIType *word(bool is_signed) {
    return unit_.debug_type(unit_.spectra.types.scalar(is_signed ? Scalar::i64 : Scalar::u64));
  }

  llvm::DIType *scalar(const Type *type, uint64_t bits) {
    unsigned encoding = type->is_float()                  ? DW_ATE_float
                        : type->is_bool()                 ? DW_ATE_boolean
                        : type->scalar == Scalar::unicode ? DW_ATE_UTF
                        : type->is_signed()               ? DW_ATE_signed
                                                          : DW_ATE_unsigned;
    const Type *plain = unit_.spectra.types.untracked(type);
    std::string name = spectra::to_source(plain);
    // gdb takes a 16-bit float for an IEEE half unless its base type has the name that C gives it.
    if (type->scalar != Scalar::f16 && type->scalar != Scalar::bf16)
      return debug_.createBasicType(name, bits, encoding);
    llvm::DIType *base =
        debug_.createBasicType(type->scalar == Scalar::f16 ? "_Float16" : "__bf16", bits, encoding);
    return debug_.createTypedef(base, name, file_, 0, unit_.compile_unit);
  }

  /// The two words of a string, a slice, a procedure value or a random state.
  llvm::DIType *words(const std::string &name, const char *first, llvm::DIType *first_type,
                      const char *second, llvm::DIType *second_type) {
    auto member = [&](const char *field, uint64_t offset, llvm::DIType *type) {
      return debug_.createMemberType(unit_.compile_unit, field, file_, 0, 64, 64, offset,
                                     llvm::DINode::FlagZero, type);
    };
    return debug_.createStructType(
        unit_.compile_unit, name, file_, 0, 128, 64, llvm::DINode::FlagZero, nullptr,
        debug_.getOrCreateArray({member(first, 0, first_type), member(second, 64, second_type)}));
  }

  /// A record may point to itself: its members are filled in once it stands in the table.
  llvm::DIType *record(const Type *type, uint64_t bits) {
    llvm::DICompositeType *out =
        debug_.createStructType(unit_.compile_unit, type->record->name, file_, 0, bits,
                                static_cast<uint32_t>(spectra::align_of(type)) * 8, llvm::DINode::FlagZero,
                                nullptr, debug_.getOrCreateArray({}));
    unit_.debug_types[type] = out;
    llvm::SmallVector<llvm::Metadata *> members;
    for (size_t i = 0; i < type->record->fields.size(); ++i) {
      const spectra::Record::Field &field = type->record->fields[i];
      members.push_back(debug_.createMemberType(
          out, field.name, file_, 0, static_cast<uint64_t>(spectra::size_of(field.type)) * 8, 0,
          static_cast<uint64_t>(spectra::field_offset(type->record, static_cast<int>(i))) * 8,
          llvm::DINode::FlagZero, unit_.debug_type(field.type)));
    }
    debug_.replaceArrays(out, debug_.getOrCreateArray(members));
    return out;
  }

  Unit &unit_;
  llvm::DIBuilder &debug_;
  llvm::DIFile *file_;
};

} // namespace

llvm::DIType *Unit::debug_type(const Type *type) {
  auto it = debug_types.find(type);
  if (it != debug_types.end()) return it->second;
  llvm::DIType *made = DebugTypes(*this).make(type);
  return debug_types[type] = made;
}

llvm::DISubprogram *Unit::debug_function(llvm::Function *function, std::string_view name, Place place,
                                         llvm::ArrayRef<llvm::Metadata *> types, bool artificial) {
  llvm::DIFile *file = debug_files[place.file < debug_files.size() ? place.file : 0];
  llvm::DISubroutineType *type = debug->createSubroutineType(debug->getOrCreateTypeArray(types));
  unsigned line = std::max<unsigned>(place.line, 1);
  llvm::StringRef shown(name.data(), name.size());
  llvm::DISubprogram::DISPFlags flags =
      llvm::DISubprogram::SPFlagDefinition | llvm::DISubprogram::SPFlagLocalToUnit;
  if (spectra.options.optimizes()) flags |= llvm::DISubprogram::SPFlagOptimized;
  llvm::DISubprogram *made =
      debug->createFunction(file, shown, "", file, line, type, line,
                            artificial ? llvm::DINode::FlagArtificial : llvm::DINode::FlagPrototyped, flags);
  function->setSubprogram(made);
  return made;
}

} // namespace mica::codegen
