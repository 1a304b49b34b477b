public import Addresses

/// What a failure says about the account.
public enum AuthenticationFault: Sendable, Equatable {
  /// The attempt failed before a password was at stake.
  case mechanism
  /// The password was wrong, or the user unknown: counts against the name and the address of the client.
  case password(username: String)
  /// The password was right but did not help (RFC 6120 6.5.2, 6.5.3, 6.5.6).
  case account(username: String)
  /// The server's own trouble.
  case server
}

/// What the machine asks for, or has sent. A question is answered by the event that it names.
public enum AuthenticationOutput: Sendable, Equatable {
  /// Nothing to do: an answer came too late.
  case nothing
  /// Send `<challenge/>` with these bytes.
  case challenge([UInt8])
  /// Fetch the keys of a user, prepared name, and answer with `credentialsFound`.
  case needCredentials(username: String, mechanism: SCRAMMechanism, attempt: Int)
  /// Verify a password off the loop and answer with `passwordVerified`. An unknown user must cost the same time.
  case verifyPassword(username: String, password: Password, attempt: Int)
  /// Say which of these upgrades the user has no keys for with `upgradesFound` (XEP-0480). Their password was proved by
  /// the mechanism last asked for with `needCredentials`.
  case needUpgrades([SCRAMMechanism], username: String, attempt: Int)
  /// Send `<continue/>` with this task, and with these bytes.
  case upgrade(SCRAMMechanism, [UInt8]?)
  /// Send `<task-data/>` with salt and iterations.
  case taskData(SCRAMUpgrade)
  /// Store the keys of this, durably, if the user's others are still those the proof was checked with, and answer with
  /// `upgradeStored`.
  case storeUpgrade(SCRAMUpgrade, SaltedPassword, username: String, attempt: Int)
  /// Look for the token of a client that fits, and answer with `tokenVerified`.
  indirect case verifyToken(TokenProof, attempt: Int)
  /// Look for an access token, and answer with `bearerVerified`.
  case verifyBearer(Password, attempt: Int)
  /// Make a guest, and answer with `guestMade`.
  case needGuest(attempt: Int)
  /// Send `<success/>` with these bytes; the stream restarts (RFC 6120 6.4.6). Nil means no additional data.
  case success(BareJID, [UInt8]?)
  /// Send `<failure/>`; the client may try again.
  case failure(SASLFailure, AuthenticationFault)
  /// Too many attempts (RFC 6120 6.4.5).
  case close(StreamError)
}
