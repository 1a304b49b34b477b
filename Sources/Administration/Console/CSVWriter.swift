/// Writes comma-separated values (RFC 4180), with lines that end in LF.
package enum CSVWriter {
  package static func line(_ fields: [String]) -> String { fields.map(field).joined(separator: ",") }

  private static func field(_ text: String) -> String {
    guard text.contains(where: { $0 == "," || $0 == "\"" || $0.isNewline }) || text.utf8.contains(0x0d) else {
      return text
    }
    return "\"" + text.replacing("\"", with: "\"\"") + "\""
  }
}
