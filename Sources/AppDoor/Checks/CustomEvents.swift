import Accounts
import Addresses
import Basics
import Dialogs
import HTTPPort
import JSON
import NIOCore

/// Custom events of apps: sent by a command or a request, and relayed to those present.
extension AppSession {
  func custom(_ frame: CommandFrame, _ session: OpenSession) throws(Problem) {
    let input = try input(CustomEventInput.self, frame)
    try door.limiters.customs.take(session.caller.user.id, now: parley.clock.now)
    let event = try Checks.custom(input)
    try resolve(input.dialogId, frame, session) { me, session, place in
      let loop = me.channel.eventLoop
      let bound = NIOLoopBound(me, eventLoop: loop)
      let intent = SendCustomEvent.intent(event, from: session.caller.user, resource: session.resource, in: place)
      let completion = Post.Completion.callback { result in
        loop.execute {
          let me = bound.value
          guard let session = me.open else { return }
          switch result {
          case .success: me.accept(frame.id)
          case .failure(let problem): me.refuse(frame.id, problem, of: place, session)
          }
          me.flush()
        }
      }
      let post = Post(author: session.caller.user, intent: intent, completion: completion, from: me.address)
      guard me.parley.submit(post) else { return me.refuse(frame.id, .overloaded) }
    }
  }

  /// Sends a custom event to the client. The payload from an XMPP client may be no JSON, and is then dropped.
  func tellCustom(_ event: CustomEvent, _ stanza: RelayedStanza, isAnonymized: Bool, _ session: OpenSession) {
    guard isWritable, stanza.from.id != session.caller.user.id,
      let payload = (try? JSONValue(parsing: event.payload)).flatMap({ RawObject($0) })
    else { return }
    if let room = stanza.room {
      let naming = isAnonymized ? ParticipantNaming(Anonymizer(room, parley), viewer: nil) : .open
      return tell(event.kind, payload, by: naming.id(stanza.from), in: room.dialog, session)
    }
    withDialog(of: stanza.from, session) { me, dialog, session in
      me.tell(event.kind, payload, by: stanza.from.name, in: dialog, session)
    }
  }

  private func tell(
    _ kind: String, _ payload: RawObject, by sender: String, in dialog: DialogID, _ session: OpenSession
  ) {
    tell(
      .custom,
      CustomEventBody(dialogId: session.rendering.id(dialog), senderId: sender, kind: kind, payload: payload))
  }
}

/// The dialog that the user looks at.
extension AppSession {
  /// Sets the dialog that the client shows, then continues. A user who does not belong to it gets an error.
  func look(
    at dialogID: String?, re: String, _ session: OpenSession, then: @escaping (AppSession, OpenSession) -> Void
  ) throws(Problem) {
    guard let dialogID else {
      parley.hub.update(session.handle) { $0.activeDialog = nil }
      return then(self, session)
    }
    let realm = session.rendering.realm
    guard let id = PublicID(dialogID).flatMap({ parley.dialog(of: $0, in: realm) }) else {
      throw DialogResolver.unknown
    }
    let user = session.caller.user.id
    session.isResolving = true
    let bound = NIOLoopBound((self, then), eventLoop: channel.eventLoop)
    // Everyone who belongs to a dialog has settings of it.
    parley.fetch(for: session.readOwner, on: session.handle.lane, { try $0.settings(of: user, in: id) != nil }) {
      result in
      let (me, then) = bound.value
      guard let session = me.open else { return }
      session.isResolving = false
      switch result {
      case .success(true):
        me.parley.hub.update(session.handle) { $0.activeDialog = id }
        then(me, session)
      case .success(false): me.refuse(re, DialogResolver.unknown)
      case .failure(let problem): me.refuse(re, problem)
      }
      me.drainBacklog()
      me.flush()
    }
  }
}

extension Checks {
  static func custom(_ input: CustomEventInput) throws(Problem) -> CustomEvent {
    guard (1...Limits.customKindBytesMax).contains(input.kind.utf8.count) else {
      throw Problem(
        .malformed, "kind-malformed", "kind has 1 to \(Limits.customKindBytesMax) bytes.", field: "kind")
    }
    try text(input.kind, field: "kind")
    let payload = (input.payload ?? .empty).text
    guard payload.utf8.count <= Limits.customPayloadBytesMax else {
      throw Problem(
        .tooLarge, "payload-too-long", "payload has at most \(Limits.customPayloadBytesMax) bytes.", field: "payload")
    }
    try text(payload, field: "payload")
    return CustomEvent(kind: input.kind, payload: payload)
  }
}
