import Accounts
import Addresses
import Dialogs
import XMLStream
import XMPP

/// XEP-0433: a search for rooms, at their domain. `ChannelSearch` reads the form and finds the rooms; this file
/// answers.
struct ExtendedChannelSearch: Feature {
  static let xep = XEP(
    433, "0.1.0", "Extended Channel Search",
    note: "Listed rooms of this server. One search reads at most 10,000 of them.")

  private static let search = Name("search", NS.channelSearch)
  private static let result = Name("result", NS.channelSearch)

  func register(in table: inout FeatureTable) {
    table.advertise("\(NS.channelSearch)", on: [.rooms])
    table.iq(.get, Self.search, to: [.rooms]) { (turn, query) throws(StanzaError) in
      guard let form = try query.payload(DataForm.self) else { return Self.offer(turn) }
      let search = try ChannelSearch(form)
      let set = try query.payload(ResultSetRequest.self) ?? ResultSetRequest()
      if set.index != nil { throw StanzaError(.featureNotImplemented, "there are no indexes") }
      if search.isListing(set) { return Self.list(turn, search, set) }
      let party = turn.party
      let searcher = party.realm.isRemote ? party.address.domain : party.address.description
      do throws(Problem) { try turn.accounts.pace(.roomSearch(searcher)) } catch { throw StanzaError(error) }
      Self.find(turn, search, set)
    }
  }

  private static func offer(_ turn: Turn) {
    turn.reply { writer in
      writer.element(search) { ChannelSearch.form.write(into: &$0) }
    }
  }

  /// Searches: the people of all rooms are counted, since the order or a condition may depend on them.
  private static func find(_ turn: Turn, _ search: ChannelSearch, _ set: ResultSetRequest) {
    turn.postToRoom(.headcounts(of: nil)) { receipt in
      read(turn, search, set, counts: receipt.value as? [DialogID: Int] ?? [:]) { page in
        turn.reply { write(page, into: &$0) }
      }
    }
  }

  /// Lists rooms by address, and counts the people of those on the page.
  private static func list(_ turn: Turn, _ search: ChannelSearch, _ set: ResultSetRequest) {
    read(turn, search, set, counts: [:]) { page in
      turn.postToRoom(.headcounts(of: page.hits.map(\.room.id))) { receipt in
        let counts = receipt.value as? [DialogID: Int] ?? [:]
        var page = page
        page.hits = page.hits.map { ChannelSearch.Hit(room: $0.room, users: counts[$0.room.id] ?? 0) }
        turn.reply { write(page, into: &$0) }
      }
    }
  }

  private static func read(
    _ turn: Turn, _ search: ChannelSearch, _ set: ResultSetRequest, counts: [DialogID: Int],
    then: @escaping (ChannelSearch.Page) -> Void
  ) {
    let realm = turn.parley.home(of: turn.party.realm)
    turn.fetch { reader -> Result<ChannelSearch.Page, StanzaError> in
      do {
        let page = try search.page(set, counts: counts) { after in
          try reader.rooms(in: realm, listed: true, matching: nil, after: after, limit: DoorLimits.channelsReadMax)
        }
        return .success(page)
      } catch let error as StanzaError {
        return .failure(error)
      }
    } reply: { (page) throws(StanzaError) in
      then(try page.get())
    }
  }

  // MARK: Results

  static func write(_ page: ChannelSearch.Page, into writer: inout ElementWriter) {
    writer.element(result) { writer in
      for hit in page.hits { write(hit, into: &writer) }
      page.set.write(into: &writer)
    }
  }

  /// Writes a result (6.2), without occupants or owners.
  private static func write(_ hit: ChannelSearch.Hit, into writer: inout ElementWriter) {
    let settings = hit.room.settings
    writer.open("item")
    writer.attribute("address", hit.room.address.description)
    for (name, text) in [
      ("name", settings.name), ("description", hit.room.summary), ("language", settings.language),
      ("nusers", "\(hit.users)"), ("service-type", ChannelSearch.rooms),
      ("is-open", hit.room.isOpen ? "true" : "false"),
      (
        "anonymity-mode",
        settings.showsAddresses ? "{urn:xmpp:channel-search:0:anonymity}none" : "muc_semianonymous"
      ),
    ] as [(StaticString, String?)] {
      guard let text else { continue }
      writer.element(name) { $0.text(text) }
    }
    writer.close()
  }
}
