// Whole small traces: which kernel did what, and how much of the time is known from what.
#include <gtest/gtest.h>

#include "ergon/io.hpp"
#include "ergon/work.hpp"

// NOLINTBEGIN(bugprone-unchecked-optional-access): a test that finds nothing where something must
// be may stop there.
namespace ergon::work {
namespace {

using model::index;
using model::Known;
using model::Level;
using model::Unit;
using model::WorkClass;

/// Builds a Kineto file: operators with launches inside, kernels with their correlation.
class TraceText {
 public:
  void op(const std::string& name, int start, int duration, const std::string& args) {
    event(R"("cat":"cpu_op","name":")" + name + R"(","pid":1,"tid":1)", start, duration, args);
  }
  void launch(int correlation, int start) {
    event(R"("cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1)", start, 1,
          R"("correlation":)" + std::to_string(correlation));
  }
  void kernel(const std::string& name, int correlation, int start, int duration,
              const std::string& more = "", const std::string& category = "kernel") {
    event(
        R"("cat":")" + category + R"(","name":")" + name + R"(","pid":0,"tid":7)", start, duration,
        R"("device":0,"stream":7,"context":1,"correlation":)" + std::to_string(correlation) + more);
  }
  trace::EventTable table() const {
    const std::string text = R"({"schemaVersion":1,"traceEvents":[)" + body_ + "]}";
    auto source = io::memory_source(text);
    auto t = trace::read_trace(*source);
    EXPECT_TRUE(t.has_value()) << t.error().message;
    return *std::move(t);
  }

 private:
  void event(const std::string& head, int start, int duration, const std::string& args) {
    if (!body_.empty()) body_ += ",";
    body_ += R"({"ph":"X",)" + head + R"(,"ts":)" + std::to_string(start) + R"(,"dur":)" +
             std::to_string(duration) + R"(,"args":{)" + args + "}}";
  }
  std::string body_;
};

struct Found {
  trace::EventTable table;
  std::vector<trace::EventId> events;
  Classified result;
  const Piece& named(std::string_view part) const {
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (table.name_of(events[i]).find(part) != std::string_view::npos) return result.of(i);
    }
    ADD_FAILURE() << "no " << part;
    return result.pieces.front();
  }
};

Found classified(const TraceText& text) {
  Found f{text.table(), {}, {}};
  f.events = gpu_events_of(f.table);
  f.result = classify(f.table, f.events, operators_of(f.table, f.events));
  return f;
}

constexpr const char* kMm = R"("Input Dims":[[512,1024],[1024,64]],"Input type":["float","float"])";

TEST(Classify, AProductAndItsSplitKHelper) {
  TraceText t;
  t.op("aten::mm", 0, 50, kMm);
  t.launch(1, 10);
  t.launch(2, 20);
  t.kernel("cutlass_80_tensorop_s1688gemm_64x64_16x6_nt_align4", 1, 30, 30);
  t.kernel("void splitKreduce_kernel<float, float>", 2, 60, 10);
  const Found f = classified(t);
  const Piece& main = f.named("cutlass");
  EXPECT_EQ(main.known, Known::kShapes);
  EXPECT_EQ(main.kind, WorkClass::kGemm);
  EXPECT_DOUBLE_EQ(main.work->ops[index(Unit::kMatrixTf32)]->si(), 67108864);
  EXPECT_DOUBLE_EQ(main.work->bytes[index(Level::kHbm)]->si(), 2490368);
  // Tiles of 64 x 64: 512 * 64 * 1024 * 4 B * (1/64 + 1/64), and the result.
  EXPECT_DOUBLE_EQ(main.work->bytes[index(Level::kL2)]->si(),
                   512.0 * 64 * 1024 * 4 / 32 + 512 * 64 * 4);
  EXPECT_EQ(f.named("splitK").known, Known::kClass);
  EXPECT_NE(f.named("splitK").how.find("helper of aten::mm"), std::string::npos);
  EXPECT_NEAR(f.result.shares[static_cast<std::size_t>(Known::kShapes)], 0.75, 1e-12);
  EXPECT_NEAR(f.result.shares[static_cast<std::size_t>(Known::kClass)], 0.25, 1e-12);
}

constexpr const char* kBackward =
    R"("Input Dims":[[32,128,28,28],[32,128,28,28],[128,128,3,3],[],[],[],[],[],[],[],[]],)"
    R"("Input type":["float","float","float","","","","","","","",""],)"
    R"("Concrete Inputs":["","","","[0]","[1, 1]","[1, 1]","[1, 1]","False","[0, 0]","1","[True, True, False]"])";
