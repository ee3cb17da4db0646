// From the module of the card's kernels to PTX: link what they call, optimize, print a text for each family.
#include "device.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Linker/Linker.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/TargetParser/Triple.h>
#include <llvm/Transforms/IPO/Internalize.h>
#include <llvm/Transforms/Utils/Cloning.h>

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
// The math library and the skeletons of libmicart/device as bitcode, carried in this executable (math.s).
extern const char mica_math_nvptx[], mica_math_nvptx_end[];
extern const char mica_device_nvptx[], mica_device_nvptx_end[];
}

namespace mica::codegen {
namespace {

constexpr const char *kTriple = "nvptx64-nvidia-cuda";

/// What every generation runs, and what sm_90 runs instead.
struct Family {
  const char *section, *cpu, *features;
};
constexpr Family kFamilies[] = {{"sm_80", "sm_80", "+ptx80"}, {"sm_90a", "sm_90a", "+ptx83"}};

std::unique_ptr<llvm::TargetMachine> target_machine(const Family &family) {
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(llvm::Triple(kTriple), error);
  if (!target) throw std::runtime_error("LLVM lacks NVPTX: " + error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict; // a fused multiply-add is an operation of its own
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(llvm::Triple(kTriple), family.cpu, family.features, options,
                                  llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

/// clang's attributes of a freestanding build stand in the way of inlining, and its features would decide the
/// text's version.
void strip(llvm::Function &f) {
  for (const char *name : {"target-cpu", "target-features", "tune-cpu", "frame-pointer", "no-builtins",
                           "stack-protector-buffer-size", "min-legal-vector-width"})
    f.removeFnAttr(name);
}

void link(llvm::Module &module, const char *begin, const char *end, const char *name, bool all) {
  llvm::StringRef bytes(begin, static_cast<size_t>(end - begin));
  llvm::Expected<std::unique_ptr<llvm::Module>> library =
      llvm::parseBitcodeFile(llvm::MemoryBufferRef(bytes, name), module.getContext());
  if (!library) throw std::runtime_error(std::string(name) + ": the bitcode can't be read");
  (*library)->setTargetTriple(module.getTargetTriple());
  (*library)->setDataLayout(module.getDataLayout());
  for (llvm::Function &f : **library) strip(f);
  unsigned flags = all ? llvm::Linker::Flags::None : llvm::Linker::Flags::LinkOnlyNeeded;
  if (llvm::Linker::linkModules(module, std::move(*library), flags))
    throw std::runtime_error(std::string(name) + " doesn't link");
}

bool wants(const llvm::Module &module) {
  for (const llvm::Function &f : module)
    if (f.isDeclaration() && f.getName().starts_with("mica_") && !f.use_empty()) return true;
  return false;
}

void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager calls;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder passes(&machine);
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(calls);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, calls, modules);
  passes.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(module, modules);
}

spectra::Section print(llvm::Module &module, const Family &family, llvm::TargetMachine &machine) {
  for (llvm::Function &f : module) {
    if (f.isDeclaration()) continue;
    f.addFnAttr("target-cpu", family.cpu);
    f.addFnAttr("target-features", family.features);
  }
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream out(text);
  llvm::legacy::PassManager printer;
  if (machine.addPassesToEmitFile(printer, out, nullptr, llvm::CodeGenFileType::AssemblyFile))
    throw std::runtime_error("LLVM can't print PTX");
  printer.run(module);
  spectra::Section section{"ptx", family.section, {}};
  llvm::StringRef rest = llvm::StringRef(text).ltrim('\n');
  while (!rest.empty()) {
    auto [line, tail] = rest.split('\n');
    section.lines.push_back(line.str());
    rest = tail;
  }
  return section;
}

} // namespace

Card::Card(spectra::Module &spectra) : device(spectra, true) {
  device.module->setTargetTriple(llvm::Triple(kTriple));
  device.module->setDataLayout(target_machine(kFamilies[0])->createDataLayout());
}

llvm::Function *skeleton(Card &card, const std::string &name) {
  llvm::Module &module = *card.device.module;
  if (!module.getFunction(name)) link(module, mica_device_nvptx, mica_device_nvptx_end, "skeletons", true);
  llvm::Function *f = module.getFunction(name);
  if (!f || f->isDeclaration()) throw std::logic_error("libmicart/device has no skeleton " + name);
  return f;
}

void append_ptx(Card &card, std::vector<spectra::Section> &sections) {
  llvm::Module &module = *card.device.module;
  for (const std::string &name : card.routines) skeleton(card, name);
  if (wants(module)) link(module, mica_device_nvptx, mica_device_nvptx_end, "skeletons", false);
  if (wants(module)) link(module, mica_math_nvptx, mica_math_nvptx_end, "math", false);
  llvm::internalizeModule(module, [&](const llvm::GlobalValue &v) {
    return card.names.count(v.getName()) || card.routines.count(v.getName());
  });
  // Several units may bring the same routine: the link keeps one.
  for (const std::string &name : card.routines)
    module.getFunction(name)->setLinkage(llvm::GlobalValue::WeakODRLinkage);
  if (llvm::NamedMDNode *ident = module.getNamedMetadata("llvm.ident")) ident->eraseFromParent();
  std::string breach;
  llvm::raw_string_ostream stream(breach);
  if (llvm::verifyModule(module, &stream)) throw std::logic_error("made wrong LLVM code: " + breach);
  std::unique_ptr<llvm::TargetMachine> machine = target_machine(kFamilies[0]);
  optimize(module, *machine);
  for (const llvm::Function &f : module) // the text is whole: a name that is left has no other place to be
    if (f.isDeclaration() && !f.isIntrinsic() && !f.use_empty())
      throw std::logic_error("nothing defines " + f.getName().str() + " on the card");
  for (const Family &family : kFamilies) {
    std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module); // printing changes it
    sections.push_back(print(*copy, family, *target_machine(family)));
  }
  sections.push_back({"kernels", module.getSourceFileName(), card.places});
}

} // namespace mica::codegen
