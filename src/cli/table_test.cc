#include "cli/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace outbox::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Table Sample() {
  Table table(
      {{.title = "TOPIC", .cut = true}, {.title = "COUNT", .right = true}, {.title = "AGE"}});
  table.Add({{"orders.order.created.v1"}, {"7", Style::kBad}, {"3m"}});
  table.Add({{"é.b"}, {"12345"}, {"now"}});
  return table;
}

TEST(Table, AlignsColumnsByCharactersNotBytes) {
  EXPECT_EQ(Sample().Aligned(0, false),
            "TOPIC                    COUNT  AGE\n"
            "orders.order.created.v1      7  3m\n"
            "é.b                      12345  now\n");
}

TEST(Table, CutsTheColumnThatMayBeCut) {
  EXPECT_EQ(Sample().Aligned(24, false),
            "TOPIC         COUNT  AGE\n"
            "orders.orde…      7  3m\n"
            "é.b           12345  now\n");
}

TEST(Table, ColoursOnlyWhenAskedTo) {
  EXPECT_THAT(Sample().Aligned(0, true), HasSubstr("\x1b[31m7\x1b[0m"));
  EXPECT_THAT(Sample().Aligned(0, false), Not(HasSubstr("\x1b")));
}

TEST(Table, IsTabSeparatedForPipes) {
  EXPECT_EQ(Sample().TabSeparated(),
            "TOPIC\tCOUNT\tAGE\norders.order.created.v1\t7\t3m\né.b\t12345\tnow\n");
}

TEST(Table, LetsNoControlCharacterThrough) {
  Table table({{.title = "A"}});
  table.Add({{"x\x1b[31m\ty\n"}});
  EXPECT_EQ(table.TabSeparated(), "A\nx [31m y \n");
}

}  // namespace
}  // namespace outbox::cli
