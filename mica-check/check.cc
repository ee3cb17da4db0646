// Reading, checking, verifying and printing, on a stack that is deep enough for the deepest tree.
#include "check.h"

#include "checker.h"
#include "promote.h"
#include "spectra/stage.h"
#include "spectra/text.h"
#include "whole.h"

#include <exception>
#include <iostream>
#include <pthread.h>
#include <sstream>
#include <stdexcept>

namespace mica::check {
namespace {

/// Whether the program says `on gpu` anywhere. The tree is walked without recursion.
bool uses_card(const spectra::Node *root) {
  std::vector<const spectra::Node *> open{root};
  while (!open.empty()) {
    const spectra::Node *node = open.back();
    open.pop_back();
    if (node->is(spectra::NodeKind::on_gpu)) return true;
    for (const spectra::Node *child : node->children()) open.push_back(child);
  }
  return false;
}

bool promote_module(spectra::Module &module, spectra::Diag &, void *) {
  promote(module);
  return true;
}

int check_on_this_stack(const std::string &name, const std::string &text, const Flags &flags,
                        std::string &output) {
  if (flags.promote_only)
    return spectra::transform_text(name, text, spectra::Level::checked, spectra::Level::checked,
                                   promote_module, nullptr, output);
  spectra::Tree tree;
  switch (spectra::read_tree(text, name, tree, std::cerr)) {
  case spectra::TreeResult::ok: break;
  case spectra::TreeResult::wrong: return spectra::kExitInput;
  case spectra::TreeResult::cut_off: return spectra::kExitCutOff;
  }
  spectra::Module module;
  module.level = spectra::Level::checked;
  module.sources = tree.sources;
  std::string wrong;
  read_optimize(flags.optimize, module.options, wrong);
  module.options.device = !flags.device.empty() ? flags.device : uses_card(tree.root) ? "gpu" : "cpu";
  spectra::Diag diag(module.sources, std::cerr);
  Checker checker(module, diag);
  if (!checker.check_program(*tree.root) || diag.errors()) return spectra::kExitInput;
  promote(module);
  // A breach in what was made is this stage's own fault, never the user's.
  std::ostringstream breaches;
  if (!spectra::verify_module(module, "<output>", breaches)) {
    std::cerr << "mica-check: fault: the output breaks the rules of level checked:\n" << breaches.str();
    return spectra::kExitFault;
  }
  output = spectra::print_module(module);
  return spectra::kExitOk;
}

struct Job {
  const std::string &name, &text;
  const Flags &flags;
  std::string &output;
  int code = 0;
  std::exception_ptr fault;
};

void *run(void *argument) {
  Job &job = *static_cast<Job *>(argument);
  try {
    job.code = check_on_this_stack(job.name, job.text, job.flags, job.output);
  } catch (...) {
    job.fault = std::current_exception();
  }
  return nullptr;
}

} // namespace

bool read_optimize(const std::string &words, spectra::Options &options, std::string &wrong) {
  std::istringstream list(words);
  bool first = true;
  for (std::string word; std::getline(list, word, ',');) {
    if (first) {
      first = false;
      if (word != "debug" && word != "checked" && word != "O1" && word != "O2" && word != "O3" &&
          word != "release") {
        wrong = word;
        return false;
      }
      options.tier = word;
    } else if (word == "fp_tensor_float32") {
      options.fp_tensor_float32 = true;
    } else if (word == "fp_half_intermediates") {
      options.fp_half_intermediates = true;
    } else {
      wrong = word;
      return false;
    }
  }
  return !first;
}

int check_text(const std::string &name, const std::string &text, const Flags &flags, std::string &output) {
  // A tree may be 4000 levels deep, and each level takes a few calls: more than the usual stack of 8 MiB.
  constexpr size_t kStack = size_t{512} << 20;
  Job job{name, text, flags, output, 0, nullptr};
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStack);
  int failed = pthread_create(&thread, &attributes, run, &job);
  pthread_attr_destroy(&attributes);
  if (failed) throw std::runtime_error("cannot start a thread with a stack of 512 MiB");
  pthread_join(thread, nullptr);
  if (job.fault) std::rethrow_exception(job.fault);
  return job.code;
}

} // namespace mica::check
