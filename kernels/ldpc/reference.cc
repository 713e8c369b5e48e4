namespace baseband::ldpc {}
