// From the LLVM module to assembly text: link the math library, optimize by tier, print.
#include "unit.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Linker/Linker.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/StandardInstrumentations.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/TargetParser/Triple.h>
#include <llvm/Transforms/IPO/Internalize.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

/// The math library's bitcode for the processor, carried in this executable (Makefile, mica-codegen/math.s).
extern "C" const char mica_math_x86[];
extern "C" const char mica_math_x86_end[];

namespace mica::codegen {
namespace {

constexpr const char *kTriple = "x86_64-pc-linux-gnu";
constexpr const char *kCpu = "x86-64-v3";

std::unique_ptr<llvm::TargetMachine> target_machine(const spectra::Options &options, bool has_library) {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(llvm::Triple(kTriple), error);
  if (!target) throw std::runtime_error("LLVM lacks x86-64: " + error);
  llvm::TargetOptions target_options;
  target_options.AllowFPOpFusion =
      llvm::FPOpFusion::Strict; // a fused multiply-add is an operation of its own
  target_options.DataSections = true;
  target_options.FunctionSections = true;
  // With kernels beside it, user code is marked `optnone` one by one (keep_user_code).
  bool plain = !options.optimizes() && !has_library;
  llvm::CodeGenOptLevel level = plain                  ? llvm::CodeGenOptLevel::None
                                : options.tier == "O1" ? llvm::CodeGenOptLevel::Less
                                : options.tier == "O3" ? llvm::CodeGenOptLevel::Aggressive
                                                       : llvm::CodeGenOptLevel::Default;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      llvm::Triple(kTriple), kCpu, "", target_options, llvm::Reloc::PIC_, std::nullopt, level));
}

/// Brings in what the module calls of the math library, to be inlined: a value has the same bits in a scalar,
/// in a vectorized loop and folded.
/// Whether any came in.
bool link_math(Unit &unit) {
  const spectra::Options &options = unit.spectra.options;
  bool needed = false;
  for (const llvm::Function &f : *unit.module)
    needed |= f.isDeclaration() && f.getName().starts_with("mica_");
  if (!needed) return false;
  llvm::StringRef bytes(mica_math_x86, static_cast<size_t>(mica_math_x86_end - mica_math_x86));
  llvm::Expected<std::unique_ptr<llvm::Module>> math =
      llvm::getLazyBitcodeModule(llvm::MemoryBufferRef(bytes, "math"), unit.context);
  if (!math) throw std::runtime_error("the math library's bitcode can't be read");
  (*math)->setTargetTriple(unit.module->getTargetTriple());
  (*math)->setDataLayout(unit.module->getDataLayout());
  std::set<std::string> own, asked;
  for (const llvm::Function &f : *unit.module) (f.isDeclaration() ? asked : own).insert(f.getName().str());
  if (llvm::Linker::linkModules(*unit.module, std::move(*math), llvm::Linker::LinkOnlyNeeded))
    throw std::runtime_error("the math library doesn't link");
  bool came = false;
  if (llvm::NamedMDNode *ident = unit.module->getNamedMetadata("llvm.ident")) ident->eraseFromParent();
  for (llvm::Function &f : *unit.module) {
    if (f.isDeclaration() || own.count(f.getName().str())) continue;
    came = true;
    f.setLinkage(llvm::GlobalValue::InternalLinkage);
    // clang's attributes for a freestanding build would stand in the way of inlining.
    for (const char *name : {"target-cpu", "target-features", "tune-cpu", "frame-pointer", "no-builtins",
                             "stack-protector-buffer-size", "min-legal-vector-width"})
      f.removeFnAttr(name);
    f.removeFnAttr(llvm::Attribute::NoInline);
    f.removeFnAttr(llvm::Attribute::OptimizeNone);
    // Into the user's code only where that is optimized; kernels ask for it call by call (mark_calls).
    bool called = asked.count(f.getName().str()) > 0;
    if (options.optimizes() || !called)
      f.addFnAttr(llvm::Attribute::AlwaysInline);
    else
      f.removeFnAttr(llvm::Attribute::AlwaysInline);
  }
  return came;
}

