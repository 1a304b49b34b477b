import Basics
import Dialogs
import Synchronization

/// Which access tokens have been seen to be good. Forgotten with the login;
/// at most `Limits.cachedUsersMax`, then begun anew.
final class TokenCache: Sendable {
  private struct Known {
    let caller: Accounts.Caller
    let until: Timestamp
  }
  private struct State {
    var callers: [[UInt8]: Known] = [:]
    var tokens: [UserID: [[UInt8]]] = [:]
    var endings: UInt64 = 0
  }
  private let state = Mutex(State())

  /// How often logins have ended, of whomever.
  var endings: UInt64 { state.withLock { $0.endings } }

  func caller(_ hash: [UInt8], now: Timestamp) -> Accounts.Caller? {
    state.withLock { state in
      guard let found = state.callers[hash], found.until > now else { return nil }
      return found.caller
    }
  }

  /// - Parameter endings: before the store was asked. Where a login has ended since, it may be this one: its token must not
  ///   live on here.
  func remember(_ hash: [UInt8], _ caller: Accounts.Caller, until: Timestamp, since endings: UInt64) {
    state.withLock { state in
      guard state.endings == endings else { return }
      if state.callers.count >= Limits.cachedUsersMax { (state.callers, state.tokens) = ([:], [:]) }
      if state.callers.updateValue(Known(caller: caller, until: until), forKey: hash) == nil {
        state.tokens[caller.user.id, default: []].append(hash)
      }
    }
  }

  func forget(user: UserID) {
    state.withLock { state in
      state.endings += 1
      for hash in state.tokens.removeValue(forKey: user) ?? [] { state.callers[hash] = nil }
    }
  }
}
