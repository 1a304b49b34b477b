package import Basics
package import Dialogs
package import Logging

/// The running server, as operations change it.
package protocol RunningServer: Sendable {
  var logLevel: Logger.Level { get nonmutating set }
  /// The level of the configuration that is in effect.
  var configuredLogLevel: Logger.Level { get }
  /// Reads the configuration again, and applies what can be changed without a restart. A configuration with an error
  /// changes nothing.
  func reload() throws(Problem) -> ReloadServer.Output
  /// The certificates that clients get, and the state of their renewal.
  var certificates: ShowCertificates.Output { get }
  /// Orders a new certificate, and returns when it is in service.
  func renewCertificate() async throws(Problem)
  /// The backups that the server makes by itself; nil if it makes none.
  var backupStatus: BackupStatus? { get }
  /// The reason why the database is not replicated; nil if it is, or need not be.
  var replicationFailure: String? { get }
  /// The reason why the backend has not answered the last question about a message (`before_send`); nil if it has, or there is none.
  var beforeSendFailure: String? { get }
}

/// The state of the backups that the server makes by itself.
package struct BackupStatus: Sendable {
  /// The time of the newest backup; nil if there is none.
  package var last: Timestamp?
  /// The problem of the last attempt, and the time of the first one that failed; nil if it did not fail.
  package private(set) var failure: Problem?
  package private(set) var failingSince: Timestamp?

  package init(last: Timestamp?) { self.last = last }

  package mutating func fail(_ problem: Problem, at now: Timestamp) {
    failure = problem
    failingSince = failingSince ?? now
  }
}

extension AdminContext {
  /// Returns the running server.
  func running() throws(Problem) -> any RunningServer {
    guard let server else { throw Problem(.conflict, "server-absent", "No server is running.") }
    return server
  }
}
