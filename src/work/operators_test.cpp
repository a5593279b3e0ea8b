// Operations and bytes calculated by hand.
#include "operators.hpp"

#include <gtest/gtest.h>

// NOLINTBEGIN(bugprone-unchecked-optional-access): a test that finds nothing where something must
// be may stop there.
namespace ergon::work {
namespace {

Arguments arguments(const std::string& dims, const std::string& types,
                    const std::string& concrete = "") {
  std::string json = R"({"Input Dims":)" + dims + R"(,"Input type":)" + types;
  if (!concrete.empty()) json += R"(,"Concrete Inputs":)" + concrete;
  return read_arguments(json + "}");
}

OperatorWork work_of(const std::string& name, const Arguments& a) {
  const auto w = operator_work(name, a, std::nullopt);
  EXPECT_TRUE(w.has_value()) << name;
  return w.value_or(OperatorWork{});
}

TEST(Operators, MatrixProducts) {
  const auto mm = work_of("aten::mm", arguments("[[512,1024],[1024,64]]", R"(["float","float"])"));
  EXPECT_DOUBLE_EQ(mm.flops, 2.0 * 512 * 1024 * 64);  // 67,108,864
  EXPECT_DOUBLE_EQ(mm.flops, 67108864);
  EXPECT_DOUBLE_EQ(mm.read_bytes, (512 * 1024 + 1024 * 64) * 4);
  EXPECT_DOUBLE_EQ(mm.write_bytes, 512 * 64 * 4);
  const auto addmm =
      work_of("aten::addmm",
              arguments("[[768],[25089,3072],[3072,768],[],[]]",
                        R"(["c10::BFloat16","c10::BFloat16","c10::BFloat16","Scalar","Scalar"])"));
  EXPECT_DOUBLE_EQ(addmm.flops, 2.0 * 25089 * 3072 * 768);
  EXPECT_DOUBLE_EQ(addmm.write_bytes, 25089.0 * 768 * 2);
  const auto bmm = work_of(
      "aten::bmm", arguments("[[96,3137,3137],[96,3137,64]]", R"(["c10::Half","c10::Half"])"));
  EXPECT_DOUBLE_EQ(bmm.flops, 2.0 * 96 * 3137 * 3137 * 64);
  const auto baddbmm =
      work_of("aten::baddbmm", arguments("[[8,4,6],[8,4,5],[8,5,6],[],[]]",
                                         R"(["float","float","float","Scalar","Scalar"])"));
  EXPECT_DOUBLE_EQ(baddbmm.flops, 2 * 8 * 4 * 5 * 6);
  const auto linear =
      work_of("aten::linear", arguments("[[2,7,16],[32,16],[32]]", R"(["float","float","float"])"));
  EXPECT_DOUBLE_EQ(linear.flops, 2 * 14 * 16 * 32);
  const auto matmul =
      work_of("aten::matmul", arguments("[[5,1,4,3],[7,3,2]]", R"(["float","float"])"));
  EXPECT_DOUBLE_EQ(matmul.flops, 2 * 35 * 4 * 3 * 2);  // batches 5x1 and 7 broadcast to 35
  const auto scaled =
      work_of("aten::_scaled_mm",
              arguments("[[16,32],[32,8]]", R"(["c10::Float8_e4m3fn","c10::Float8_e4m3fn"])"));
  EXPECT_EQ(scaled.type, Type::kFloat8);
  EXPECT_FALSE(operator_work("aten::mm",
                             arguments("[[512,1024],[1000,64]]", R"(["float","float"])"),
                             std::nullopt)
                   .has_value());
  EXPECT_FALSE(operator_work("aten::mm", arguments("[[512,1024]]", R"(["float"])"), std::nullopt)
                   .has_value());
}

TEST(Operators, ConvolutionsOfResNet50) {
  // conv1: 32 x 3 x 224 x 224, 64 filters 7x7, stride 2, padding 3 -> 112 x 112.
  const auto conv1 = work_of(
      "aten::cudnn_convolution",
      arguments(
          "[[32,3,224,224],[64,3,7,7],[],[],[],[],[],[],[]]",
          R"(["float","float","ScalarList","ScalarList","ScalarList","Scalar","Scalar","Scalar","Scalar"])",
          R"(["","","[3, 3]","[2, 2]","[1, 1]","1","False","False","True"])"));
  EXPECT_DOUBLE_EQ(conv1.flops, 2.0 * 32 * 64 * 112 * 112 * 3 * 49);
  EXPECT_DOUBLE_EQ(conv1.flops, 7552892928.0);
  EXPECT_DOUBLE_EQ(conv1.write_bytes, 32.0 * 64 * 112 * 112 * 4);
  EXPECT_FALSE(conv1.three_by_three);
  // A 3x3 of stage 1, aten::convolution's order of arguments.
  const auto conv2 = work_of(
      "aten::convolution",
      arguments(
          "[[32,64,56,56],[64,64,3,3],[],[],[],[],[],[],[]]",
          R"(["float","float","","ScalarList","ScalarList","ScalarList","Scalar","ScalarList","Scalar"])",
          R"(["","","","[1, 1]","[1, 1]","[1, 1]","False","[0, 0]","1"])"));
  EXPECT_DOUBLE_EQ(conv2.flops, 2.0 * 32 * 64 * 56 * 56 * 64 * 9);
  EXPECT_TRUE(conv2.three_by_three);
  // Groups: the weight already has Cin / groups channels.
  const auto depthwise = work_of(
      "aten::convolution",
      arguments(
          "[[8,32,10,10],[32,1,3,3],[],[],[],[],[],[],[]]",
          R"(["float","float","","ScalarList","ScalarList","ScalarList","Scalar","ScalarList","Scalar"])",
          R"(["","","","[1, 1]","[1, 1]","[1, 1]","False","[0, 0]","32"])"));
  EXPECT_DOUBLE_EQ(depthwise.flops, 2.0 * 8 * 32 * 100 * 9);
  // Transposed: 1 x 16 x 5 x 5 with 16 x 8 x 2 x 2: every input element gives 8 x 4 products; the
  // output is not known here.
  const auto backward = work_of(
      "aten::convolution_backward",
      arguments(
          "[[32,128,28,28],[32,128,56,56],[128,128,3,3],[],[],[],[],[],[],[],[]]",
          R"(["float","float","float","","ScalarList","ScalarList","ScalarList","Scalar","ScalarList","Scalar",""])",
          R"(["","","","[0]","[2, 2]","[1, 1]","[1, 1]","False","[0, 0]","1","[True, True, False]"])"));
  EXPECT_DOUBLE_EQ(backward.flops, 2.0 * 32 * 128 * 28 * 28 * 128 * 9);
  EXPECT_EQ(backward.products, 2);
  const auto first_layer =
      work_of("aten::convolution_backward",
              arguments("[[32,64,112,112],[32,3,224,224],[64,3,7,7],[]]",
                        R"(["float","float","float",""])", R"(["","","","[False, True, False]"])"));
  EXPECT_EQ(first_layer.products, 1);
}

TEST(Operators, ResNet50AltogetherAsTorchvisionCountsIt) {
  // torchvision documents 4.09 G multiply-adds for one image of 224 x 224 (ResNet-50 v1.5).
  double flops = 0;
  const auto conv = [&](int cin, int cout, int size, int kernel, int stride) {
    const auto list = [](std::initializer_list<int> values, const char* separator) {
      std::string out("[");
      for (const int v : values) {
        if (out.size() > 1) out += separator;
        out += std::to_string(v);
      }
      return out += "]";
    };
    std::string dims("[");
    dims += list({1, cin, size, size}, ",") + "," + list({cout, cin, kernel, kernel}, ",") +
            ",[],[],[],[],[]]";
    const std::string pair = list({stride, stride}, ", ");
    const std::string padding = list({kernel / 2, kernel / 2}, ", ");
    flops += work_of("aten::conv2d",
                     arguments(dims, R"(["float","float","","","","",""])",
                               R"(["","","",")" + pair + R"(",")" + padding + R"(","[1, 1]","1"])"))
                 .flops;
  };
  conv(3, 64, 224, 7, 2);
  int channels = 64;
  int size = 56;
  const int blocks[] = {3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage) {
    const int width = 64 << stage;
    for (int b = 0; b < blocks[stage]; ++b) {
      const int stride = b == 0 && stage > 0 ? 2 : 1;
      conv(channels, width, size, 1, 1);
      conv(width, width, size, 3, stride);
      conv(width, 4 * width, size / stride, 1, 1);
      if (b == 0) conv(channels, 4 * width, size, 1, stride);
      channels = 4 * width;
      size /= stride;
    }
  }
  flops += work_of("aten::addmm",
                   arguments("[[1000],[1,2048],[2048,1000]]", R"(["float","float","float"])"))
               .flops;
  EXPECT_NEAR(flops / 2, 4.089e9, 0.001e9);
}

TEST(Operators, AForwardConvolutionWithoutStrideNeedsItsResult) {
  const auto a = arguments("[[32,256,56,56],[512,256,1,1],[],[],[],[],[],[],[]]",
                           R"(["float","float","","","","","","",""])");
  EXPECT_FALSE(operator_work("aten::cudnn_convolution", a, std::nullopt).has_value());
  const auto wanted = wanted_output("aten::cudnn_convolution", a);
  ASSERT_TRUE(wanted.has_value());
  EXPECT_EQ(wanted->batch, 32);
  EXPECT_EQ(wanted->channels, 512);
  const auto w = operator_work("aten::cudnn_convolution", a, Dims{32, 512, 28, 28});
  ASSERT_TRUE(w.has_value());
  EXPECT_DOUBLE_EQ(w->flops, 2.0 * 32 * 512 * 28 * 28 * 256);
  EXPECT_FALSE(operator_work("aten::cudnn_convolution", a, Dims{32, 512, 280, 28})
                   .has_value());  // larger than any padding makes
  const auto known =
      arguments("[[1,3,8,8],[4,3,3,3],[],[],[],[],[]]", R"(["float","float","","","","",""])",
                R"(["","","","[1, 1]","[1, 1]","[1, 1]","1"])");
  EXPECT_FALSE(wanted_output("aten::conv2d", known).has_value());
  EXPECT_FALSE(wanted_output("aten::mm", known).has_value());
}

TEST(Operators, Attention) {
  const std::string types =
      R"(["c10::BFloat16","c10::BFloat16","c10::BFloat16","Scalar","Scalar","Scalar","Scalar"])";
  const auto full = work_of("aten::_scaled_dot_product_flash_attention",
                            arguments("[[2,16,128,64],[2,16,256,64],[2,16,256,64],[],[],[],[]]",
                                      types, R"(["","","","0.","False","False",""])"));
  EXPECT_DOUBLE_EQ(full.flops, 4.0 * 2 * 16 * 128 * 256 * 64);
  const auto causal = work_of("aten::_scaled_dot_product_flash_attention",
                              arguments("[[2,16,128,64],[2,16,128,64],[2,16,128,64],[],[],[],[]]",
                                        types, R"(["","","","0.","True","False",""])"));
  EXPECT_DOUBLE_EQ(causal.flops, 2.0 * 2 * 16 * 128 * 128 * 64);
  const auto low = work_of("aten::_flash_attention_forward",
                           arguments("[[4,197,12,64],[4,197,12,64],[4,197,12,64]]", types));
  EXPECT_DOUBLE_EQ(low.flops, 4.0 * 4 * 12 * 197 * 197 * 64);
  const auto back =
      work_of("aten::_scaled_dot_product_flash_attention_backward",
              arguments("[[2,16,128,64],[2,16,128,64],[2,16,128,64],[2,16,128,64]]", types));
  EXPECT_DOUBLE_EQ(back.flops, 2.5 * 4.0 * 2 * 16 * 128 * 128 * 64);
  EXPECT_FALSE(operator_work("vllm::unified_attention_with_output",
                             arguments("[[888,8,64],[888,1,64],[888,1,64]]", types), std::nullopt)
                   .has_value());
}

TEST(Operators, BandwidthBoundOnes) {
  const auto add =
      work_of("aten::add", arguments("[[1024,96],[96],[]]", R"(["float","float","Scalar"])"));
  EXPECT_DOUBLE_EQ(add.read_bytes, (1024 * 96 + 96) * 4);
  EXPECT_DOUBLE_EQ(add.write_bytes, 1024 * 96 * 4);
  const auto copy =
      work_of("aten::copy_", arguments("[[100],[100],[]]", R"(["float","c10::Half","Scalar"])"));
  EXPECT_DOUBLE_EQ(copy.read_bytes, 200);
  EXPECT_DOUBLE_EQ(copy.write_bytes, 400);
  const auto fill = work_of("aten::fill_", arguments("[[1000],[]]", R"(["long int","Scalar"])"));
  EXPECT_DOUBLE_EQ(fill.read_bytes, 0);
  EXPECT_DOUBLE_EQ(fill.write_bytes, 8000);
  const auto softmax =
      work_of("aten::_softmax",
              arguments("[[8,12,64,64],[],[]]", R"(["c10::BFloat16","Scalar","Scalar"])"));
  EXPECT_DOUBLE_EQ(softmax.read_bytes + softmax.write_bytes, 2.0 * 8 * 12 * 64 * 64 * 2);
  const auto norm = work_of(
      "aten::native_layer_norm",
      arguments("[[1,141,512],[],[512],[512],[]]",
                R"(["c10::BFloat16","ScalarList","c10::BFloat16","c10::BFloat16","Scalar"])"));
  EXPECT_DOUBLE_EQ(norm.read_bytes, 141 * 512 * 2);
  const auto cat = work_of(
      "aten::cat", arguments("[[[1,1,768],[1,25088,768]],[]]", R"(["TensorList","Scalar"])"));
  EXPECT_DOUBLE_EQ(cat.read_bytes,
                   768.0 * 25089 * 4);  // the list's type is not recorded: 4 bytes an element
  const auto embedding =
      work_of("aten::embedding", arguments("[[30522,512],[1,141]]", R"(["float","long int"])"));
  EXPECT_DOUBLE_EQ(embedding.write_bytes, 141 * 512 * 4);
  EXPECT_DOUBLE_EQ(embedding.read_bytes, 141 * 512 * 4 + 141 * 8);
  const auto select =
      work_of("aten::index_select",
              arguments("[[512,512],[],[141]]", R"(["c10::BFloat16","Scalar","long int"])",
                        R"(["","0",""])"));
  EXPECT_DOUBLE_EQ(select.write_bytes, 141 * 512 * 2);
  const auto foreach_add =
      work_of("aten::_foreach_add_", arguments("[[[128,128],[128]],[[128,128],[128]],[]]",
                                               R"(["TensorList","TensorList","Scalar"])"));
  EXPECT_DOUBLE_EQ(foreach_add.read_bytes, 2.0 * (128 * 128 + 128) * 4);
  EXPECT_DOUBLE_EQ(foreach_add.write_bytes, (128 * 128 + 128) * 4);
  const auto adam = work_of(
      "aten::_fused_adamw_",
      arguments(
          "[[[10]],[[10]],[[10]],[[10]],[],[[1]]]",
          R"(["TensorList","TensorList","TensorList","TensorList","TensorList","TensorList"])"));
  EXPECT_DOUBLE_EQ(adam.read_bytes, 4 * 40 + 4);
  EXPECT_DOUBLE_EQ(adam.write_bytes, 3 * 40);
  const auto triton =
      work_of("triton_poi_fused_add_0",
              arguments("[[10,10],[10,10],[10,10],[]]", R"(["float","float","float","Scalar"])"));
  EXPECT_DOUBLE_EQ(triton.read_bytes, 1200);
  EXPECT_FALSE(operator_work("fbgemm::permute_pooled_embs", arguments("[[10]]", R"(["float"])"),
                             std::nullopt)
                   .has_value());
  EXPECT_FALSE(
      operator_work("aten::add", arguments("[[],[]]", R"(["",""])"), std::nullopt).has_value());
}

TEST(Operators, Collectives) {
  const auto all_reduce = collective_work(read_arguments(
      R"({"Collective name":"allreduce","In msg nelems":1000,"Out msg nelems":1000,"dtype":"Float","Group size":8})"));
  ASSERT_TRUE(all_reduce.has_value());
  EXPECT_DOUBLE_EQ(all_reduce->link_bytes, 2 * 4000 * 7.0 / 8);
  const auto gather = collective_work(read_arguments(
      R"({"Collective name":"_allgather_base","In msg nelems":100,"Out msg nelems":400,"dtype":"BFloat16","Group size":4})"));
  EXPECT_DOUBLE_EQ(gather->link_bytes, 800 * 0.75);
  EXPECT_FALSE(collective_work(read_arguments(R"({"Collective name":"allreduce"})")).has_value());
}

TEST(Arguments, DamageStaysUnknown) {
  for (const std::string text :
       {"", "{", "[]", "7", R"({"Input Dims": 3})", R"({"Input Dims":[["a"]],"Input type":[3]})",
        R"({"bytes":"x"})"}) {
    const Arguments a = read_arguments(text);
    EXPECT_FALSE(a.bytes.has_value()) << text;
    EXPECT_FALSE(operator_work("aten::mm", a, std::nullopt).has_value()) << text;
  }
  EXPECT_FALSE(elements({-1, 3}).has_value());
  EXPECT_FALSE(elements({1LL << 40, 1LL << 40}).has_value());
  EXPECT_EQ(integers("[1, 2]"), (Dims{1, 2}));
  EXPECT_FALSE(integers("(1, 2)").has_value());
}

TEST(Types, UsualSpellings) {
  EXPECT_EQ(type_from("c10::BFloat16"), Type::kFloat16);
  EXPECT_EQ(type_from("Float"), Type::kFloat32);
  EXPECT_EQ(type_from("long int"), Type::kInt64);
  EXPECT_EQ(type_from("c10::Float8_e4m3fn"), Type::kFloat8);
  EXPECT_EQ(type_from("Scalar"), Type::kUnknown);
}

}  // namespace
}  // namespace ergon::work
// NOLINTEND(bugprone-unchecked-optional-access)
