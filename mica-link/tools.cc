#include "tools.h"
#include "spectra/process.h"

#include <cstdlib>
#include <unistd.h>

namespace mica::link {
namespace {

std::string find_cuda_tool(const std::string &name) {
  std::string path = spectra::find_program(name);
  if (!path.empty()) return path;
  std::vector<std::string> folders;
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *home = std::getenv(variable)) folders.push_back(std::string(home) + "/bin");
  folders.push_back("/usr/local/cuda/bin");
  folders.push_back(spectra::own_folder() + "/../cuda/bin");
  folders.push_back(spectra::own_folder() + "/../lib/mica/cuda/bin");
  for (const std::string &folder : folders)
    if (access((folder + "/" + name).c_str(), X_OK) == 0) return folder + "/" + name;
  return {};
}

} // namespace

bool find_cuda(CudaTools &tools) {
  tools = {find_cuda_tool("ptxas"), find_cuda_tool("nvlink"), find_cuda_tool("fatbinary")};
  std::string missing;
  auto name = [&](const std::string &path, const char *tool) {
    if (path.empty()) missing += (missing.empty() ? "" : ", ") + std::string(tool);
  };
  name(tools.ptxas, "ptxas");
  name(tools.nvlink, "nvlink");
  name(tools.fatbinary, "fatbinary");
  if (missing.empty()) return true;
  complain("this program has kernels for the card, and of CUDA's tools these are missing: " + missing,
           "looked on PATH, in $CUDA_HOME/bin, /usr/local/cuda/bin and ../cuda/bin beside mica-link; install "
           "CUDA 13.0 or set "
           "CUDA_HOME, or compile with `--device cpu`");
  return false;
}

bool find_assembler(std::vector<std::string> &words) {
  std::string path = spectra::find_program("as");
  if (!path.empty()) {
    words = {path, "--64"};
    return true;
  }
  for (const char *name : {"clang-22", "clang", "cc"})
    if (path = spectra::find_program(name); !path.empty()) {
      words = {path, "-c", "-x", "assembler"};
      return true;
    }
  complain("no assembler was found", "install binutils or clang");
  return false;
}

bool find_linker(std::vector<std::string> &words) {
  for (const char *name : {"cc", "gcc", "clang-22", "clang"})
    if (std::string path = spectra::find_program(name); !path.empty()) {
      words = {path};
      return true;
    }
  complain("no C compiler was found to link with", "install gcc, or clang and binutils");
  return false;
}

bool find_runtime(std::string &path) {
  for (const char *place : {"/../lib/libmicart.a", "/../lib/mica/libmicart.a"}) {
    path = spectra::own_folder() + place;
    if (access(path.c_str(), R_OK) == 0) return true;
  }
  complain("libmicart.a was not found in ../lib beside mica-link", "build it with `make`");
  return false;
}

} // namespace mica::link
