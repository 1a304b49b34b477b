import Administration
import Dialogs
import NIOCore
import NIOPosix
import ParleyServer
import ServerConfiguration

/// `parley check --compliance`: the compliance of the running server with the compliance suites.
enum Compliance {
  /// Returns the rows, with a temporary account.
  ///
  /// - Throws: A `StartupError` if no server runs or the login fails.
  static func rows(_ settings: Settings) async throws -> [ComplianceRow] {
    let server = try await AdminConnection.running(settings)
    let name = "parley-check-\(UInt64.random(in: .min ... .max))"
    let jid = "\(name)@\(settings.domains[0].name)"
    let password = Passwords.make()
    _ = try await server.call(AddUser.self, AddUser.Input(jid: jid, password: password, name: nil))
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let facts: Result<ProbeFacts, any Error>
    do {
      facts = .success(try await Probe(settings: settings, group: group).facts(user: name, password: password))
    } catch {
      facts = .failure(error)
    }
    try? await group.shutdownGracefully()
    _ = try await server.call(SetUserState.self, SetUserState.Input(jid: jid, state: .deleted))
    switch facts {
    case .success(let facts): return ComplianceSuites.rows(facts)
    case .failure(let error): throw StartupError("the server runs, and did not answer a client as expected: \(error)")
    }
  }
}
