// Router: which handler answers which method and path.
//
//   router->Add(Method::kGet, "/api/v1/messages/{id}", handler);
//
// Patterns have literal segments and "{name}" segments, which take any one segment that is not
// empty. Where both fit, the literal one wins, for all methods of the path. A slash at the end is
// another path. GET also serves HEAD, and OPTIONS is answered for every path that is there.
//
// Filled by one thread before the server starts, then only read. A pattern that is malformed or
// added twice is a bug.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "service/http/method.h"
#include "service/http/request.h"
#include "service/http/response.h"

namespace outbox::service {

// Called on a worker thread, several at a time; may block until request.deadline. What it throws
// becomes a 500 that tells nothing.
using Handler = std::function<Response(const Request&)>;

struct RouteOptions {
  // Never blocks: called on the I/O thread at once, also when all workers are busy.
  bool quick = false;
  // May block, but does not wait for the workers of others: there are two for such routes alone.
  // For what tells of a server that has too much to do.
  bool apart = false;
  // Instead of the server's handle_time.
  std::optional<std::chrono::milliseconds> handle_time;
};

struct Route {
  std::string pattern;
  std::vector<std::string> names;  // of its "{name}" segments, in order
  Handler handler;
  RouteOptions options;
};

struct RouteMatch {
  const Route* route = nullptr;  // lives as long as the router
  PathParams params;
  // Without a route: the methods that the path has. None: there is no such path.
  std::vector<Method> allowed;
};

class Router {
 public:
  Router();
  ~Router();
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;

  void Add(Method method, std::string pattern, Handler handler, RouteOptions options = {});

  // `segments` as SplitPath makes them.
  RouteMatch Match(Method method, const std::vector<std::string>& segments) const;

  // What was added: "GET /api/v1/messages/{id}", sorted.
  std::vector<std::string> Routes() const;

 private:
  struct Node;

  static const Node* Find(const Node& node, const std::vector<std::string>& segments,
                          std::size_t index, std::vector<std::size_t>& taken);

  std::unique_ptr<Node> root_;
};

// "GET, HEAD, OPTIONS"
std::string AllowText(const std::vector<Method>& methods);

}  // namespace outbox::service
