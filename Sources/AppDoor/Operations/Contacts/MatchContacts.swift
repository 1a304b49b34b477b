import Accounts
import Dialogs
import HTTPPort

/// Finds the matchable users of an address book.
enum MatchContacts: ServedOperation {
  typealias Input = ContactMatchInput
  typealias Output = PageBody<ContactMatchBody>
  static let name = "contactMatch.create"
  static let method = Method.post
  static let path = "/v1/contact-matches"

  static func perform(_ input: ContactMatchInput, _ call: RequestContext) async throws(Problem) -> Outcome<Output> {
    let caller = try call.user().user
    var keys: [[UInt8]] = []
    for (index, hash) in input.hashes.enumerated() {
      guard let key = bytes(hash) else {
        throw Problem(
          .malformed, "hash-malformed", "A hash is 64 hex digits in lower case.", field: "hashes[\(index)]")
      }
      keys.append(key)
    }
    await call.readPlace?.take()
    let found = try await call.accounts.matches(keys, for: caller)
    let texts = Dictionary(zip(keys, input.hashes)) { first, _ in first }
    return .ok(
      PageBody(
        items: found.map { ContactMatchBody(hash: texts[$0.key] ?? "", user: call.rendering.user($0.view)) }))
  }

  private static func bytes(_ hash: String) -> [UInt8]? {
    let digits = Array(hash.utf8)
    guard digits.count == 64 else { return nil }
    var bytes: [UInt8] = []
    for index in stride(from: 0, to: 64, by: 2) {
      guard let high = digit(digits[index]), let low = digit(digits[index + 1]) else { return nil }
      bytes.append(high << 4 | low)
    }
    return bytes
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x61...0x66: byte - 0x61 + 10
    default: nil
    }
  }
}
