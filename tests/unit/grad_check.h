// Gradients of a program against central differences of the reference evaluator.
#pragma once
#include "eval.h"
#include "grad.h"
#include "spectra/text.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <set>
#include <sstream>

namespace mica::test {

/// A text of level checked, read twice: once as it is, once differentiated, printed, read again and verified.
class GradCheck {
public:
  explicit GradCheck(const std::string &text) {
    std::ostringstream out;
    spectra::Module module;
    good_ = spectra::read_module(text, "text", plain_, out) == spectra::ReadResult::ok &&
            spectra::verify_module(plain_, "text", out) &&
            spectra::read_module(text, "text", module, out) == spectra::ReadResult::ok;
    if (good_) {
      spectra::Diag diag(module.sources, out);
      good_ = grad::run(module, diag) && diag.errors() == 0;
      module.level = spectra::Level::grad;
      if (good_) {
        grad_text_ = spectra::print_module(module);
        good_ = spectra::verify_module(module, "grad", out) &&
                spectra::read_module(grad_text_, "grad", grad_, out) == spectra::ReadResult::ok &&
                spectra::verify_module(grad_, "grad", out);
      }
    }
    messages_ = out.str() + (good_ ? "" : grad_text_);
  }
  bool good() const { return good_; }
  const std::string &messages() const { return messages_; }
  /// The differentiated program's text.
  const std::string &text() const { return grad_text_; }

  void set(const std::string &variable, const std::vector<double> &cells) { values_[variable] = cells; }
  /// Cells drawn evenly, no two nearer than a difference can tell, and none near 0.
  void fill(const std::string &variable, unsigned seed, double low, double high) {
    std::vector<double> cells = eval::Program(plain_).get(variable);
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> draw(low, high);
    for (size_t k = 0; k < cells.size();) {
      double v = draw(random);
      bool near = std::fabs(v) < 1e-3;
      for (auto &[name, all] : values_)
        for (double other : all) near |= all.size() < 100 && std::fabs(v - other) < 1e-4;
      for (size_t j = 0; j < k && cells.size() < 100; ++j) near |= std::fabs(v - cells[j]) < 1e-4;
      if (!near) cells[k++] = v;
    }
    values_[variable] = cells;
  }

  /// What the differentiated program leaves in a variable.
  std::vector<double> gradient(const std::string &variable) {
    eval::Program program(grad_);
    load(program);
    program.run();
    return program.get(variable);
  }
  /// d loss / d variable by differences of the program as it is, of the fourth order.
  std::vector<double> difference(const std::string &variable, double h = 1e-3) {
    std::vector<double> result, &cells = values_.at(variable);
    for (double &cell : cells) {
      double at = cell, f[4];
      const double steps[4] = {-2, -1, 1, 2};
      for (int i = 0; i < 4; ++i) {
        cell = at + steps[i] * h;
        f[i] = loss();
      }
      cell = at;
      result.push_back((f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h));
    }
    return result;
  }
  /// Both, held together. Where a drawn program may jump beside the point (a branch on what is moved),
  /// differences of two widths disagree and say nothing.
  void compare(const std::string &variable, const std::string &gradient_variable, double tolerance = 1e-7,
               bool may_jump = false) {
    std::vector<double> want, got, narrow;
    try {
      want = difference(variable);
      if (may_jump) narrow = difference(variable, 3e-4);
      got = gradient(gradient_variable);
    } catch (const std::exception &e) {
      FAIL() << e.what() << '\n' << text();
    }
    ASSERT_EQ(want.size(), got.size()) << text();
    double scale = 1;
    for (double v : want) scale = std::fmax(scale, std::fabs(v));
    for (size_t k = 0; k < want.size(); ++k) {
      if (may_jump && !(std::fabs(want[k] - narrow[k]) <= tolerance * scale)) continue;
      ASSERT_NEAR(got[k], want[k], tolerance * scale)
          << "cell " << k << " of the gradient of " << variable << '\n'
          << text();
    }
  }

private:
  double loss() {
    eval::Program program(plain_);
    load(program);
    program.run();
    return program.get("loss").at(0);
  }
  void load(eval::Program &program) {
    for (const auto &[name, cells] : values_) program.set(name, cells);
  }
  spectra::Module plain_, grad_;
  std::map<std::string, std::vector<double>> values_;
  std::string messages_, grad_text_;
  bool good_ = false;
};

} // namespace mica::test
