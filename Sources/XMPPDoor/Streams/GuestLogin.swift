import Accounts
import Dialogs
import XMPP

/// SASL ANONYMOUS (XEP-0175): creates a user who lasts as long as the session.
extension XMPPConnection {
  func makeGuest(_ attempt: Int) {
    guard let domain = machine.domain else { return closeConnection() }
    let (accounts, peer) = (door.accounts, peer)
    later { () throws(Problem) in
      try await accounts.makeGuest(in: domain, from: peer)
    } then: { (connection, result: Result<User, Problem>) in
      let answer: GuestAnswer
      switch result {
      case .success(let user):
        connection.known = Party(id: user.id, realm: user.realm, address: user.address)
        connection.access = nil
        answer = .made(username: user.localpart)
      case .failure(let problem): answer = .refused(problem.text)
      }
      connection.perform(connection.machine.answered(.guest(answer), attempt: attempt))
    }
  }
}
