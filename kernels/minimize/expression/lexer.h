// The words of an expression's text.
#ifndef BASEBAND_KERNELS_MINIMIZE_EXPRESSION_LEXER_H_
#define BASEBAND_KERNELS_MINIMIZE_EXPRESSION_LEXER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace baseband::minimize {

enum class TokenKind { kNumber, kName, kSymbol, kEnd };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  absl::string_view text;   // a part of the whole text; empty at its end
  double number = 0.0;      // kNumber
  bool is_integer = false;  // digits alone
  int column = 1;           // of its first byte, from 1
};

// InvalidArgument "expression, column C: MESSAGE".
absl::Status ErrorAt(int column, absl::string_view message);

// "'sin'", or "the end", as messages name it.
std::string Quoted(const Token& token);

// The tokens, kEnd last. InvalidArgument: too long a text or name, a byte that begins no token, a
// number out of double's range.
absl::StatusOr<std::vector<Token>> Tokenize(absl::string_view text);

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_EXPRESSION_LEXER_H_