/// In the debug and checked tiers the user's functions stay as written while the library's kernels are
/// optimized: the tier is about what a debugger sees, and an unoptimized product would take a day.
void keep_user_code(Unit &unit) {
  // Passes over the whole module would still drop arguments and turn variables into registers: what is said
  // to be used from elsewhere stays.
  std::vector<llvm::GlobalValue *> kept;
  for (const auto &[func, f] : unit.functions) {
    if (f->isDeclaration()) continue;
    f->addFnAttr(llvm::Attribute::NoInline);
    f->addFnAttr(llvm::Attribute::OptimizeNone);
    f->addFnAttr("frame-pointer", "all");
    kept.push_back(f);
  }
  for (const auto &[name, variable] : unit.variables) kept.push_back(variable);
  llvm::appendToCompilerUsed(*unit.module, kept);
}

/// A fault of this stage shows here, with the function that it made wrong, and not as a crash inside LLVM.
void check_made_code(const llvm::Module &module) {
  std::string breach;
  llvm::raw_string_ostream stream(breach);
  for (const llvm::Function &f : module)
    if (llvm::verifyFunction(f, &stream))
      throw std::logic_error("made wrong LLVM code in @" + f.getName().str() + ": " + breach);
  if (llvm::verifyModule(module, &stream)) throw std::logic_error("made wrong LLVM code: " + breach);
}

} // namespace

std::string emit_assembly(Unit &unit) {
  const spectra::Options &options = unit.spectra.options;
  std::unique_ptr<llvm::TargetMachine> machine = target_machine(options, true);
  unit.module->setTargetTriple(llvm::Triple(kTriple));
  unit.module->setDataLayout(machine->createDataLayout());
  unit.module->setPICLevel(llvm::PICLevel::BigPIC);
  unit.module->setPIELevel(llvm::PIELevel::Large);
  if (unit.debug) unit.debug->finalize();
  check_made_code(*unit.module);
  if (!options.optimizes()) keep_user_code(unit);
  bool has_library = link_math(unit) || !unit.bodies.empty();
  bool plain = !options.optimizes() && !has_library;
  if (plain) machine = target_machine(options, false);
  for (llvm::Function &f : *unit.module)
    if (!f.isDeclaration()) {
      f.addFnAttr("target-cpu", kCpu);
      f.addFnAttr("tune-cpu", "generic"); // as clang does where it is not told another
      f.addFnAttr("prefer-vector-width", "256");
      f.addFnAttr(llvm::Attribute::getWithUWTableKind(unit.context, llvm::UWTableKind::Default));
    }

  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager calls;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = options.tier != "O1";
  tuning.SLPVectorization = options.tier != "O1";
  // It is the instrumentations that make passes respect `optnone`.
  llvm::PassInstrumentationCallbacks callbacks;
  llvm::StandardInstrumentations instrumentations(unit.context, false);
  if (!options.optimizes()) instrumentations.registerCallbacks(callbacks, &modules);
  llvm::PassBuilder passes(machine.get(), tuning, std::nullopt, &callbacks);
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(calls);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, calls, modules);
  llvm::OptimizationLevel level = options.tier == "O1"   ? llvm::OptimizationLevel::O1
                                  : options.tier == "O3" ? llvm::OptimizationLevel::O3
                                                         : llvm::OptimizationLevel::O2;
  llvm::ModulePassManager pipeline = plain ? passes.buildO0DefaultPipeline(llvm::OptimizationLevel::O0)
                                           : passes.buildPerModuleDefaultPipeline(level);
  pipeline.run(*unit.module, modules);

  llvm::SmallString<0> assembly;
  llvm::raw_svector_ostream out(assembly);
  llvm::legacy::PassManager printer;
  if (machine->addPassesToEmitFile(printer, out, nullptr, llvm::CodeGenFileType::AssemblyFile))
    throw std::runtime_error("LLVM can't print assembly");
  printer.run(*unit.module);
  return std::string(assembly.str());
}

} // namespace mica::codegen
