import Basics
import Dialogs
import ServerConfiguration

/// A plain text mail in UTF-8 (RFC 5322, RFC 2045).
struct MailMessage {
  let from: Mailbox
  let to: String
  let subject: String
  let body: String
  let id: String
  let time: Timestamp

  var bytes: [UInt8] {
    let sender = from.name.map { "\(Self.encoded($0)) <\(from.address)>" } ?? from.address
    let host = from.address.split(separator: "@").last.map(String.init) ?? "localhost"
    let header = [
      "Date: \(CivilTime(time).mailDate)", "From: \(sender)", "To: \(to)", "Subject: \(Self.encoded(subject))",
      "Message-ID: <\(id)@\(host)>", "MIME-Version: 1.0", "Content-Type: text/plain; charset=utf-8",
      "Content-Transfer-Encoding: base64",
      // RFC 3834 5: this prevents automatic replies.
      "Auto-Submitted: auto-generated",
    ]
    let text = Array(body.replacing("\r\n", with: "\n").replacing("\n", with: "\r\n").utf8)
    let base64 = Base64.encode(text)
    let lines = stride(from: 0, to: base64.count, by: 76).map {
      String(decoding: base64[$0..<min($0 + 76, base64.count)], as: UTF8.self)
    }
    return Array((header + [""] + lines).map { $0 + "\r\n" }.joined().utf8)
  }

  /// Encodes a header's text (RFC 2047): encoded words of at most 75 octets without split characters; ASCII is
  /// unchanged.
  static func encoded(_ text: String) -> String {
    let text = text.filter { !$0.isNewline }
    if text.utf8.allSatisfy({ (0x20...0x7e).contains($0) }), !text.contains("=?"), text.utf8.count <= 60 { return text }
    var words: [String] = []
    var word: [UInt8] = []
    func flush() {
      if !word.isEmpty { words.append("=?utf-8?B?\(Base64.string(word))?=") }
      word = []
    }
    for character in text.unicodeScalars {
      let bytes = Array(String(character).utf8)
      if word.count + bytes.count > 45 { flush() }
      word += bytes
    }
    flush()
    return words.joined(separator: "\r\n ")
  }
}
