public import Addresses

/// The meaning of a failure for the account.
public enum AuthenticationFault: Sendable, Equatable {
  /// The attempt failed before a password was tried.
  case mechanism
  /// The password was wrong, or the user unknown: it counts against the name and the address of the client.
  case password(username: String)
  /// The password was right but did not suffice (RFC 6120 6.5.2, 6.5.3, 6.5.6).
  case account(username: String)
  /// The server had a problem.
  case server
}

/// A question of the machine, or something to send. A question is answered by the event that it names.
public enum AuthenticationOutput: Sendable, Equatable {
  /// Nothing to do: an answer came too late.
  case nothing
  /// Send `<challenge/>` with these bytes.
  case challenge([UInt8])
  /// Fetch the keys of a user, prepared name, and answer with `credentials`.
  case needCredentials(username: String, mechanism: SCRAMMechanism, attempt: Int)
  /// Verify a password off the loop and answer with `password`. An unknown user must cost the same time.
  case verifyPassword(username: String, password: Password, attempt: Int)
  /// Answer which of these upgrades the user has no keys for with `upgrades` (XEP-0480). The password was proved
  /// by the mechanism of the last `needCredentials`.
  case needUpgrades([SCRAMMechanism], username: String, attempt: Int)
  /// Send `<continue/>` with this task, and with these bytes.
  case upgrade(SCRAMMechanism, [UInt8]?)
  /// Send `<task-data/>` with salt and iterations.
  case taskData(SCRAMUpgrade)
  /// Store these keys, durably, if the user's others are still those that the proof was checked with, and answer with
  /// `upgrade`.
  case storeUpgrade(SCRAMUpgrade, SaltedPassword, username: String, attempt: Int)
  /// Look for a client's token that fits, and answer with `token`.
  indirect case verifyToken(TokenProof, attempt: Int)
  /// Look for an access token, and answer with `bearer`.
  case verifyBearer(Password, attempt: Int)
  /// Create a guest, and answer with `guest`.
  case needGuest(attempt: Int)
  /// Send `<success/>` with these bytes, if any; the stream restarts (RFC 6120 6.4.6).
  case success(BareJID, [UInt8]?)
  /// Send `<failure/>`; the client may try again.
  case failure(SASLFailure, AuthenticationFault)
  /// Close the stream after too many attempts (RFC 6120 6.4.5).
  case close(StreamError)
}
