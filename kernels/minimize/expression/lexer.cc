#include "kernels/minimize/expression/lexer.h"

#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/charconv.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/minimize/expression.h"

namespace baseband::minimize {
namespace {

constexpr absl::string_view kTwoByteSymbols[] = {"<=", ">=", "==", "!=", "&&", "||"};
constexpr absl::string_view kOneByteSymbols = "+-*/^()[],<>!";

bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }
bool IsLetter(char c) { return c == '_' || absl::ascii_isalpha(static_cast<unsigned char>(c)); }

size_t SkipDigits(absl::string_view text, size_t at) {
  while (at < text.size() && IsDigit(text[at])) ++at;
  return at;
}

// The length of the number that `rest` begins with, 0 if with none.
size_t NumberLength(absl::string_view rest, bool* is_integer) {
  const size_t whole = SkipDigits(rest, 0);
  size_t end = whole;
  if (end < rest.size() && rest[end] == '.') end = SkipDigits(rest, end + 1);
  if (whole == 0 && end <= 1) return 0;
  if (end < rest.size() && (rest[end] == 'e' || rest[end] == 'E')) {
    size_t digits = end + 1;
    if (digits < rest.size() && (rest[digits] == '+' || rest[digits] == '-')) ++digits;
    if (SkipDigits(rest, digits) > digits) end = SkipDigits(rest, digits);
  }
  *is_integer = end == whole;
  return end;
}

absl::Status ReadNumber(absl::string_view text, int column, double* number) {
  const auto result = absl::from_chars(text.data(), text.data() + text.size(), *number);
  const bool is_too_large = result.ec == std::errc::result_out_of_range && *number > 1.0;
  if (!is_too_large) return absl::OkStatus();
  return ErrorAt(column, absl::StrCat("the number ", text.substr(0, 40), " is too large"));
}

size_t SymbolLength(absl::string_view rest) {
  for (const absl::string_view symbol : kTwoByteSymbols) {
    if (absl::StartsWith(rest, symbol)) return 2;
  }
  return absl::StrContains(kOneByteSymbols, rest.front()) ? 1 : 0;
}

}  // namespace

absl::Status ErrorAt(int column, absl::string_view message) {
  return absl::InvalidArgumentError(absl::StrCat("expression, column ", column, ": ", message));
}

std::string Quoted(const Token& token) {
  return token.kind == TokenKind::kEnd ? "the end"
                                       : absl::StrCat("'", token.text.substr(0, 40), "'");
}

absl::StatusOr<std::vector<Token>> Tokenize(absl::string_view text) {
  if (text.size() > kMaxTextBytes) {
    return absl::InvalidArgumentError(absl::StrCat("expression: its text has ", text.size(),
                                                   " bytes, more than ", kMaxTextBytes));
  }
  std::vector<Token> tokens;
  size_t at = 0;
  while (true) {
    while (at < text.size() && absl::ascii_isspace(static_cast<unsigned char>(text[at]))) ++at;
    Token token;
    token.column = static_cast<int>(at) + 1;
    const absl::string_view rest = text.substr(at);
    if (rest.empty()) {
      tokens.push_back(token);
      return tokens;
    }
    size_t length = NumberLength(rest, &token.is_integer);
    if (length > 0) {
      token.kind = TokenKind::kNumber;
      BASEBAND_RETURN_IF_ERROR(ReadNumber(rest.substr(0, length), token.column, &token.number));
    } else if (IsLetter(rest.front())) {
      token.kind = TokenKind::kName;
      while (length < rest.size() && (IsLetter(rest[length]) || IsDigit(rest[length]))) ++length;
      if (length > kMaxNameLength) {
        return ErrorAt(token.column, absl::StrCat("a name of ", length, " characters, more than ",
                                                  kMaxNameLength));
      }
    } else {
      token.kind = TokenKind::kSymbol;
      length = SymbolLength(rest);
      if (length == 0) {
        return ErrorAt(token.column, absl::StrCat("'", absl::CHexEscape(rest.substr(0, 1)),
                                                  "' has no meaning here"));
      }
    }
    token.text = rest.substr(0, length);
    tokens.push_back(token);
    at += length;
  }
}

}  // namespace baseband::minimize
