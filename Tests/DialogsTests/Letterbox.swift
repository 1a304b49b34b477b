import Dialogs
import Synchronization

/// A courier that keeps what it is given.
final class Letterbox: Courier {
  private let letters = Mutex<[Letter]>([])
  let reaches: Set<Identity.Issuer>
  init(_ reaches: Set<Identity.Issuer> = [.email, .phone]) { self.reaches = reaches }

  func take(_ letter: Letter) { letters.withLock { $0.append(letter) } }

  /// All since the last look.
  func taken() -> [Letter] {
    letters.withLock { letters in
      defer { letters = [] }
      return letters
    }
  }

  /// The code of the only letter since the last look.
  func code() -> String? {
    let all = taken()
    guard all.count == 1, case .code(let code) = all[0].content else { return nil }
    return code
  }

  func token() -> String? {
    let all = taken()
    guard all.count == 1, case .passwordReset(let token) = all[0].content else { return nil }
    return token
  }
}

/// The code of a problem; nil: there was none.
func refusal(_ body: () async throws -> Void) async -> String? {
  do {
    try await body()
    return nil
  } catch { return (error as? Problem)?.code ?? "\(error)" }
}
