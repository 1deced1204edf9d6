// The API's description as a page for people, made of its OpenAPI document: no script, no network.
#pragma once

#include <string>
#include <string_view>

namespace outbox::service {

std::string DocsPage(std::string_view openapi);

}  // namespace outbox::service
