// mica-fuse: Spectra level `grad` to level `fused`; remarks on stderr.
#include "fuse.h"
#include "spectra/stage.h"
#include "spectra/text.h"

#include <CLI/CLI.hpp>
#include <iostream>

int main(int argc, char **argv) {
  spectra::StageInfo info{
      "mica-fuse", "Groups operations into kernels and plans memory: Spectra level `grad` to level `fused`.",
      "FILE"};
  bool no_fuse = false;
  std::string remarks = "text";
  std::string report;
  auto add_options = [&](CLI::App &app) {
    app.add_flag("--no-fuse", no_fuse, "one operation a kernel; the program computes the same bits");
    app.add_option("--remarks", remarks,
                   "text, yaml, yaml:FILE or none: what was fused, and what stood in the way")
        ->type_name("HOW");
    app.add_option("--report", report, "memory: the bytes of buffers that the program needs")
        ->check(CLI::IsMember({"memory"}));
  };
  return spectra::run_stage(
      argc, argv, info, add_options, [&](const spectra::StageInput &input, std::string &output) -> int {
        bool to_yaml = remarks == "yaml" || remarks.starts_with("yaml:");
        if (!to_yaml && remarks != "text" && remarks != "none") {
          std::cerr << "mica-fuse: error: --remarks is text, yaml, yaml:FILE or none\n";
          return spectra::kExitUsage;
        }
        mica::fuse::Remarks list;
        mica::fuse::Options options{!no_fuse, &list, report == "memory"};
        struct Call {
          mica::fuse::Options &options;
          mica::fuse::Remarks &list;
          const std::string &how;
          bool to_yaml;
          bool written = true;
        } call{options, list, remarks, to_yaml};
        int code = spectra::transform_text(
            input.name, input.text, spectra::Level::grad, spectra::Level::fused,
            [](spectra::Module &module, spectra::Diag &diag, void *data) {
              Call &c = *static_cast<Call *>(data);
              bool ok = mica::fuse::fuse(module, diag, c.options);
              if (c.how == "text")
                std::cerr << c.list.as_text(module);
              else if (c.how == "yaml")
                std::cerr << c.list.as_yaml(module);
              else if (c.to_yaml)
                c.written = spectra::write_whole(c.how.substr(5), c.list.as_yaml(module), "mica-fuse");
              return ok;
            },
            &call, output);
        return code == spectra::kExitOk && !call.written ? spectra::kExitInput : code;
      });
}
