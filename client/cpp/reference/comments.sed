# The headers' comments as Doxygen wants them: those before a declaration, those behind one, and what
# a header opens with. Examples, which are set off by three blanks, become code.
1s|^// |/// @file\n/// |
# A range of numbers is not the end of a sentence.
/^ *\/\//s/ \.\. / \&ndash; /g
s|^( *)//   +|\1///       |
s|^( *)//( .*)?$|\1///\2|
/^\}|^#/!s|([;,{}])  // (.*)$|\1  ///< \2|
