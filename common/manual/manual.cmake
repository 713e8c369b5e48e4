# What the program `target` says of itself, installed with it: a page of section `section` for man,
# and completions for bash and zsh. A cross build has none: its programs do not run here.
function(baseband_manual target section)
  if(NOT PROJECT_IS_TOP_LEVEL OR CMAKE_CROSSCOMPILING)
    return()
  endif()
  set(_folder ${PROJECT_BINARY_DIR}/manual)
  set(_man ${_folder}/${target}.${section})
  set(_bash ${_folder}/${target})
  set(_zsh ${_folder}/_${target})
  file(MAKE_DIRECTORY ${_folder})
  add_custom_command(OUTPUT ${_man} ${_bash} ${_zsh} DEPENDS ${target} VERBATIM
    COMMAND ${target} --manual=man > ${_man}
    COMMAND ${target} --manual=bash > ${_bash}
    COMMAND ${target} --manual=zsh > ${_zsh})
  add_custom_target(${target}_manual ALL DEPENDS ${_man} ${_bash} ${_zsh})

  include(GNUInstallDirs)
  install(FILES ${_man} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section} COMPONENT programs)
  install(FILES ${_bash} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
    COMPONENT programs)
  # Debian's zsh looks into another folder for what packages bring.
  install(CODE "
    set(_functions site-functions)
    if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\")
      set(_functions vendor-completions)
    endif()
    file(INSTALL ${_zsh}
      DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/zsh/\${_functions}\")"
    COMPONENT programs)
endfunction()
