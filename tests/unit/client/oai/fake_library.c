/* A coding library, of slots or of segments, that answers who it is. */
int LDPCdecoder(void);
int nrLDPC_coding_decoder(void);

#ifdef HAS_SEGMENTS
int LDPCinit(void);
int LDPCinit(void) { return 0; }
int LDPCdecoder(void) { return 7; }
int LDPCencoder(void);
int LDPCencoder(void) { return 8; }
#endif

#ifdef HAS_SLOTS
int LDPCdecoder(void) { return 70; } /* without an encoder: no library of segments */
int nrLDPC_coding_decoder(void) { return LDPCdecoder() + 1; } /* its own, whoever else has one */
int nrLDPC_coding_encoder(void);
int nrLDPC_coding_encoder(void) { return 72; }
#endif
