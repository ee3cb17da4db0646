// What stands once in a program: its variables, and what libmicart needs to know of it.
#include "card/card.h"
#include "spectra/stage.h"
#include "unit.h"

#include <cstdlib>

namespace mica::codegen {
namespace {

/// Code reaches its static data by 32-bit offsets.
constexpr int64_t kStaticReach = (int64_t{2} << 30) - (64 << 20);
constexpr int64_t kCacheLine = 64;

} // namespace

void emit_variables(Unit &unit) {
  for (const spectra::Variable &v : unit.spectra.variables) {
    int64_t size = spectra::size_of(v.type);
    llvm::Type *type = nullptr;
    llvm::Constant *first = nullptr;
    if (v.first) {
      first = unit.constant(*v.first, v.type);
      if (v.type->is_bool()) first = llvm::ConstantInt::get(unit.i(8), std::get<int64_t>(*v.first) ? 1 : 0);
      type = first->getType();
    } else {
      type = llvm::ArrayType::get(unit.i(8), static_cast<uint64_t>(size));
      first = llvm::Constant::getNullValue(type);
    }
    llvm::GlobalVariable *global = new llvm::GlobalVariable(
        *unit.module, type, false, llvm::GlobalValue::InternalLinkage, first, "v." + std::string(v.name));
    // What is large enough to be cleared or copied in vectors begins with a cache line.
    int64_t least = size >= kCacheLine ? kCacheLine : 1;
    global->setAlignment(llvm::Align(static_cast<uint64_t>(std::max(spectra::align_of(v.type), least))));
    if (unit.debug && v.place) {
      llvm::DIFile *file = unit.debug_files[v.place.file < unit.debug_files.size() ? v.place.file : 0];
      global->addDebugInfo(unit.debug->createGlobalVariableExpression(
          unit.compile_unit, llvm::StringRef(v.name.data(), v.name.size()), "", file, v.place.line,
          unit.debug_type(v.type), true));
    }
    unit.variables.emplace(std::string(v.name), global);
  }
}

void emit_program_entry(Unit &unit) {
  const spectra::Func *body = unit.spectra.find_func("program.main");
  if (!body) return; // an object, which a program is linked with
  llvm::LLVMContext &c = unit.context;
  llvm::Type *i32 = unit.i(32);
  llvm::Type *i64 = unit.i(64);
  llvm::Type *ptr = unit.pointer();
  const spectra::Options &options = unit.spectra.options;
  std::string numerics;
  if (options.fp_tensor_float32) numerics = "fp_tensor_float32";
  if (options.fp_half_intermediates)
    numerics += numerics.empty() ? "fp_half_intermediates" : ",fp_half_intermediates";
  llvm::ArrayType *names_type = llvm::ArrayType::get(ptr, unit.file_names.size());
  llvm::GlobalVariable *names =
      new llvm::GlobalVariable(*unit.module, names_type, true, llvm::GlobalValue::InternalLinkage,
                               llvm::ConstantArray::get(names_type, unit.file_names), "files");
  constexpr uint32_t kAbi = 1, kReleaseFlags = 7, kAllFlags = 127; // MICA_ABI and mica_flag of micart.h
  auto word = [&](uint64_t value) { return llvm::ConstantInt::get(i64, value); };
  llvm::Constant *null = llvm::ConstantPointerNull::get(unit.pointer());
  // mica-link defines the fat binary where there is code for the card; else both words are 0.
  llvm::Constant *fat_binary = null;
  llvm::Constant *fat_binary_size = word(0);
  if (unit.spectra.options.device == "gpu") {
    auto weak = [&](const char *name) {
      return new llvm::GlobalVariable(*unit.module, unit.i(8), true, llvm::GlobalValue::ExternalWeakLinkage,
                                      nullptr, name);
    };
    fat_binary = weak("mica_fatbin");
    fat_binary_size = llvm::ConstantExpr::getPtrToInt(weak("mica_fatbin_size"), i64);
  }
  llvm::StructType *type =
      llvm::StructType::get(c, {i32, i32, ptr, ptr, ptr, ptr, ptr, i64, ptr, i64, ptr, i64});
  llvm::Constant *program = llvm::ConstantStruct::get(
      type, {llvm::ConstantInt::get(i32, kAbi),
             llvm::ConstantInt::get(i32, options.tier == "release" ? kReleaseFlags : kAllFlags),
             unit.c_string(unit.spectra.name), unit.c_string(spectra::kVersion), unit.c_string(options.tier),
             unit.c_string(numerics), names, word(unit.file_names.size()), fat_binary, fat_binary_size,
             unit.card_kernels ? unit.card_kernels : null, word(unit.card_kernel_count)});
  new llvm::GlobalVariable(*unit.module, type, true, llvm::GlobalValue::ExternalLinkage, program,
                           "mica_program");

  llvm::Function *main = llvm::Function::Create(
      llvm::FunctionType::get(i32, false), llvm::GlobalValue::ExternalLinkage, "mica_main", *unit.module);
  main->setDoesNotThrow();
  Builder b(llvm::BasicBlock::Create(c, "entry", main));
  emit_card_start(unit, b);
  b.CreateCall(unit.function(body));
  llvm::Value *code = b.getInt32(0);
  for (const char *name : {"program'exit", "program.exit"})
    if (unit.variables.count(name)) code = b.CreateLoad(i32, unit.variable(name));
  b.CreateRet(code);
}

/// Language.md 10: a program whose static storage passes what its code can reach is refused in plain words.
bool check_static_storage(const spectra::Module &module, spectra::Diag &diag) {
  int64_t total = 0;
  const spectra::Variable *largest = nullptr;
  for (const spectra::Variable &v : module.variables) {
    if (__builtin_add_overflow(total, spectra::size_of(v.type), &total)) total = INT64_MAX;
    if (!largest || spectra::size_of(v.type) > spectra::size_of(largest->type)) largest = &v;
  }
  if (total <= kStaticReach) return true;
  diag.error(largest->place,
             "the unit's variables take " + std::to_string(total >> 20) +
                 " MiB, more than the 1984 MiB that code can reach",
             "allocate the largest arrays with new, or place them on the card");
  return false;
}

} // namespace mica::codegen
