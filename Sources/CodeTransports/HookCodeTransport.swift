import Accounts
import Basics
import Dialogs
import JSON
import ServerConfiguration
import ServerMetrics
import WebClient

/// Passes codes to the app's backend in a signed POST; the backend delivers them.
struct HookCodeTransport: CodeTransport {
  let url: String
  let signer: WebhookSigner
  let client: WebClient
  let clock: any Clock
  let reaches: Set<Identity.Issuer>
  let name = "delivery.url"
  let way = CodeWay.backend

  func carry(_ outgoing: OutgoingCode) async throws(UndeliveredCode) {
    let now = clock.now
    let body = Self.body(of: outgoing, at: now)
    let headers = signer.headers(id: outgoing.id, now: now, body: body)
    let answer: WebAnswer
    do throws(WebFailure) {
      answer = try await client.send(WebRequest(.post, url, headers: headers, body: .bytes(body)))
    } catch {
      throw UndeliveredCode(
        reason: error.description, isWorthTrying: error.kind != .malformed && error.kind != .cancelled)
    }
    guard answer.isSuccess else {
      let isWorthTrying = answer.status >= 500 || answer.status == 429 || answer.status == 408
      throw UndeliveredCode(reason: "status \(answer.status)", isWorthTrying: isWorthTrying)
    }
  }

  /// Returns `{"type", "timestamp", "data"}`, as Standard Webhooks recommends.
  static func body(of outgoing: OutgoingCode, at now: Timestamp) -> [UInt8] {
    var writer = JSONWriter(capacity: 512)
    writer.beginObject()
    switch outgoing.content {
    case .code: writer.member("type", "code.requested")
    case .passwordReset: writer.member("type", "password-reset.requested")
    }
    writer.member("timestamp", now)
    writer.member("data", Payload(outgoing))
    writer.endObject()
    return writer.bytes
  }

  private struct Payload: JSONWritable {
    let outgoing: OutgoingCode
    init(_ outgoing: OutgoingCode) { self.outgoing = outgoing }

    func write(to writer: inout JSONWriter) {
      writer.beginObject()
      writer.member("domain", outgoing.domain)
      writer.member("userId", outgoing.user)
      switch outgoing.to.issuer {
      case .email: writer.member("email", outgoing.to.subject)
      case .phone, .external, .provider: writer.member("phone", outgoing.to.subject)
      }
      switch outgoing.content {
      case .code(let code): writer.member("code", code)
      case .passwordReset(let token): writer.member("token", token)
      }
      writer.member("expiresAt", outgoing.expires)
      writer.endObject()
    }
  }
}
