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

TEST(Table, AlignsWideAndCombiningCharacters) {
  Table table({{.title = "KEY", .cut = true, .width_least = 4}, {.title = "N", .right = true}});
  table.Add({{"世界世界世界"}, {"1"}});
  table.Add({{"e\u0301t\u0301"}, {"2"}});
  table.Add({{"abcdefghijkl"}, {"3"}});
  EXPECT_EQ(table.Aligned(0, false),
            "KEY           N\n"
            "世界世界世界  1\n"
            "e\u0301t\u0301            2\n"
            "abcdefghijkl  3\n");
  EXPECT_EQ(table.Aligned(9, false),
            "KEY     N\n"
            "世界…   1\n"
            "e\u0301t\u0301      2\n"
            "abcde…  3\n");
}

Table Narrowed() {
  Table table({{.title = "ID"},
               {.title = "ATTEMPTS", .brief = "ATT.", .right = true, .leave_out = 1},
               {.title = "KEY", .leave_out = 2},
               {.title = "DUE", .leave_out = 1},
               {.title = "ERROR", .cut = true, .leave_out = 3}});
  table.Add({{"0123456789"}, {"3"}, {"k"}, {""}, {"a long error text"}});
  return table;
}

TEST(Table, TakesBriefTitlesThenLeavesOutWhatIsEmptyThenCutsThenLeavesOutMore) {
  EXPECT_EQ(Narrowed().Aligned(49, false),
            "ID          ATTEMPTS  KEY  DUE  ERROR\n"
            "0123456789         3  k         a long error text\n");
  EXPECT_EQ(Narrowed().Aligned(45, false),
            "ID          ATT.  KEY  DUE  ERROR\n"
            "0123456789     3  k         a long error text\n");
  EXPECT_EQ(Narrowed().Aligned(40, false),
            "ID          ATT.  KEY  ERROR\n"
            "0123456789     3  k    a long error text\n");
  EXPECT_EQ(Narrowed().Aligned(35, false),
            "ID          ATT.  KEY  ERROR\n"
            "0123456789     3  k    a long erro…\n");
  EXPECT_EQ(Narrowed().Aligned(25, false),
            "ID          ATT.  KEY\n"
            "0123456789     3  k\n");
  EXPECT_EQ(Narrowed().Aligned(12, false), "ID\n0123456789\n");
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
  table.Add({{"\u009b2J\x7f\x9b|é"}});
  EXPECT_EQ(table.TabSeparated(), "A\nx [31m y \n 2J \uFFFD|é\n");
  EXPECT_EQ(Harmless("{\n\t1\r}", "\n\t"), "{\n\t1 }");
}

}  // namespace
}  // namespace outbox::cli
