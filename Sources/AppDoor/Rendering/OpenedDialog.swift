import Dialogs

/// A dialog that a client opens: what is included in a page of its history, so that opening costs one request. All of it
/// is bounded: a page of members, the pins of a dialog, the markers of a dialog small enough to tell them.
struct OpenedDialog {
  private let place: DialogPlace
  private let reading: DialogPlace.Reading
  private let caller: Party
  private let rendering: Rendering

  init(_ place: DialogPlace, _ reading: DialogPlace.Reading, for caller: Party, _ rendering: Rendering) {
    self.place = place
    self.reading = reading
    self.caller = caller
    self.rendering = rendering
  }

  /// Parses the list of parts in a query.
  static func parts(_ text: String?) throws(Problem) -> Set<OpenedDialogBody.Part> {
    var parts: Set<OpenedDialogBody.Part> = []
    for word in text?.split(separator: ",") ?? [] {
      guard let part = OpenedDialogBody.Part(rawValue: String(word)) else {
        let all = OpenedDialogBody.Part.allCases.map(\.rawValue).joined(separator: ", ")
        throw Problem(.malformed, "include-unknown", "include is a list of \(all).", field: "include")
      }
      parts.insert(part)
    }
    return parts
  }

  /// Reads the parts in the snapshot of the messages, whose `authors` are among the people. Blocks: for `Parley.read`.
  func body(
    _ parts: Set<OpenedDialogBody.Part>, authors: [Party], _ reader: any StoreReader
  ) throws -> OpenedDialogBody {
    var body = OpenedDialogBody()
    if parts.isEmpty { return body }
    let (messages, room, naming) = reading
    if parts.contains(.dialog) {
      body.dialog = try GetDialog.body(place.id, for: caller, rendering, reader)
    }
    if parts.contains(.pins) { body.pins = try ListPins.body(of: messages, naming, rendering, reader) }
    var people: [Party]
    switch place {
    case .peer(_, let peer): people = [peer, caller]
    case .room(let name):
      people = []
      guard let room else { break }
      let members = room.members.only(Set(Affiliation.allCases.filter(\.isMember)))
      let page = try reader.members(of: members, after: nil, limit: Limits.pageMax + 1).page(Limits.pageMax)
      people = page.items.map(\.party)
      if parts.contains(.members) { body.members = try ListMembers.body(page, of: name, naming, rendering, reader) }
    }
    if parts.contains(.markers) {
      let others = room?.showsMarkers == false ? [] : people.filter { $0.id != caller.id }
      body.markers = PageBody(
        items: try others.compactMap { other in
          try reader.mark(other.id, of: messages).map { rendering.marker($0, of: other, naming) }
        })
    }
    if parts.contains(.users) {
      body.users = try users(authors + (parts.contains(.members) ? people : []), reader)
    }
    return body
  }

  /// Returns the profiles of the people whom the caller may know by their users' ids, each once.
  private func users(_ people: [Party], _ reader: any StoreReader) throws -> PageBody<UserBody> {
    let elsewhere = rendering.parley.federatedRealm(of: caller.realm).id
    var seen: Set<UserID> = []
    return PageBody(
      items: try people.filter { reading.naming.knows($0) && seen.insert($0.id).inserted }.compactMap { party in
        try reader.user(party.address, knownTo: caller, elsewhere: elsewhere)
          .map { rendering.user(try reader.view(of: $0, for: caller)) }
      })
  }
}
