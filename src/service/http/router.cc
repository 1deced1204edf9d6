#include "service/http/router.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace outbox::service {

struct Router::Node {
  std::map<std::string, std::unique_ptr<Node>, std::less<>> literals;
  std::unique_ptr<Node> parameter;
  std::map<Method, Route> routes;
};

Router::Router() : root_(std::make_unique<Node>()) {}
Router::~Router() = default;

void Router::Add(Method method, std::string pattern, Handler handler, RouteOptions options) {
  OUTBOX_CHECK(pattern.starts_with('/') && handler != nullptr);
  Route route{.pattern = std::move(pattern), .handler = std::move(handler), .options = options};
  Node* node = root_.get();
  const std::string_view path = std::string_view(route.pattern).substr(1);
  for (const std::string& segment :
       path.empty() ? std::vector<std::string>() : base::Split(path, '/')) {
    OUTBOX_CHECK(!segment.empty());
    const bool parameter = segment.front() == '{';
    OUTBOX_CHECK(!parameter || (segment.size() > 2 && segment.back() == '}'));
    if (parameter) route.names.push_back(segment.substr(1, segment.size() - 2));
    std::unique_ptr<Node>& next = parameter ? node->parameter : node->literals[segment];
    if (next == nullptr) next = std::make_unique<Node>();
    node = next.get();
  }
  OUTBOX_CHECK(node->routes.emplace(method, std::move(route)).second);
}

// Depth first, literals first. Visits each node at most once, so that no path costs more than there
// are patterns.
const Router::Node* Router::Find(const Node& node, const std::vector<std::string>& segments,
                                 std::size_t index, std::vector<std::size_t>& taken) {
  if (index == segments.size()) return node.routes.empty() ? nullptr : &node;
  if (const auto literal = node.literals.find(segments[index]); literal != node.literals.end()) {
    if (const Node* const found = Find(*literal->second, segments, index + 1, taken)) return found;
  }
  if (node.parameter == nullptr || segments[index].empty()) return nullptr;
  taken.push_back(index);
  const Node* const found = Find(*node.parameter, segments, index + 1, taken);
  if (found == nullptr) taken.pop_back();
  return found;
}

RouteMatch Router::Match(Method method, const std::vector<std::string>& segments) const {
  RouteMatch match;
  std::vector<std::size_t> taken;
  const Node* const node = Find(*root_, segments, 0, taken);
  if (node == nullptr) return match;
  auto route = node->routes.find(method);
  if (route == node->routes.end() && method == Method::kHead) {
    route = node->routes.find(Method::kGet);
  }
  if (route == node->routes.end()) {
    for (const Method known : kMethods) {
      const bool by_get = known == Method::kHead && node->routes.contains(Method::kGet);
      if (node->routes.contains(known) || by_get || known == Method::kOptions) {
        match.allowed.push_back(known);
      }
    }
    return match;
  }
  match.route = &route->second;
  for (std::size_t i = 0; i < taken.size(); ++i) {
    match.params.emplace(match.route->names[i], segments[taken[i]]);
  }
  return match;
}

std::vector<std::string> Router::Routes() const {
  std::vector<std::string> routes;
  std::vector<const Node*> open{root_.get()};
  while (!open.empty()) {
    const Node* const node = open.back();
    open.pop_back();
    for (const auto& [method, route] : node->routes) {
      routes.push_back(base::StrCat(ToString(method), " ", route.pattern));
    }
    for (const auto& [segment, next] : node->literals) open.push_back(next.get());
    if (node->parameter != nullptr) open.push_back(node->parameter.get());
  }
  std::sort(routes.begin(), routes.end());
  return routes;
}

std::string AllowText(const std::vector<Method>& methods) {
  std::vector<std::string> names;
  names.reserve(methods.size());
  for (const Method method : methods) names.emplace_back(ToString(method));
  return base::Join(names, ", ");
}

}  // namespace outbox::service
