// Names as traces carry them -> class, unit, role.
#include "kernel_name.hpp"

#include <gtest/gtest.h>

namespace ergon::work {
namespace {

using model::Unit;
using model::WorkClass;

TEST(KernelName, Classes) {
  const std::vector<std::pair<std::string, WorkClass>> all = {
      {"ampere_sgemm_128x128_tn", WorkClass::kGemm},
      {"void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_32x6_tn_align4>(...)",
       WorkClass::kGemm},
      {"sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x32", WorkClass::kGemm},
      {"nvjet_tst_64x64_64x16_2x1_2cta_v_bz_bias_TNT", WorkClass::kGemm},
      {"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x32x64_MI16x16x1_SN", WorkClass::kGemm},
      {"void gemv2T_kernel_val<int, int, float, float, float, 128, 16, 4, 4, false>",
       WorkClass::kGemm},
      {"volta_scudnn_128x64_relu_interior_nn_v1", WorkClass::kConv},
      {"void cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>(int", WorkClass::kConv},
      {"void implicit_convolve_sgemm<float, float, 1024, 6, 7, 3, 3, 5, 1, false>",
       WorkClass::kConv},
      {"void cutlass__5x_cudnn::Kernel<cutlass_tensorop_bf16_s16816fprop_optimized>",
       WorkClass::kConv},
      {"igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt64x64x16", WorkClass::kConv},
      {"void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, "
       "4>>",
       WorkClass::kAttention},
      {"fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausalP16VarSeqQ128Kv128PersistentContext",
       WorkClass::kAttention},
      {"void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, unsigned char>",
       WorkClass::kMemory},
      {"void vllm::rotary_embedding_kernel<c10::BFloat16, true>", WorkClass::kElementwise},
      {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
       "at::detail::Array<char*, 3> >",
       WorkClass::kElementwise},
      {"void at::native::reduce_kernel<128, 4, at::native::ReduceOp<float, "
       "at::native::func_wrapper_t<float>>>",
       WorkClass::kReduce},
      {"void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16, float>",
       WorkClass::kSoftmax},
      {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int, "
       "float",
       WorkClass::kNorm},
      {"void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 512, true, 1>", WorkClass::kNorm},
      {"void split_embedding_codegen_forward_unweighted_kernel<float, float>",
       WorkClass::kEmbedding},
      {"void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 2, 128, "
       "1>",
       WorkClass::kMemory},
      {"void cub::DeviceRadixSortOnesweepKernel<cub::DeviceRadixSortPolicy<long>>",
       WorkClass::kSort},
      {"void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>>",
       WorkClass::kOptimizer},
      {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", WorkClass::kCollective},
      {"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", WorkClass::kCollective},
      {"void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>",
       WorkClass::kCollective},
      {"triton_poi_fused_add_cos_sin_0", WorkClass::kFused},
      {"triton_red_fused_native_layer_norm_12", WorkClass::kFused},
      {"triton_tem_fused_mm_3", WorkClass::kGemm},
      {"_copy_page_indices_kernel", WorkClass::kUnknown},
      {"", WorkClass::kUnknown},
  };
  for (const auto& [name, kind] : all)
    EXPECT_EQ(to_string(read_kernel_name(name).kind), to_string(kind)) << name;
}

TEST(KernelName, TensorCoresAreToldFromVectorUnits) {
  const std::vector<std::pair<std::string, std::optional<Unit>>> all = {
      {"ampere_sgemm_128x128_tn", Unit::kVectorFp32},
      {"volta_sgemm_64x64_nt", Unit::kVectorFp32},
      {"cutlass_80_simt_sgemm_128x32_8x5_nn_align1", Unit::kVectorFp32},
      {"cutlass_80_tensorop_s1688gemm_64x64_32x4_nn_align1", Unit::kMatrixTf32},
      {"sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n", Unit::kMatrixTf32},
      {"cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_nn_align1", Unit::kMatrixFp16},
      {"ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn", Unit::kMatrixFp16},
      {"volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_tn", Unit::kMatrixFp16},
      {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", Unit::kMatrixFp16},
      {"sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n", Unit::kMatrixFp8},
      {"bmm_MxE4m3_MxE2m1MxE4m3_Fp32_t128x16x256u2", Unit::kMatrixFp8},
      {"cutlass_80_tensorop_i16832gemm_s8_256x128_128x3_tn_align16", Unit::kMatrixInt8},
      {"sm80_xmma_gemm_f64f64_f64f64_f64_nn", std::nullopt},
      {"cutlass_80_tensorop_d884gemm_64x64_16x4_nn_align1", Unit::kMatrixFp64},
      {"Cijk_Ailk_Bljk_SB_MT64x64x8_SN", Unit::kVectorFp32},
      {"Cijk_Alik_Bljk_HHS_BH_MT128x128x32_MI32x32x8x1_SN", Unit::kMatrixFp16},
      {"nvjet_tst_64x64_64x16_2x1_v_bz_TNT", std::nullopt},  // the operands tell
  };
  for (const auto& [name, unit] : all) EXPECT_EQ(read_kernel_name(name).unit, unit) << name;
  EXPECT_TRUE(read_kernel_name("nvjet_tst_64x64_64x16_2x1_v_bz_TNT").tensor_cores);
}

TEST(KernelName, TilesDirectionsHelpersShortcuts) {
  const KernelName tile = read_kernel_name(
      "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize256x128x64_warpgroupsize1x1x1");
  EXPECT_EQ(tile.tile_m, 256);
  EXPECT_EQ(tile.tile_n, 128);
  EXPECT_EQ(read_kernel_name("Cijk_Alik_Bljk_BBS_MT64x160x128_MI16x16x1").tile_n, 160);
  EXPECT_EQ(read_kernel_name("volta_scudnn_128x64_stridedB_interior_nn_v1").direction,
            Direction::kDataGradient);
  EXPECT_EQ(read_kernel_name("volta_scudnn_128x64_stridedB_splitK_xregs_large_nn_v1").direction,
            Direction::kWeightGradient);
  EXPECT_EQ(read_kernel_name("void cudnn::cnn::wgrad_alg0_engine<float, 128>").direction,
            Direction::kWeightGradient);
  EXPECT_EQ(read_kernel_name("void splitKreduce_kernel<float, float>").role, Role::kHelper);
  EXPECT_EQ(
      read_kernel_name("void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>").role,
      Role::kHelper);
  EXPECT_EQ(read_kernel_name("void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>")
                .shortcut,
            Shortcut::kWinograd4);
  EXPECT_EQ(read_kernel_name("cudnn_volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1")
                .shortcut,
            Shortcut::kWinograd2);
  EXPECT_EQ(
      read_kernel_name("cudnn_volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1").role,
      Role::kMain);
}

TEST(KernelName, ElementwiseKernelsSayWhatABlockHandles) {
  const KernelName v = read_kernel_name(
      "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
      "at::detail::Array<char*, 3> >(int");
  EXPECT_EQ(v.items_per_thread, 4);
  EXPECT_EQ(v.arrays, 3);
  EXPECT_EQ(v.element_bytes, 4.0);
  const KernelName e = read_kernel_name(
      "void at::native::elementwise_kernel<128, 2, "
      "at::native::gpu_kernel_impl<at::native::CUDAFunctor_add<float> >>");
  EXPECT_EQ(e.items_per_block, 256);
  EXPECT_EQ(read_kernel_name("void at::native::vectorized_elementwise_kernel<8, "
                             "at::native::FillFunctor<c10::BFloat16>, std::array<char*, 1ul> >")
                .items_per_thread,
            8);
}

}  // namespace
}  // namespace ergon::work
