# ergon_web(TARGET): bundles web/ with Node and embeds the bundle into TARGET, which then has ERGON_WITH_WEB. Without Node
# 18 or its packages the build goes on, and HTML export says that it is missing.
option(ERGON_WEB "build the report page (needs Node 18 or later)" ON)
function(ergon_web target)
  if(NOT ERGON_WEB)
    message(STATUS "report page: off, HTML export is missing")
    return()
  endif()
  find_program(ERGON_NODE node)
  if(NOT ERGON_NODE)
    message(STATUS "report page: Node is not installed, HTML export is missing")
    return()
  endif()
  set(web ${PROJECT_SOURCE_DIR}/web)
  execute_process(COMMAND ${PROJECT_SOURCE_DIR}/scripts/web-modules OUTPUT_VARIABLE modules RESULT_VARIABLE failed
    ERROR_VARIABLE reason OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(failed)
    message(STATUS "report page: HTML export is missing\n${reason}")
    return()
  endif()
  set(out ${CMAKE_CURRENT_BINARY_DIR}/web)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${web}/src/*)
  add_custom_command(OUTPUT ${out}/page.js ${out}/page.css
    COMMAND ${ERGON_NODE} ${web}/build.mjs ${modules} ${out}
    DEPENDS ${sources} ${web}/build.mjs ${web}/package-lock.json
    COMMENT "Bundling the report page" VERBATIM)
  add_custom_target(ergon_page DEPENDS ${out}/page.js ${out}/page.css)
  ergon_embed(${target} web ${out}/page.js ${out}/page.css)
  add_dependencies(${target} ergon_page)
  target_compile_definitions(${target} PRIVATE ERGON_WITH_WEB)
endfunction()
