# What the program `target` says of itself, installed with it: a page of section `section` for man,
# and completions for bash and zsh.
function(baseband_manual target section)
  set(_folder ${PROJECT_BINARY_DIR}/manual)
  file(MAKE_DIRECTORY ${_folder})
  add_custom_command(TARGET ${target} POST_BUILD VERBATIM
    COMMAND $<TARGET_FILE:${target}> --manual=man > ${_folder}/${target}.${section}
    COMMAND $<TARGET_FILE:${target}> --manual=bash > ${_folder}/${target}
    COMMAND $<TARGET_FILE:${target}> --manual=zsh > ${_folder}/_${target})
  if(NOT PROJECT_IS_TOP_LEVEL)
    return()
  endif()
  include(GNUInstallDirs)
  install(FILES ${_folder}/${target}.${section}
    DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section} COMPONENT programs)
  install(FILES ${_folder}/${target}
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT programs)
  # Debian's zsh looks into another folder for what packages bring.
  install(CODE "
    set(_functions site-functions)
    if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\")
      set(_functions vendor-completions)
    endif()
    file(INSTALL ${_folder}/_${target}
      DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/zsh/\${_functions}\")"
    COMPONENT programs)
endfunction()
