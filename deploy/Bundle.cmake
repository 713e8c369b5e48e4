# Installing, and target `bundle`: every program with every library it needs, in dist/.
#
#   cmake --install BUILD --prefix /usr/local    the programs, the contract and the licence
#   cmake --build BUILD --target bundle          dist/: also tests and benches, and all shared
#                                                libraries but glibc's and the GPU driver's
#   cmake --install BUILD --component portable   the programs with those libraries, no tests: what
#                                                the .tar.gz and the container image are made of
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

set(_programs)
foreach(_program basebandd basebandctl basebandd-ldpc-tool)
  if(TARGET ${_program})
    list(APPEND _programs ${_program})
  endif()
endforeach()
install(TARGETS ${_programs} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
foreach(_component programs portable)
  if(_component STREQUAL portable)
    set(_only_if_asked_for EXCLUDE_FROM_ALL)
  else()
    set(_only_if_asked_for)
  endif()
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/proto/baseband
    DESTINATION ${CMAKE_INSTALL_DATADIR}/baseband/proto COMPONENT ${_component} ${_only_if_asked_for}
    FILES_MATCHING PATTERN *.proto)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE
    DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT ${_component} ${_only_if_asked_for})
endforeach()

# Component `component` gets programs and their libraries, but not those of the host they will run on.
function(_baseband_install_with_libraries component)
  install(TARGETS ${ARGN} RUNTIME_DEPENDENCY_SET libraries_of_${component}
    RUNTIME DESTINATION bin COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(RUNTIME_DEPENDENCY_SET libraries_of_${component}
    PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread|resolv|util|anl)\\.so" "^libcuda\\.so"
                        "^libnvidia"
    LIBRARY DESTINATION lib COMPONENT ${component} EXCLUDE_FROM_ALL)
endfunction()

_baseband_install_with_libraries(bundle ${_bundled})
_baseband_install_with_libraries(portable ${_programs})

# cuFFT and NVRTC are loaded by name, so that no link tells of them.
option(BASEBAND_CARRY_CUDA "With `portable` and the .tar.gz: carry cuFFT and NVRTC, 400 MB" ON)
if(BASEBAND_HAS_CUDA AND BASEBAND_CARRY_CUDA)
  file(GLOB _libraries ${CUDAToolkit_LIBRARY_DIR}/libcufft.so.* ${CUDAToolkit_LIBRARY_DIR}/libnvrtc*.so.*)
  list(FILTER _libraries INCLUDE REGEX "/lib(cufft|nvrtc)\\.so\\.[0-9]+$|/libnvrtc-builtins\\.so\\.[0-9]+\\.[0-9]+$")
  foreach(_library IN LISTS _libraries)
    get_filename_component(_file ${_library} REALPATH)
    get_filename_component(_name ${_library} NAME)
    install(FILES ${_file} RENAME ${_name}
      DESTINATION lib COMPONENT portable EXCLUDE_FROM_ALL)
  endforeach()
endif()

install(FILES ${PROJECT_SOURCE_DIR}/deploy/BUNDLE.txt ${PROJECT_SOURCE_DIR}/LICENSE
  DESTINATION . COMPONENT bundle EXCLUDE_FROM_ALL)

add_custom_target(bundle
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${PROJECT_SOURCE_DIR}/dist
  COMMAND ${CMAKE_COMMAND} --install ${PROJECT_BINARY_DIR} --component bundle --strip
          --prefix ${PROJECT_SOURCE_DIR}/dist
  COMMENT "Bundling programs and libraries in dist/" VERBATIM)
add_dependencies(bundle ${_bundled})
