import Accounts
import Basics
import Dialogs
import ServerConfiguration

/// The texts of mails. An operator may replace them, in any language, with files in a folder: named like the cases of
/// `Name`, with the subject on the first line, an empty line, and the text.
struct MailTemplates: Hashable, Sendable {
  enum Name: String, CaseIterable, Sendable {
    /// A code for signing in or verifying an address: `{code}`, `{minutes}`, `{domain}`.
    case code = "code.txt"
    /// A link for resetting a password: `{link}` (or, without `mail.reset_url`, the token), `{user}`, `{minutes}`,
    /// `{domain}`. No mail has a name that somebody has chosen to be shown by: `{user}` is the reader's own address.
    case passwordReset = "password-reset.txt"

    /// The placeholder that the text must contain.
    var needed: String { self == .code ? "{code}" : "{link}" }

    var standard: String {
      switch self {
      case .code:
        """
        {code} is your code for {domain}

        Your code for {domain} is

            {code}

        It works once, within the next {minutes} minutes. Nobody from {domain} will ever ask
        you for it.

        If you have not asked for it, you need not do anything.

        """
      case .passwordReset:
        """
        A new password for {domain}

        Somebody, probably you, wants to set another password for the account {user} at
        {domain}. To do so use

            {link}

        once, within the next {minutes} minutes. You will be signed out everywhere.

        If you have not asked for it, you need not do anything: your password stays as it is.

        """
      }
    }
  }

  private var texts: [Name: String]

  init() { texts = Dictionary(uniqueKeysWithValues: Name.allCases.map { ($0, $0.standard) }) }

  /// Reads the templates of a folder; a missing file means the standard text.
  ///
  /// - Throws: The errors in the files.
  init(folder: String) throws(StartupError) {
    self.init()
    for name in Name.allCases {
      let path = "\(folder)/\(name.rawValue)"
      guard Files.exists(path) else { continue }
      let bytes: [UInt8]
      do throws(Files.Failure) {
        bytes = try Files.read(path, bytesMax: CodeTransportLimits.mailTemplateBytesMax)
      } catch {
        throw StartupError("mail.templates: \(path) cannot be read: \(error.reason)")
      }
      guard let text = String(validating: bytes, as: UTF8.self) else {
        throw StartupError("mail.templates: \(path) is not in UTF-8")
      }
      guard Self.parts(text).body.contains(name.needed) else {
        throw StartupError("mail.templates: \(path) does not say \(name.needed) behind its subject")
      }
      texts[name] = text
    }
  }

  func text(for outgoing: OutgoingCode, resetURL: String?, now: Timestamp) -> (subject: String, body: String) {
    let name: Name
    var values = ["domain": outgoing.domain, "user": outgoing.user ?? outgoing.to.subject]
    values["minutes"] = String(max(1, (outgoing.expires.milliseconds - now.milliseconds + 59_999) / 60_000))
    switch outgoing.content {
    case .code(let code):
      name = .code
      values["code"] = code
    case .passwordReset(let token):
      name = .passwordReset
      values["link"] = resetURL.map { $0.replacing("{token}", with: token) } ?? token
    }
    let (subject, body) = Self.parts(texts[name] ?? name.standard)
    return (Self.fill(subject, values), Self.fill(body, values))
  }

  private static func parts(_ text: String) -> (subject: String, body: String) {
    let lines = text.replacing("\r\n", with: "\n").split(separator: "\n", omittingEmptySubsequences: false)
    return (String(lines.first ?? ""), lines.dropFirst().drop { $0.isEmpty }.joined(separator: "\n"))
  }

  /// Replaces the placeholders in one pass, so that values are never expanded.
  private static func fill(_ text: String, _ values: [String: String]) -> String {
    var filled = ""
    var rest = text[...]
    while let open = rest.firstIndex(of: "{") {
      filled += rest[..<open]
      rest = rest[open...]
      guard let close = rest.firstIndex(of: "}"), let value = values[String(rest[rest.index(after: open)..<close])]
      else {
        filled.append("{")
        rest = rest.dropFirst()
        continue
      }
      filled += value
      rest = rest[rest.index(after: close)...]
    }
    return filled + rest
  }
}