constexpr double kOneGradient = 2.0 * 32 * 128 * 28 * 28 * 128 * 9;

TEST(Classify, ABackwardConvolutionIsSplitByGradient) {
  TraceText t;
  t.op("aten::convolution_backward", 0, 50, kBackward);
  for (int i = 1; i <= 3; ++i) t.launch(i, 10 * i);
  t.kernel("void cudnn::detail::dgrad_engine<float, 512>", 1, 60, 10);
  t.kernel("void cudnn::cnn::wgrad_alg0_engine<float, 128>", 2, 70, 10);
  t.kernel("void cudnn::ops::scalePackedTensor_kernel<float, float>", 3, 80, 1);
  const Found f = classified(t);
  EXPECT_DOUBLE_EQ(f.named("dgrad").work->ops[index(Unit::kVectorFp32)]->si(), kOneGradient);
  EXPECT_DOUBLE_EQ(f.named("wgrad").work->ops[index(Unit::kVectorFp32)]->si(), kOneGradient);
  EXPECT_NE(f.named("wgrad").how.find("weight gradient"), std::string::npos)
      << f.named("wgrad").how;
  EXPECT_EQ(f.named("scalePacked").known, Known::kClass);
}

TEST(Classify, KernelsWithoutDirectionShareEquallyAndWinogradDoesFewerProducts) {
  TraceText t;
  t.op("aten::convolution_backward", 0, 50, kBackward);
  for (int i = 1; i <= 3; ++i) t.launch(i, 10 * i);
  t.kernel("void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>", 1, 60, 5);
  t.kernel("volta_sgemm_128x64_nn", 2, 65, 10);
  t.kernel("volta_sgemm_128x64_nt", 3, 75, 10);
  const Found f = classified(t);
  EXPECT_DOUBLE_EQ(f.named("sgemm_128x64_nn").work->ops[index(Unit::kVectorFp32)]->si(),
                   kOneGradient / 4);
  EXPECT_NE(f.named("sgemm_128x64_nn").how.find("equal shares"), std::string::npos);
  EXPECT_EQ(f.named("winograd").known, Known::kClass);
}

TEST(Classify, AConvolutionsResultIsFoundInTheNextOperator) {
  TraceText t;
  t.op("aten::cudnn_convolution", 0, 50,
       R"("Input Dims":[[32,256,56,56],[512,256,1,1],[],[]],"Input type":["float","float","",""])");
  t.launch(1, 10);
  t.op("aten::cudnn_batch_norm", 60, 20,
       R"("Input Dims":[[32,512,28,28],[512]],"Input type":["float","float"])");
  t.launch(2, 65);
  t.kernel("volta_scudnn_128x64_relu_small_nn_v1", 1, 90, 10);
  t.kernel("void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, 512, true, 1, true>", 2, 100, 10);
  const Found f = classified(t);
  EXPECT_EQ(f.named("scudnn").known, Known::kShapes);
  EXPECT_DOUBLE_EQ(f.named("scudnn").work->ops[index(Unit::kVectorFp32)]->si(),
                   2.0 * 32 * 512 * 28 * 28 * 256);
  EXPECT_DOUBLE_EQ(f.named("bn_fw").work->bytes[index(Level::kHbm)]->si(),
                   3.0 * 32 * 512 * 28 * 28 * 4);
}

TEST(Classify, WithoutAResultNearbyTheConvolutionIsKnownByClassOnly) {
  TraceText t;
  t.op("aten::cudnn_convolution", 0, 50,
       R"("Input Dims":[[32,256,56,56],[512,256,1,1],[],[]],"Input type":["float","float","",""])");
  t.launch(1, 10);
  t.kernel("volta_scudnn_128x64_relu_small_nn_v1", 1, 90, 10);
  EXPECT_EQ(classified(t).named("scudnn").known, Known::kClass);
}

TEST(Classify, TheHalvesOfAnOlderBackwardConvolutionUseTheOperatorAround) {
  TraceText t;
  t.op(
      "aten::cudnn_convolution_backward", 0, 100,
      R"("Input Dims":[[32,64,56,56],[32,64,56,56],[64,64,3,3],[]],"Input type":["float","float","float",""])");
  t.op("aten::cudnn_convolution_backward_weight", 10, 50,
       R"("Input Dims":[[],[32,64,56,56],[32,64,56,56],[]],"Input type":["","float","float",""])");
  t.launch(1, 20);
  t.kernel("void cudnn::cnn::wgrad_alg0_engine<float, 128>", 1, 120, 10);
  const Found f = classified(t);
  EXPECT_EQ(f.named("wgrad").known, Known::kShapes);
  EXPECT_DOUBLE_EQ(f.named("wgrad").work->ops[index(Unit::kVectorFp32)]->si(),
                   2.0 * 32 * 64 * 56 * 56 * 64 * 9);
}

