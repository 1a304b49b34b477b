import Basics
import Dialogs
import Synchronization

/// The cache of valid access tokens, which ends with their login; at most `AccountLimits.cachedTokensBytesMax`, then emptied.
final class TokenCache: Sendable {
  private struct Known {
    let caller: Accounts.Caller
    let until: Timestamp
  }
  private struct State {
    var callers = ByteCache<[UInt8], Known> { _, known in
      AccountLimits.cachedTokenBytes + known.caller.user.heldBytes + known.caller.device.heldBytes
    }
    var tokens: [UserID: [[UInt8]]] = [:]
    var endings: UInt64 = 0
  }
  private let state = Mutex(State())

  /// The number of ended logins, of any users.
  var endings: UInt64 { state.withLock { $0.endings } }

  func caller(_ hash: [UInt8], now: Timestamp) -> Accounts.Caller? {
    state.withLock { state in
      guard let found = state.callers[hash], found.until > now else { return nil }
      return found.caller
    }
  }

  /// Caches a token.
  ///
  /// - Parameter endings: the value before the store was read. If a login has ended since, it may be this one: its
  ///   token must not be cached.
  func remember(_ hash: [UInt8], _ caller: Accounts.Caller, until: Timestamp, since endings: UInt64) {
    state.withLock { state in
      guard state.endings == endings else { return }
      if state.callers.bytes >= AccountLimits.cachedTokensBytesMax {
        state.callers.removeAll()
        state.tokens = [:]
      }
      if state.callers[hash] == nil { state.tokens[caller.user.id, default: []].append(hash) }
      state.callers[hash] = Known(caller: caller, until: until)
    }
  }

  func forget(user: UserID) {
    state.withLock { state in
      state.endings += 1
      for hash in state.tokens.removeValue(forKey: user) ?? [] { state.callers[hash] = nil }
    }
  }
}
