// Constants: strings, numbers, tables; the functions and variables that code refers to.
#include "card/device.h"
#include "spectra/unicode.h"
#include "unit.h"

#include <bit>
#include <llvm/IR/DiagnosticInfo.h>
#include <stdexcept>

namespace mica::codegen {
namespace {

llvm::GlobalVariable *private_constant(Unit &unit, llvm::Constant *value, unsigned align) {
  llvm::GlobalVariable *global = new llvm::GlobalVariable(*unit.module, value->getType(), true,
                                                          llvm::GlobalValue::PrivateLinkage, value);
  global->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  global->setAlignment(llvm::Align(align));
  return global;
}

} // namespace

Unit::Unit(spectra::Module &s, bool card)
    : spectra(s), for_card(card), module(std::make_unique<llvm::Module>(s.name, context)) {
  // LLVM's remarks on what it did not vectorize are no news to the user.
  context.setDiagnosticHandlerCallBack(
      [](const llvm::DiagnosticInfo *info, void *) {
        if (info->getSeverity() == llvm::DS_Error) throw std::runtime_error("LLVM reports an error");
      },
      nullptr);
  module->setSourceFileName(s.sources.empty() ? s.name : s.sources[0].name);
  if (for_card) return;
  for (const spectra::SourceFile &source : s.sources) file_names.push_back(c_string(source.name));
  if (file_names.empty()) file_names.push_back(c_string(s.name));
  if (s.options.tier == "release") return;
  module->addModuleFlag(llvm::Module::Warning, "Dwarf Version", 5);
  module->addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  debug = std::make_unique<llvm::DIBuilder>(*module);
  for (const spectra::SourceFile &source : s.sources)
    debug_files.push_back(debug->createFile(source.name, "."));
  if (debug_files.empty()) debug_files.push_back(debug->createFile(s.name, "."));
  compile_unit = debug->createCompileUnit(llvm::DISourceLanguageName(llvm::dwarf::DW_LANG_Pascal83),
                                          debug_files[0], "micac 7.7.0", s.options.optimizes(), "", 0);
}

Unit::~Unit() = default;

llvm::Constant *Unit::c_string(std::string_view text) {
  auto it = strings.find(text);
  if (it != strings.end()) return it->second;
  llvm::Constant *bytes =
      llvm::ConstantDataArray::getString(context, llvm::StringRef(text.data(), text.size()));
  return strings[std::string(text)] = private_constant(*this, bytes, 1);
}

llvm::Constant *Unit::utf32_string(std::string_view utf8) {
  auto it = texts.find(utf8);
  if (it != texts.end()) return it->second;
  std::vector<uint32_t> codes;
  for (size_t at = 0; at < utf8.size();) {
    uint32_t code = spectra::decode_utf8(utf8, at);
    if (code == spectra::kBadUtf8) { // a hand-edited text; the reader of strings does not forbid it
      code = 0xFFFD;
      ++at;
    }
    codes.push_back(code);
  }
  llvm::Constant *data =
      codes.empty()
          ? static_cast<llvm::Constant *>(llvm::ConstantPointerNull::get(llvm::PointerType::get(context, 0)))
          : private_constant(*this, llvm::ConstantDataArray::get(context, codes), 4);
  llvm::Constant *text =
      llvm::ConstantStruct::getAnon(context, {data, llvm::ConstantInt::get(i(64), codes.size())});
  return texts[std::string(utf8)] = text;
}

llvm::Constant *Unit::constant(const spectra::AttrValue &value, const Type *type) {
  if (const std::string *text = std::get_if<std::string>(&value)) return utf32_string(*text);
  llvm::Type *t = type_of(type);
  if (const spectra::FloatBits *bits = std::get_if<spectra::FloatBits>(&value)) {
    llvm::APFloat real(llvm::APFloat::IEEEdouble(), llvm::APInt(64, bits->bits));
    bool loses = false;
    // A NaN's sign and payload stay; an f32's double holds its value exactly.
    bool is_bfloat = type->scalar == Scalar::bf16;
    real.convert(is_bfloat ? llvm::APFloat::BFloat() : t->getFltSemantics(),
                 llvm::APFloat::rmNearestTiesToEven, &loses);
    if (is_bfloat) return llvm::ConstantInt::get(context, real.bitcastToAPInt());
    return llvm::ConstantFP::get(context, real);
  }
  if (const int64_t *integer = std::get_if<int64_t>(&value)) {
    if (type->is_float())
      return constant(spectra::FloatBits{std::bit_cast<uint64_t>(static_cast<double>(*integer))}, type);
    return llvm::ConstantInt::get(t, static_cast<uint64_t>(*integer), true, true);
  }
  return llvm::Constant::getNullValue(t);
}

llvm::Constant *Unit::int64s(const std::vector<int64_t> &values) {
  std::vector<uint64_t> words(values.begin(), values.end());
  return private_constant(*this, llvm::ConstantDataArray::get(context, words), 8);
}

llvm::FunctionCallee Unit::runtime(const char *name, llvm::Type *result,
                                   llvm::ArrayRef<llvm::Type *> parameters) {
  llvm::FunctionCallee callee =
      module->getOrInsertFunction(name, llvm::FunctionType::get(result, parameters, false));
  if (llvm::Function *f = llvm::dyn_cast<llvm::Function>(callee.getCallee())) f->setDoesNotThrow();
  return callee;
}

llvm::Function *Unit::function(const spectra::Func *func) {
  llvm::Function *&f = functions[func];
  if (f) return f;
  std::vector<llvm::Type *> parameters;
  for (const Value *v : func->body->args) parameters.push_back(type_of(v->type));
  llvm::Type *result = func->result ? type_of(func->result) : llvm::Type::getVoidTy(context);
  // A C function has its C name, and what a unit exports the name that other units import it by. All else is
  // named after its unit: a procedure called `memcpy` must not become the memcpy that LLVM calls.
  bool visible = func->external || func->exported;
  std::string name(func->name);
  if (!visible) name = spectra.name + "." + name;
  f = llvm::Function::Create(
      llvm::FunctionType::get(result, parameters, false),
      visible ? llvm::GlobalValue::ExternalLinkage : llvm::GlobalValue::InternalLinkage, name, *module);
  f->setDoesNotThrow();
  if (visible) { // the System V ABI wants small integers extended as C does
    auto extension = [](const Type *type) {
      if (!type || !type->is_scalar() || type->gpu || spectra::scalar_bytes(type->scalar) >= 4 ||
          type->is_float())
        return llvm::Attribute::None;
      return type->is_signed() ? llvm::Attribute::SExt : llvm::Attribute::ZExt;
    };
    for (size_t i = 0; i < func->body->args.size(); ++i)
      if (auto kind = extension(func->body->args[i]->type); kind != llvm::Attribute::None)
        f->addParamAttr(static_cast<unsigned>(i), kind);
    if (auto kind = extension(func->result); kind != llvm::Attribute::None) f->addRetAttr(kind);
  }
  return f;
}

llvm::GlobalVariable *Unit::variable(std::string_view name) { return variables.find(name)->second; }

std::pair<llvm::Value *, llvm::Value *> place_arguments(Unit &unit, Place place) {
  if (unit.for_card)
    return {unit.failures ? unit.failures : llvm::ConstantPointerNull::get(unit.pointer()),
            llvm::ConstantInt::get(unit.i(32), place.line)};
  size_t file = place.file < unit.file_names.size() ? place.file : 0;
  return {unit.file_names[file], llvm::ConstantInt::get(unit.i(32), place.line)};
}

void emit_failure(Unit &unit, Builder &b, llvm::Value *condition, const llvm::Twine &name,
                  const std::function<void(Builder &)> &fail) {
  llvm::Function *f = b.GetInsertBlock()->getParent();
  llvm::BasicBlock *bad = llvm::BasicBlock::Create(unit.context, name, f);
  llvm::BasicBlock *good = llvm::BasicBlock::Create(unit.context, "", f);
  llvm::MDBuilder metadata(unit.context);
  b.CreateCondBr(condition, bad, good, metadata.createUnlikelyBranchWeights());
  b.SetInsertPoint(bad);
  fail(b);
  if (unit.for_card)
    b.CreateBr(good);
  else
    b.CreateUnreachable();
  b.SetInsertPoint(good);
}

} // namespace mica::codegen
