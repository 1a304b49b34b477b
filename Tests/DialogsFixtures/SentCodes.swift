package import Accounts
package import Dialogs
import Synchronization

/// A sender that keeps what it is given.
package final class SentCodes: CodeSender {
  private let codes = Mutex<[OutgoingCode]>([])
  package let reaches: Set<Identity.Issuer>
  package init(_ reaches: Set<Identity.Issuer> = [.email, .phone]) { self.reaches = reaches }

  package func take(_ outgoing: OutgoingCode) { codes.withLock { $0.append(outgoing) } }

  /// All since the last look.
  package func taken() -> [OutgoingCode] {
    codes.withLock { codes in
      defer { codes = [] }
      return codes
    }
  }

  /// The code of the only code since the last look.
  package func code() -> String? {
    let all = taken()
    guard all.count == 1, case .code(let code) = all[0].content else { return nil }
    return code
  }

  package func token() -> String? {
    let all = taken()
    guard all.count == 1, case .passwordReset(let token) = all[0].content else { return nil }
    return token
  }
}

/// The code of a problem; nil: there was none.
package func refusal(_ body: () async throws -> Void) async -> String? {
  do {
    try await body()
    return nil
  } catch { return (error as? Problem)?.code ?? "\(error)" }
}
