#include "config/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace outbox::config {
namespace {

std::string Document(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream(OUTBOX_DOCS "/reference/" + name).rdbuf();
  return text.str();
}

TEST(Reference, TheDocumentationHasTheTableOfKeysWordForWord) {
  EXPECT_NE(Document("configuration.md").find(KeyReference()), std::string::npos)
      << "paste this into docs/reference/configuration.md:\n"
      << KeyReference();
}

TEST(Reference, TheDocumentationHasTheTableOfProfilesWordForWord) {
  EXPECT_NE(Document("profiles.md").find(ProfileReference()), std::string::npos)
      << "paste this into docs/reference/profiles.md:\n"
      << ProfileReference();
}

}  // namespace
}  // namespace outbox::config
