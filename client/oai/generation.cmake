# Which of its interfaces the tree OAI_SRC has: the headers say it, to the compiler. Sets BO_OAI_...
include(CheckCSourceCompiles)

set(_interface PHY/CODING/nrLDPC_coding/nrLDPC_coding_interface.h)
set(_segments PHY/CODING/nrLDPC_extern.h)
foreach(_header ${_interface} ${_segments})
  if(NOT EXISTS ${OAI_SRC}/openair1/${_header})
    message(FATAL_ERROR "OAI_SRC: ${OAI_SRC}/openair1/${_header} is not there. "
      "It has to be a tree of OpenAirInterface, of v2.3.0 (July 2025) or newer")
  endif()
endforeach()

set(OAI_BUILD ${OAI_SRC}/cmake_targets/ran_build/build CACHE PATH
  "Where OpenAirInterface's tree was built: some of its headers are made there")

set(BO_OAI_INCLUDES ${OAI_BUILD} ${OAI_BUILD}/common/utils)
foreach(_folder . common common/utils common/utils/T common/utils/LOG common/utils/threadPool
        common/utils/actor common/utils/barrier common/utils/collection common/platform openair1
        openair2 openair2/COMMON executables radio/COMMON nfapi/open-nFAPI/nfapi/public_inc
        nfapi/open-nFAPI/common/public_inc nfapi/open-nFAPI/nfapi/inc)
  list(APPEND BO_OAI_INCLUDES ${OAI_SRC}/${_folder})
endforeach()
# What its own build says of these; none of it is of a structure that passes by here.
set(BO_OAI_DEFINITIONS MAX_NUM_CCs=1 NB_ANTENNAS_RX=4 NB_ANTENNAS_TX=4 NUMBER_OF_UE_MAX_NB_IoT=16)
set(BO_OAI_FLAGS -march=native -w)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY) # what is extern is in its programs
set(CMAKE_REQUIRED_INCLUDES ${BO_OAI_INCLUDES})
set(CMAKE_REQUIRED_FLAGS "-std=gnu11 -march=native -w")
list(TRANSFORM BO_OAI_DEFINITIONS PREPEND -D OUTPUT_VARIABLE CMAKE_REQUIRED_DEFINITIONS)

# _bo_has(RESULT CODE): whether this compiles behind both headers.
function(_bo_has result code)
  set(CMAKE_REQUIRED_QUIET TRUE)
  unset(${result} CACHE)
  check_c_source_compiles("
    #include \"${_interface}\"
    #include \"${_segments}\"
    ${code}
    int main(void) { return 0; }" ${result})
  if(${result})
    set(${result} 1 PARENT_SCOPE)
  else()
    set(${result} 0 PARENT_SCOPE)
  endif()
endfunction()

_bo_has(BO_OAI_HEADERS "")
if(NOT BO_OAI_HEADERS)
  message(FATAL_ERROR "OAI_SRC: the headers of ${OAI_SRC} do not compile; "
    "${CMAKE_BINARY_DIR}/CMakeFiles/CMakeError.log has the compiler's words. "
    "What OpenAirInterface needs has to be installed (libsimde-dev, for one), and headers that its "
    "build makes are looked for in OAI_BUILD, ${OAI_BUILD}")
endif()

# The parts of the interface that are the same in all generations, by their types.
_bo_has(_bo_has_common "
  int common(nrLDPC_slot_decoding_parameters_t* d, nrLDPC_slot_encoding_parameters_t* e) {
    uint32_t* done = d->TBs[0].processedSegments;
    decode_abort_t* stop = d->TBs[0].abort_decode;
    unsigned char* output = e->TBs[0].output;
    uint8_t* bits = e->TBs[0].segments[0].c;
    return d->nb_TBs + e->nb_TBs + (int)d->TBs[0].harq_unique_pid + (int)d->TBs[0].tbslbrm +
           d->TBs[0].max_ldpc_iterations + d->TBs[0].rv_index + d->TBs[0].Qm + d->TBs[0].BG +
           (int)(d->TBs[0].A + d->TBs[0].K + d->TBs[0].Z + d->TBs[0].F + d->TBs[0].C) +
           (int)(e->TBs[0].A + e->TBs[0].K + e->TBs[0].Z + e->TBs[0].F + e->TBs[0].C) +
           e->TBs[0].segments[0].E + !done + !stop + !output + !bits;
  }
  nrLDPC_coding_decoder_t nrLDPC_coding_decoder;
  nrLDPC_coding_encoder_t nrLDPC_coding_encoder;
  int32_t nrLDPC_coding_decoder(nrLDPC_slot_decoding_parameters_t* s) { return !s; }
  int32_t nrLDPC_coding_encoder(nrLDPC_slot_encoding_parameters_t* s) { return !s; }")
# v2.3.0 to the end of 2025: a structure for each segment.
_bo_has(_bo_has_segments "
  int16_t* use(nrLDPC_segment_decoding_parameters_t* s) {
    bool* first = s->d_to_be_cleared;
    short* llr = s->llr;
    uint8_t* c = s->c;
    start_meas(&s->ts_ldpc_decode);
    s->decodeSuccess = *first && s->E > 0 && llr && c;
    return s->d;
  }
  void* of(nrLDPC_TB_decoding_parameters_t* b) { return &b->segments[0].ts_ldpc_decode; }")
# 2026: arrays in the transport block.
_bo_has(_bo_has_arrays "
  int16_t* use(nrLDPC_TB_decoding_parameters_t* b) {
    bool first = b->d_to_be_cleared;
    short* llr = b->llr;
    uint8_t* c = b->c;
    start_single_meas(&b->ts_ldpc_decode[0]);
    b->decodeSuccess[0] = first && b->E + b->E2 > 0 && b->first_rE2 >= 0 && llr && c;
    return b->d;
  }")
if(_bo_has_common AND _bo_has_segments AND NOT _bo_has_arrays)
  set(BO_OAI_ARRAYS_OF_BLOCK 0)
  set(_generation "v2.3.0 / 2025: a structure for each segment")
elseif(_bo_has_common AND _bo_has_arrays AND NOT _bo_has_segments)
  set(BO_OAI_ARRAYS_OF_BLOCK 1)
  set(_generation "2026: arrays in a transport block")
else()
  execute_process(COMMAND git -C ${OAI_SRC} describe --always --tags OUTPUT_VARIABLE _version
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  message(FATAL_ERROR "OAI_SRC: ${OAI_SRC} (${_version}) has an interface of coding libraries that "
    "this plug-in does not know (common ${_bo_has_common}, segments ${_bo_has_segments}, arrays "
    "${_bo_has_arrays}). It knows those of v2.3.0 to 2025.w37, and of 2026")
endif()

_bo_has(BO_OAI_INIT_TAKES_COUNT "
  nrLDPC_coding_init_t begin;
  int32_t begin(int channels) { return channels; }")
_bo_has(BO_OAI_HAS_ENCODER32 "void* use(ldpc_interface_t* i) { return (void*)i->LDPCencoder32; }")
_bo_has(BO_OAI_UNSIGNED_BITS "
  LDPC_decoderfunc_t decode;
  int32_t decode(t_nrLDPC_dec_params* p, int8_t* l, uint8_t* b, t_nrLDPC_time_stats* t,
                 decode_abort_t* a) { return !p; }")
message(STATUS "OpenAirInterface's interface: ${_generation}")
