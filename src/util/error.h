// Errors are values: a sentence for a person, said once by the command that ends because of it.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace namesake {

struct Error {
  std::string message;
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = tl::expected<void, Error>;

inline tl::unexpected<Error> error(std::string message) {
  return tl::unexpected<Error>(Error{std::move(message)});
}

// The same failure seen from one level up: "reading x: <what happened>".
inline tl::unexpected<Error> error(const std::string& context, const Error& cause) {
  return error(context + ": " + cause.message);
}

}  // namespace namesake

#define NAMESAKE_CONCAT_(a, b) a##b
#define NAMESAKE_CONCAT(a, b) NAMESAKE_CONCAT_(a, b)

// TRY(status): leave with the error. TRY_ASSIGN(auto x, result): leave with the error or take the value.
#define TRY(expression)                                      \
  do {                                                       \
    auto try_status_ = (expression);                         \
    if (!try_status_) return tl::unexpected(std::move(try_status_).error()); \
  } while (false)
#define TRY_ASSIGN_(temporary, target, expression)                            \
  auto temporary = (expression);                                              \
  if (!temporary) return tl::unexpected(std::move(temporary).error()); \
  target = std::move(*temporary)
#define TRY_ASSIGN(target, expression) \
  TRY_ASSIGN_(NAMESAKE_CONCAT(try_result_, __LINE__), target, expression)