TEST(Classify, CopiesMemsetsCollectivesAndGrids) {
  TraceText t;
  t.kernel("Memcpy HtoD (Pinned -> Device)", 1, 0, 10, R"(,"bytes":1000)", "gpu_memcpy");
  t.kernel("Memcpy DtoD (Device -> Device)", 2, 10, 10, R"(,"bytes":500)", "gpu_memcpy");
  t.kernel("Memset (Device)", 3, 20, 10, R"(,"bytes":300)", "gpu_memset");
  t.kernel(
      "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 4, 30, 10,
      R"(,"Collective name":"allreduce","In msg nelems":1000,"Out msg nelems":1000,"dtype":"Float","Group size":2)");
  t.kernel(
      "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
      "at::detail::Array<char*, 3> >(int)",
      5, 40, 10, R"(,"grid":[50176, 1, 1],"block":[128, 1, 1])");
  t.kernel("mystery", 6, 50, 10);
  const Found f = classified(t);
  EXPECT_EQ(f.named("HtoD").kind, WorkClass::kCopyHost);
  EXPECT_DOUBLE_EQ(f.named("HtoD").work->bytes[index(Level::kLink)]->si(), 1000);
  EXPECT_EQ(f.named("DtoD").kind, WorkClass::kCopyDevice);
  EXPECT_DOUBLE_EQ(f.named("DtoD").work->bytes[index(Level::kHbm)]->si(), 1000);
  EXPECT_FALSE(f.named("DtoD").work->bytes[index(Level::kLink)].has_value());
  EXPECT_DOUBLE_EQ(f.named("Memset").work->bytes[index(Level::kHbm)]->si(), 300);
  EXPECT_EQ(f.named("nccl").known, Known::kClass);
  EXPECT_DOUBLE_EQ(f.named("nccl").work->bytes[index(Level::kLink)]->si(), 4000);
  // 50,176 blocks x 128 threads x 4 elements = 25,690,112, in three arrays of floats.
  EXPECT_EQ(f.named("elementwise").known, Known::kShapes);
  EXPECT_DOUBLE_EQ(f.named("elementwise").work->bytes[index(Level::kHbm)]->si(),
                   25690112.0 * 3 * 4);
  EXPECT_EQ(f.named("mystery").known, Known::kUnknown);
  EXPECT_NEAR(f.result.shares[0] + f.result.shares[1] + f.result.shares[2] + f.result.shares[3], 1,
              1e-12);
}

TEST(Classify, OperatorsByCorrelationThenByExternalIdButNotByARepeatedCorrelation) {
  TraceText t;
  t.op("aten::mm", 0, 50, std::string(kMm) + R"(,"External id":100)");
  t.op("aten::bmm", 60, 50, R"("External id":7)");
  t.launch(1, 10);
  t.kernel("a", 1, 200, 10, R"(,"External id":7)");    // the launch lies in aten::mm
  t.kernel("b", 2, 210, 10, R"(,"External id":100)");  // no launch recorded
  t.kernel("c", 7, 220, 10, R"(,"External id":7)");    // an old file: its own correlation
  const auto table = t.table();
  const auto events = gpu_events_of(table);
  const auto operators = operators_of(table, events);
  ASSERT_EQ(events.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto name = table.name_of(events[i]);
    if (name == "a" || name == "b") {
      ASSERT_NE(operators[i], trace::kNoEvent);
      EXPECT_EQ(table.name_of(operators[i]), "aten::mm");
    } else {
      EXPECT_EQ(operators[i], trace::kNoEvent);
    }
  }
}

TEST(Classify, EqualLaunchesShareOnePiece) {
  TraceText t;
  for (int i = 0; i < 100; ++i) {
    t.op("aten::mm", 1000 * i, 50, kMm);
    t.launch(i + 1, 1000 * i + 10);
    t.kernel("ampere_sgemm_128x64_nn", i + 1, 1000 * i + 100, 30);
  }
  EXPECT_EQ(classified(t).result.pieces.size(), 1U);
}

TEST(Classify, NothingIsFine) {
  const trace::EventTable empty;
  const Classified c = classify(empty, {}, {});
  EXPECT_TRUE(c.piece.empty());
  EXPECT_EQ(c.shares[0] + c.shares[1] + c.shares[2] + c.shares[3], 0);
}

}  // namespace
}  // namespace ergon::work
// NOLINTEND(bugprone-unchecked-optional-access)
