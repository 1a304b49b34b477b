import Crypto
import Dialogs
import FoundationEssentials

/// A plain mail in UTF-8 (RFC 5322, RFC 2045).
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
      "Date: \(Self.date(time))", "From: \(sender)", "To: \(to)", "Subject: \(Self.encoded(subject))",
      "Message-ID: <\(id)@\(host)>", "MIME-Version: 1.0", "Content-Type: text/plain; charset=utf-8",
      "Content-Transfer-Encoding: base64",
      // RFC 3834 5: nobody's holiday notice is to answer.
      "Auto-Submitted: auto-generated",
    ]
    let text = Array(body.replacing("\r\n", with: "\n").replacing("\n", with: "\r\n").utf8)
    let base64 = Array(Data(text).base64EncodedString().utf8)
    let lines = stride(from: 0, to: base64.count, by: 76).map {
      String(decoding: base64[$0..<min($0 + 76, base64.count)], as: UTF8.self)
    }
    return Array((header + [""] + lines).map { $0 + "\r\n" }.joined().utf8)
  }

  /// A header's text (RFC 2047): encoded words of at most 75 octets, no character cut; ASCII as it is.
  static func encoded(_ text: String) -> String {
    let text = text.filter { !$0.isNewline }
    if text.utf8.allSatisfy({ (0x20...0x7e).contains($0) }), !text.contains("=?"), text.utf8.count <= 60 { return text }
    var words: [String] = []
    var word: [UInt8] = []
    func flush() {
      if !word.isEmpty { words.append("=?utf-8?B?\(Data(word).base64EncodedString())?=") }
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

  /// RFC 5322 3.3, in UTC.
  static func date(_ time: Timestamp) -> String {
    let seconds = time.milliseconds / 1_000
    let (days, second) = (seconds / 86_400, seconds % 86_400)
    // Civil from days, of the Gregorian calendar, with years that begin in March.
    let shifted = days + 719_468
    let era = shifted / 146_097
    let day = shifted - era * 146_097
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365
    let ofYear = day - (365 * year + year / 4 - year / 100)
    let month = (5 * ofYear + 2) / 153
    let ofMonth = ofYear - (153 * month + 2) / 5 + 1
    let names = ["Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec", "Jan", "Feb"]
    let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(weekdays[Int(days % 7)]), \(ofMonth) \(names[Int(month)]) \(year + era * 400 + (month >= 10 ? 1 : 0)) "
      + "\(two(second / 3_600)):\(two(second / 60 % 60)):\(two(second % 60)) +0000"
  }
}

/// Names for things that must not be told by them.
enum Digest {
  static func hex(_ text: String) -> String {
    SHA256.hash(data: Array(text.utf8)).prefix(12).reduce(into: "") { text, byte in
      text += String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
    }
  }
}
