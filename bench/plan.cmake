# Coupled planning against its figures, and pipelines for the comparison with lowtime.
add_executable(ergon_plan_bench ${CMAKE_CURRENT_LIST_DIR}/plan_bench.cpp ${CMAKE_CURRENT_LIST_DIR}/plan_instances.cpp)
target_link_libraries(ergon_plan_bench PRIVATE ergon_plan ergon_warnings)
