# Installing, and target `bundle`: every program with every library it needs, in dist/.
#
#   cmake --install BUILD --prefix /usr/local    the programs, the contract and the licence
#   cmake --build BUILD --target bundle          dist/: also tests and benches, and all shared
#                                                libraries but glibc's and the GPU driver's
include(GNUInstallDirs)

# All executables defined in `folder` and below.
function(_baseband_programs folder result)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  set(programs)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL EXECUTABLE)
      list(APPEND programs ${target})
    endif()
  endforeach()
  get_property(subfolders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(subfolder IN LISTS subfolders)
    _baseband_programs(${subfolder} below)
    list(APPEND programs ${below})
  endforeach()
  set(${result} ${programs} PARENT_SCOPE)
endfunction()

_baseband_programs(${PROJECT_SOURCE_DIR} _bundled)
if(NOT _bundled)
  return()
endif()

# DT_RPATH, not DT_RUNPATH: the libraries' own libraries have to be found beside them too.
foreach(_program IN LISTS _bundled)
  set_target_properties(${_program} PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
  target_link_options(${_program} PRIVATE LINKER:--disable-new-dtags)
endforeach()

foreach(_program basebandd basebandctl)
  if(TARGET ${_program})
    install(TARGETS ${_program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
  endif()
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/proto/baseband
  DESTINATION ${CMAKE_INSTALL_DATADIR}/baseband/proto COMPONENT programs FILES_MATCHING PATTERN *.proto)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE
  DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT programs)

install(TARGETS ${_bundled} RUNTIME_DEPENDENCY_SET bundled_libraries
  RUNTIME DESTINATION bin COMPONENT bundle EXCLUDE_FROM_ALL)
install(RUNTIME_DEPENDENCY_SET bundled_libraries
  PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread|resolv|util|anl)\\.so" "^libcuda\\.so"
                      "^libnvidia"
  LIBRARY DESTINATION lib COMPONENT bundle EXCLUDE_FROM_ALL)
install(FILES ${PROJECT_SOURCE_DIR}/deploy/BUNDLE.txt ${PROJECT_SOURCE_DIR}/LICENSE
  DESTINATION . COMPONENT bundle EXCLUDE_FROM_ALL)

add_custom_target(bundle
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${PROJECT_SOURCE_DIR}/dist
  COMMAND ${CMAKE_COMMAND} --install ${PROJECT_BINARY_DIR} --component bundle --strip
          --prefix ${PROJECT_SOURCE_DIR}/dist
  COMMENT "Bundling programs and libraries in dist/" VERBATIM)
add_dependencies(bundle ${_bundled})
