// How generations and PTX texts meet: a unit has its kernels once for sm_80 and later, and may have them
// again for sm_90a, whose instructions only that generation knows. sm_90 takes the second where there is one,
// and then no plain sm_90 image stands beside it. The sm_80 text itself goes along for cards that are not
// built yet.
#include "cubins.h"
#include "cache.h"
#include "executable.h"
#include "tools.h"

#include <algorithm>
#include <filesystem>

namespace mica::link {
namespace {

/// One PTX section of a unit, written to a file.
struct Ptx {
  std::string family; ///< sm_80, sm_90a
  std::string file;
  std::string text;
};

/// One image of the fat binary.
struct Image {
  std::string arch;            ///< sm_90a
  std::vector<size_t> sources; ///< which PTX texts
  std::string cubin;
};

bool collect(const Job &job, const std::string &folder, std::vector<Ptx> &texts) {
  for (const Unit &unit : job.units)
    for (const spectra::Section &section : unit.module.sections) {
      if (section.kind != "ptx") continue;
      Ptx ptx{section.name, folder + "/kernels" + std::to_string(texts.size()) + ".ptx", {}};
      for (const std::string &line : section.lines) ptx.text += line + "\n";
      if (!write_lines(ptx.file, section.lines)) return false;
      texts.push_back(std::move(ptx));
    }
  return true;
}

std::vector<size_t> of_family(const std::vector<Ptx> &texts, const std::string &family) {
  std::vector<size_t> found;
  for (size_t i = 0; i < texts.size(); ++i)
    if (texts[i].family == family) found.push_back(i);
  return found;
}

/// A part of the arguments' list: `--image3=kind=elf,sm=90a,file=...`.
std::string image_word(const char *kind, const std::string &arch, const std::string &file) {
  return std::string("--image3=kind=") + kind + ",sm=" + arch.substr(std::char_traits<char>::length("sm_")) +
         ",file=" + file;
}

/// ptxas for each text and generation that the cache does not hold, all at once; then nvlink where a
/// generation has several.
bool make_cubins(const Job &job, const CudaTools &tools, const std::string &folder,
                 const std::vector<Ptx> &texts, std::vector<Image> &images) {
  const Cache cache(tools.ptxas);
  std::vector<std::vector<std::string>> compile, join;
  std::vector<std::pair<std::string, std::string>> fresh; // file, key
  for (Image &image : images) {
    const bool alone = image.sources.size() == 1;
    std::vector<std::string> parts;
    for (size_t source : image.sources) {
      const std::string part = folder + "/" + image.arch + "." + std::to_string(source) + ".cubin";
      parts.push_back(part);
      const std::string key = cache.key({image.arch, alone ? "whole" : "part", texts[source].text});
      if (cache.fetch(key, part)) continue;
      std::vector<std::string> words = {tools.ptxas,        "-O3", "-arch=" + image.arch,
                                        texts[source].file, "-o",  part};
      if (!alone) words.insert(words.begin() + 1, "-c");
      compile.push_back(words);
      fresh.push_back({part, key});
    }
    image.cubin = alone ? parts[0] : folder + "/" + image.arch + ".cubin";
    if (alone) continue;
    std::vector<std::string> words = {tools.nvlink, "-arch=" + image.arch};
    words.insert(words.end(), parts.begin(), parts.end());
    words.insert(words.end(), {"-o", image.cubin});
    join.push_back(words);
  }
  if (!run_tools(job.flags, folder, compile)) return false;
  for (const auto &[file, key] : fresh) cache.store(key, file);
  return run_tools(job.flags, folder, join);
}

} // namespace

bool embed_kernels(const Job &job, const std::string &folder, std::vector<std::string> &objects) {
  std::vector<Ptx> texts;
  if (!collect(job, folder, texts)) return false;
  if (texts.empty()) return true;
  for (const Ptx &ptx : texts)
    if (ptx.family != "sm_80" && ptx.family != "sm_90a") {
      complain("a PTX section for `" + ptx.family + "`; this mica-link knows sm_80 and sm_90a");
      return false;
    }
  CudaTools tools;
  std::vector<std::string> assembler;
  if (!find_cuda(tools) || !find_assembler(assembler)) return false;

  std::vector<std::string> archs = job.flags.archs;
  if (archs.empty()) archs.assign(std::begin(kGenerations), std::end(kGenerations));
  const std::vector<size_t> common = of_family(texts, "sm_80"), hopper = of_family(texts, "sm_90a");
  std::vector<Image> images;
  for (const std::string &arch : archs) {
    const bool own = (arch == "sm_90" || arch == "sm_90a") && !hopper.empty();
    const std::vector<size_t> &sources = own ? hopper : common;
    if (!sources.empty()) images.push_back({own ? "sm_90a" : arch, sources, {}});
  }
  if (images.empty()) {
    complain("the program's kernels are for sm_90a alone, and `--arch` leaves that generation out");
    return false;
  }
  if (!make_cubins(job, tools, folder, texts, images)) return false;

  const std::string fat = folder + "/kernels.fatbin";
  std::vector<std::string> words = {tools.fatbinary, "-64", "--compress-all", "--create=" + fat};
  for (const Image &image : images) words.push_back(image_word("elf", image.arch, image.cubin));
  if (common.size() == 1 && job.flags.archs.empty())
    words.push_back(image_word("ptx", "sm_80", texts[common[0]].file));
  if (!run_tools(job.flags, folder, {words})) return false;

  std::error_code error;
  const auto size = std::filesystem::file_size(fat, error);
  const std::vector<std::string> lines = {".section .nv_fatbin,\"a\",@progbits",
                                          ".balign 64",
                                          ".globl mica_fatbin",
                                          "mica_fatbin:",
                                          ".incbin \"" + fat + "\"",
                                          ".balign 8",
                                          ".globl mica_fatbin_size",
                                          ".set mica_fatbin_size, " + std::to_string(size),
                                          ".section .note.GNU-stack,\"\",@progbits"};
  if (error || !write_lines(folder + "/fatbin.s", lines)) return false;
  std::vector<std::string> assemble_words = assembler;
  assemble_words.insert(assemble_words.end(), {folder + "/fatbin.s", "-o", folder + "/fatbin.o"});
  objects.push_back(folder + "/fatbin.o");
  return run_tools(job.flags, folder, {assemble_words});
}

} // namespace mica::link
