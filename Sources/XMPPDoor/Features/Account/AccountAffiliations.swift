import Addresses
import Basics
import Dialogs
import NIOCore
import XMLStream
import XMPP

/// XEP-0489: what an account is to this server, for those elsewhere who do not know the user. It stands in messages and
/// subscription requests to them, and is answered to those who see the user's presence.
///
/// How much an account is trusted is not known here: everybody but guests is `registered`, with the day since when; of
/// accounts older than a month only the year is told (9).
struct AccountAffiliations: Feature {
  static let xep = XEP(
    489, "0.1.0", "Reporting Account Affiliations",
    note:
      "In messages and subscription requests to strangers elsewhere: `anonymous` for guests, otherwise `registered`. "
      + "Directed presence has none. Anonymous strangers may begin fewer conversations here.")

  static let info = Name("info", NS.accountAffiliations)
  private static let query = Name("query", NS.accountAffiliations)

  func register(in table: inout FeatureTable) {
    for part in [""] + EmbeddedAffiliation.Place.allCases.map(\.feature) {
      table.advertise("\(NS.accountAffiliations)\(part)", on: [.server])
    }
    table.iq(.get, Self.query, to: [.user], Self.answer)
  }

  /// Answers those who see the user's presence. Nobody else learns whether there is such a user.
  private static func answer(_ turn: Turn, _ query: Element) throws(StanzaError) {
    guard let address = turn.to?.bare else { throw StanzaError(.badRequest) }
    let viewer = turn.party.address
    turn.fetch { reader -> User? in
      guard let user = try reader.user(address), user.state == .active,
        try reader.contact(of: user.id, viewer)?.subscription.from == true
      else { return nil }
      return user
    } reply: { (user) throws(StanzaError) in
      guard let user else { throw StanzaError(.forbidden) }
      let now = turn.parley.clock.now
      turn.reply { write(of: user, at: now, into: &$0) }
    }
  }

  /// Returns the account of an author, if it is told to somebody elsewhere: who has granted them no subscription. Of a user
  /// who is offline nothing is told.
  static func told(of author: Party, to stranger: BareJID, _ hub: Hub) -> User? {
    guard let snapshot = hub.contactSnapshot(of: author.id), !author.realm.isRemote,
      snapshot.contact(stranger)?.subscription.to != true
    else { return nil }
    return snapshot.user
  }

  static func write(of user: User, at now: Timestamp, into writer: inout ElementWriter) {
    writer.element(info) { writer in
      writer.attribute("affiliation", user.isGuest ? "anonymous" : "registered" as StaticString)
      writer.attribute("since", since(user.createdAt, at: now))
    }
  }

  /// Returns the day of a time, or the first one of its year if it is older than 30 days.
  static func since(_ time: Timestamp, at now: Timestamp) -> String {
    let text = time.description
    let isRecent = now.milliseconds - time.milliseconds < 30 * 86_400_000
    return (isRecent ? text.prefix(10) : text.prefix(4) + "-01-01") + "T00:00:00Z"
  }
}

/// The statement of another server about the account of somebody who is not known here. It is believed only if that
/// server has announced it for such stanzas (XEP-0489 4.2), which it is asked for once for each link.
enum EmbeddedAffiliation {
  enum Place: String, CaseIterable, Sendable {
    case message
    case subscription = "presence-sub"

    var feature: String { "#embed-\(rawValue)" }
  }

  /// The state of a server that was asked.
  enum Announced: Equatable {
    case unknown
    case asked
    case known(Set<Place>)
  }

  /// Notes whether the account that sent a message or a request is an anonymous one. The first stanza of a link counts
  /// when the other server has answered.
  static func note(_ arrival: RemoteArrival, in place: Place) {
    guard let link = arrival.link as? FederationLink, let work = link.work,
      let said = arrival.stanza.element.first(AccountAffiliations.info)?["affiliation"]
    else { return }
    let (address, isAnonymous) = (arrival.from.bare, said == "anonymous")
    switch work.announcedAffiliations {
    case .known(let places): if places.contains(place) { link.federation.note(address, isAnonymous: isAnonymous) }
    case .asked: break
    case .unknown:
      work.announcedAffiliations = .asked
      work.askServer { [weak work] features in
        guard let features else {
          work?.announcedAffiliations = .unknown
          return
        }
        let places = Set(Place.allCases.filter { features.contains("\(NS.accountAffiliations)\($0.feature)") })
        work?.announcedAffiliations = .known(places)
        if places.contains(place) { link.federation.note(address, isAnonymous: isAnonymous) }
      }
    }
  }
}

extension LinkWork {
  /// Asks the other server for its features (XEP-0030 3.1); `nil` if it does not answer.
  fileprivate func askServer(then: @escaping (Set<String>?) -> Void) {
    guard let link, let server = BareJID(parsing: link.home.domain) else { return }
    var writer = StreamFraming.writer()
    writer.element(.discoInfo)
    let (request, asked) = (Array(writer.buffer.readableBytesView), JID(link.party.address))
    let (door, asker) = (link.door, Party(id: UserID(0), realm: link.home.id, address: server))
    let back = NIOLoopBound(then, eventLoop: link.loopContext.loop)
    let loop = link.loopContext.loop
    Task {
      let answer = await door.questions.ask(
        .get, request, of: asked, from: asker, within: DoorLimits.delegationAnswer, door.parley.hub)
      let query = answer?.isError == false ? answer?.element.first(.discoInfo) : nil
      let features = query.map { query in Set(query.children.compactMap { $0.local == "feature" ? $0["var"] : nil }) }
      loop.execute { back.value(features) }
    }
  }
}
