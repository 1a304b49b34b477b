import Basics

/// Writes comma-separated values (RFC 4180), with lines that end in LF.
package enum CSVWriter {
  /// Returns a line without its end.
  ///
  /// - Parameter isForTerminal: whether people read it, with escapes in place of control characters. A file has them as they
  ///   are, so that it can be imported.
  package static func line(_ fields: [String], isForTerminal: Bool = false) -> String {
    let line = fields.map(field).joined(separator: ",")
    return isForTerminal ? Line.safe(line) : line
  }

  private static func field(_ text: String) -> String {
    guard text.contains(where: { $0 == "," || $0 == "\"" || $0.isNewline }) || text.utf8.contains(0x0d) else {
      return text
    }
    return "\"" + text.replacing("\"", with: "\"\"") + "\""
  }

  /// Returns a text of a user's as a field that no spreadsheet takes for a formula: behind an apostrophe, which `plain`
  /// removes. What has one there already gets another, so that every text comes back as it was.
  package static func text(_ text: String) -> String { isFormula(text) ? "'" + text : text }

  /// Returns the text of a field.
  package static func plain(_ field: String) -> String {
    field.utf8.first == UInt8(ascii: "'") && isFormula(field) ? String(field.unicodeScalars.dropFirst()) : field
  }

  /// Whether a text begins with a sign with which formulas begin, behind any number of apostrophes.
  private static func isFormula(_ text: String) -> Bool {
    text.unicodeScalars.first { $0 != "'" }.map { "=+-@\t\r".unicodeScalars.contains($0) } ?? false
  }
}
