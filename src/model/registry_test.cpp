// Devices are found by the spellings people use and by the names traces carry.
#include <gtest/gtest.h>

#include "ergon/io.hpp"
#include "ergon/model.hpp"

namespace ergon::model {
namespace {

std::string id_of(std::string_view name) {
  const auto d = find_device(name);
  return d ? d->device.id : "error: " + d.error().message;
}

TEST(Registry, UsualSpellings) {
  const std::vector<std::pair<std::string, std::string>> all = {
      {"a100", "a100-sxm4-80gb"},
      {"A100", "a100-sxm4-80gb"},
      {"A100-SXM4-80GB", "a100-sxm4-80gb"},
      {"NVIDIA A100-SXM4-80GB", "a100-sxm4-80gb"},
      {"a100 80gb sxm", "a100-sxm4-80gb"},
      {"a100_80gb", "a100-sxm4-80gb"},
      {"A100 80 GB", "a100-sxm4-80gb"},
      {"A100 SXM4 40GB", "a100-sxm4-40gb"},
      {"a100 40 gb", "a100-sxm4-40gb"},
      {"NVIDIA A100-PG509-200", "a100-sxm4-40gb"},
      {"A100 PCIe", "a100-pcie-80gb"},
      {"NVIDIA A100 80GB PCIe", "a100-pcie-80gb"},
      {"h100", "h100-sxm"},
      {"H100-SXM5", "h100-sxm"},
      {"NVIDIA H100 80GB HBM3", "h100-sxm"},
      {"H200", "h200-sxm"},
      {"nvidia h200", "h200-sxm"},
      {"NVIDIA B200", "b200-sxm"},
      {"b200", "b200-sxm"},
      {"mi300x", "mi300x"},
      {"MI-300X", "mi300x"},
      {"AMD Instinct MI300X VF", "mi300x"},
      {"AMD Instinct MI300X", "mi300x"},
      {"L4", "l4"},
      {"nvidia l4", "l4"},
      {"4090", "rtx4090"},
      {"rtx-4090", "rtx4090"},
      {"RTX4090", "rtx4090"},
      {"GeForce RTX 4090", "rtx4090"},
      {"2080 ti", "rtx2080ti"},
      {"2080ti", "rtx2080ti"},
      {"RTX 2080 Ti", "rtx2080ti"},
      {"NVIDIA GeForce RTX 2080 Ti", "rtx2080ti"},
      {"v100", "v100-sxm2"},
      {"Tesla V100-DGXS-32GB", "v100-sxm2"},
      {"Tesla V100-SXM2-16GB", "v100-sxm2"},
      {"V100 32GB", "v100-sxm2"},
  };
  for (const auto& [name, id] : all) EXPECT_EQ(id_of(name), id) << name;
}

TEST(Registry, EveryIdNameAndAliasFindsItsOwnDevice) {
  for (const Device& d : built_in_devices()) {
    EXPECT_EQ(id_of(d.id), d.id);
    EXPECT_EQ(id_of(d.name), d.id);
    for (const auto& a : d.aliases) EXPECT_EQ(id_of(a), d.id) << a;
    for (const auto& s : d.seen_as) {
      EXPECT_EQ(id_of(s), d.id) << s;
      const auto by_trace = find_device_of_trace(s);
      ASSERT_TRUE(by_trace.has_value()) << s;
      EXPECT_EQ(by_trace->device.id, d.id) << s;
      EXPECT_TRUE(is_device(d, s)) << s;
    }
  }
}

TEST(Registry, IdsAreThoseOfTheBuiltInDevices) {
  std::vector<std::string> ids;
  for (const Device& d : built_in_devices()) ids.push_back(d.id);
  EXPECT_EQ(device_ids(), ids);
}

TEST(Registry, AWideNameSaysWhatItMeans) {
  const auto a100 = find_device("a100");
  EXPECT_NE(a100->note.find("a100 means NVIDIA A100-SXM4-80GB"), std::string::npos) << a100->note;
  EXPECT_NE(a100->note.find("a100-pcie-80gb"), std::string::npos);
  EXPECT_NE(a100->note.find("a100-sxm4-40gb"), std::string::npos);
  EXPECT_EQ(find_device("a100-sxm4-80gb")->note, "");
  EXPECT_EQ(find_device("h100")->note, "");
}

TEST(Registry, UnknownNamesListTheAcceptedOnesAndTheNearest) {
  const auto r = find_device("h1000");
  ASSERT_FALSE(r.has_value());
  EXPECT_EQ(r.error().code, Errc::kNotFound);
  EXPECT_NE(r.error().hint.find("the nearest is h100-sxm"), std::string::npos) << r.error().hint;
  for (const auto& id : device_ids()) EXPECT_NE(r.error().hint.find(id), std::string::npos) << id;
  EXPECT_EQ(find_device("ti").error().code, Errc::kNotFound);
  // Another GPU than the one that is known, and a hint of the same model, or none.
  EXPECT_NE(find_device("NVIDIA GeForce RTX 2080").error().hint.find("nearest is rtx2080ti"),
            std::string::npos);
  EXPECT_NE(find_device("H100 PCIe").error().hint.find("nearest is h100-sxm"), std::string::npos);
  EXPECT_EQ(find_device("gfx942").error().hint.find("nearest"), std::string::npos);
  EXPECT_EQ(find_device("").error().code, Errc::kNotFound);
  EXPECT_EQ(find_device("nvidia").error().code, Errc::kNotFound);
  EXPECT_EQ(find_device_of_trace("AMD Radeon Graphics").error().code, Errc::kNotFound);
  EXPECT_EQ(find_device("gb").error().code, Errc::kNotFound);
}

TEST(Registry, AmbiguousNamesAskForOne) {
  const auto r = find_device("80gb");
  ASSERT_FALSE(r.has_value());
  EXPECT_EQ(r.error().code, Errc::kNotFound);
  EXPECT_NE(r.error().message.find("may be any of"), std::string::npos);
}

TEST(Registry, FilesAreFoundByPath) {
  EXPECT_EQ(find_device("/nowhere/x.json").error().code, Errc::kIo);
  const std::string path = ::testing::TempDir() + "/ergon_device_test.json";
  Device d = find_device("a100")->device;
  d.id = "mine";
  ASSERT_TRUE(io::write_file(path, write_device(d)).has_value());
  const auto found = find_device(path);
  ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_EQ(found->device.id, "mine");
  EXPECT_EQ(found->origin, path);
  ASSERT_TRUE(io::write_file(path, "{\"schema\": 1}").has_value());
  const auto bad = find_device(path);
  EXPECT_EQ(bad.error().code, Errc::kMalformedInput);
  EXPECT_NE(bad.error().message.find(path), std::string::npos);
}

TEST(Registry, ATraceOfAnotherGpuDoesNotMatch) {
  const Device h100 = find_device("h100")->device;
  EXPECT_TRUE(is_device(h100, "NVIDIA H100 80GB HBM3"));
  EXPECT_TRUE(is_device(h100, "H100"));
  EXPECT_FALSE(is_device(h100, "NVIDIA A100-SXM4-80GB"));
  EXPECT_FALSE(is_device(find_device("a100-sxm4-40gb")->device, "NVIDIA A100-SXM4-80GB"));
  EXPECT_FALSE(is_device(find_device("v100")->device, ""));
}

}  // namespace
}  // namespace ergon::model
