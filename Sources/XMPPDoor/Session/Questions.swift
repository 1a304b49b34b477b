import Addresses
import Dialogs
import Synchronization
import XMPP

/// What the server asks somebody who is no session of its own: a push service, a component. An answer is known by the id of
/// the request, 128 random bits, and by whom it comes from.
final class Questions: Sendable {
  private struct Question {
    let address: JID
    let continuation: CheckedContinuation<Stanza?, Never>
  }
  private let waiting = Mutex<[String: Question]>([:])

  /// Sends an IQ request and waits for what comes back. nil: nobody is there to take it, nobody answers in time, or too many
  /// questions wait (`DoorLimits.questionsWaitingMax`).
  ///
  /// - Parameters:
  ///   - payload: the request's one child.
  ///   - asker: from whose bare address it is.
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
          hub.signal(
            .stanza(request), from: nil, party: asker, to: .user(address.bare, resource: address.resource))
        }
      }
      group.addTask {
        // Returns early when everything ends.
        try? await Task.sleep(for: patience)
        return nil
      }
      let first = await group.next() ?? nil
      end(id, nil)
      group.cancelAll()
      return first
    }
  }

  /// `send` sends the request; false: nobody is there to take it.
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

  /// An IQ result or error. False: it answers nothing that was asked.
  func answered(_ stanza: Stanza, from sender: JID) -> Bool {
    guard let id = stanza.id, waiting.withLock({ $0[id]?.address == sender }) else { return false }
    end(id, stanza)
    return true
  }

  /// Nobody of this domain will answer any more.
  func gone(_ domain: String) {
    for id in waiting.withLock({ $0.filter { $0.value.address.domain == domain }.map(\.key) }) { end(id, nil) }
  }

  private func end(_ id: String, _ answer: Stanza?) {
    waiting.withLock { $0.removeValue(forKey: id) }?.continuation.resume(returning: answer)
  }
}
