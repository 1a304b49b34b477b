import Addresses
import Dialogs
import Synchronization
import XMPP

/// The pending IQ requests of the server to push services and components. An answer is recognised by the id of the
/// request, 128 random bits, and by its sender.
final class Questions: Sendable {
  private struct Question {
    let address: JID
    let continuation: CheckedContinuation<Stanza?, Never>
  }
  private let waiting = Mutex<[String: Question]>([:])

  /// Sends an IQ request and waits for the answer. Returns `nil` if the addressee is not connected, if it does not
  /// answer in time, or if too many requests wait (`DoorLimits.questionsWaitingMax`).
  ///
  /// - Parameters:
  ///   - payload: the request's one child.
  ///   - asker: the user whose bare address the request is from.
  func ask(
    _ type: IQType, _ payload: [UInt8], of address: JID, from asker: Party, within patience: Duration, _ hub: Hub
  ) async -> Stanza? {
    let id = DoorContext.randomID()
    let request = RelayedStanza(
      name: .iq("\(type.text)"), from: asker, fromResource: nil, to: address.bare, toResource: address.resource, id: id,
      extras: payload)
    return await withTaskGroup(of: Stanza?.self) { group in
      group.addTask { [self] in
        await wait(for: id, from: address) {
          hub.problem(reaching: address.bare, by: asker) == nil
            && hub.signal(
              .stanza(request), from: nil, party: asker, to: .user(address.bare, resource: address.resource))
        }
      }
      group.addTask {
        // Returns early when the task is cancelled.
        try? await Task.sleep(for: patience)
        return nil
      }
      let first = await group.next() ?? nil
      end(id, nil)
      group.cancelAll()
      return first
    }
  }

  /// Waits for the answer to a request that `send` sends; `send` returns `false` if the addressee is not connected.
  func wait(for id: String, from address: JID, _ send: () -> Bool) async -> Stanza? {
    await withCheckedContinuation { continuation in
      let isTaken = waiting.withLock { waiting in
        guard waiting.count < DoorLimits.questionsWaitingMax else { return false }
        waiting[id] = Question(address: address, continuation: continuation)
        return true
      }
      if !isTaken { return continuation.resume(returning: nil) }
      if !send() { end(id, nil) }
    }
  }

  /// Takes an IQ result or error. Returns `false` if it answers no pending request.
  func answered(_ stanza: Stanza, from sender: JID) -> Bool {
    guard let id = stanza.id, waiting.withLock({ $0[id]?.address == sender }) else { return false }
    end(id, stanza)
    return true
  }

  /// Ends the requests to a domain whose component has disconnected.
  func gone(_ domain: String) {
    for id in waiting.withLock({ $0.filter { $0.value.address.domain == domain }.map(\.key) }) { end(id, nil) }
  }

  private func end(_ id: String, _ answer: Stanza?) {
    waiting.withLock { $0.removeValue(forKey: id) }?.continuation.resume(returning: answer)
  }
}
