import AppProtocol
import Dialogs
import WebClient

/// Hands letters to the app's backend, which sends them on as it likes: a signed POST.
struct HookCarrier: LetterCarrier {
  let url: String
  let webhook: StandardWebhook
  let client: WebClient
  let clock: any Clock
  let reaches: Set<Identity.Issuer>
  let name = "delivery.url"

  func carry(_ letter: Letter) async throws(UndeliveredLetter) {
    let now = clock.now
    let body = Self.body(of: letter, at: now)
    let headers = webhook.headers(id: letter.id, now: now, body: body)
    let answer: WebAnswer
    do throws(WebFailure) {
      answer = try await client.send(WebRequest(.post, url, headers: headers, body: .bytes(body)))
    } catch {
      throw UndeliveredLetter(
        reason: error.description, isWorthTrying: error.kind != .malformed && error.kind != .cancelled)
    }
    guard answer.isSuccess else {
      let isWorthTrying = answer.status >= 500 || answer.status == 429 || answer.status == 408
      throw UndeliveredLetter(reason: "status \(answer.status)", isWorthTrying: isWorthTrying)
    }
  }

  /// `{"type", "timestamp", "data"}`, as Standard Webhooks recommends.
  static func body(of letter: Letter, at now: Timestamp) -> [UInt8] {
    var writer = JSONWriter(capacity: 512)
    writer.beginObject()
    switch letter.content {
    case .code: writer.member("type", "code.requested")
    case .passwordReset: writer.member("type", "password-reset.requested")
    }
    writer.member("timestamp", WireTime(milliseconds: now.milliseconds))
    writer.member("data", Payload(letter))
    writer.endObject()
    return writer.bytes
  }

  private struct Payload: JSONWritable {
    let letter: Letter
    init(_ letter: Letter) { self.letter = letter }

    func write(to writer: inout JSONWriter) {
      writer.beginObject()
      writer.member("domain", letter.domain)
      writer.member("userId", letter.user)
      switch letter.to.issuer {
      case .email: writer.member("email", letter.to.subject)
      default: writer.member("phone", letter.to.subject)
      }
      switch letter.content {
      case .code(let code): writer.member("code", code)
      case .passwordReset(let token): writer.member("token", token)
      }
      writer.member("expiresAt", WireTime(milliseconds: letter.expires.milliseconds))
      writer.endObject()
    }
  }
}
