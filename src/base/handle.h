// UniqueHandle: RAII for C handles. Pointer-sized; the destroy function is part of the type.
//
//   using ResultHandle = base::UniqueHandle<PGresult, PQclear>;
#pragma once

#include <memory>

namespace outbox::base {

template <auto Destroy>
struct HandleDeleter {
  template <typename T>
  void operator()(T* handle) const noexcept {
    Destroy(handle);
  }
};

template <typename T, auto Destroy>
using UniqueHandle = std::unique_ptr<T, HandleDeleter<Destroy>>;

}  // namespace outbox::base
