import Accounts
import Basics
import Crypto
import Dialogs
import ServerConfiguration
import ServerMetrics
import WebClient

/// Sends codes as mail through the operator's mail server.
struct MailCodeTransport: CodeTransport {
  let client: MailClient
  /// The sender's address, with a name if one is configured.
  let from: Mailbox
  let templates: MailTemplates
  /// A URL with `{token}`; nil if mails contain the token itself.
  let resetURL: String?
  let clock: any Clock
  let name = "mail.server"
  let way = CodeWay.mail
  let reaches: Set<Identity.Issuer> = [.email]

  func carry(_ outgoing: OutgoingCode) async throws(UndeliveredCode) {
    let to = Mailbox.mailable(outgoing.to.subject)
    let text = templates.text(for: outgoing, resetURL: resetURL, now: clock.now)
    let message = MailMessage(
      from: from, to: to, subject: text.subject, body: text.body, id: outgoing.id, time: clock.now)
    do throws(WebFailure) {
      try await client.send(Mail(from: from.address, to: to, message: message.bytes))
    } catch {
      throw UndeliveredCode(
        reason: error.description, isWorthTrying: error.kind == .unreachable || error.kind == .overloaded)
    }
  }
}

extension OutgoingCode {
  /// The id of the delivery, the same in every retry, so that a duplicate can be recognised.
  var id: String {
    let secret =
      switch content {
      case .code(let code): "code \(code)"
      case .passwordReset(let token): "reset \(token)"
      }
    let hash = SHA256.hash(data: Array("\(domain) \(to.subject) \(secret) \(expires.milliseconds)".utf8))
    return "letter-" + Hex.string(hash.prefix(12))
  }
}
