// Cubins by the hash of what they were made from, in ${XDG_CACHE_HOME:-~/.cache}/mica. A cache that can't be
// read or written is none: nothing fails because of it.
#pragma once
#include <string>
#include <vector>

namespace mica::link {

class Cache {
public:
  /// `tool` makes the cached files: another version of it (size and time of its file) has other keys.
  explicit Cache(const std::string &tool);

  std::string key(const std::vector<std::string> &parts) const;
  /// Copies the file of `key` to `path`; false where there is none.
  bool fetch(const std::string &key, const std::string &path) const;
  void store(const std::string &key, const std::string &path) const;

private:
  std::string folder_; ///< empty: no cache
  std::string stamp_;
};

/// SHA-256 (FIPS 180-4) in hexadecimal.
std::string sha256(const std::string &bytes);

} // namespace mica::link
