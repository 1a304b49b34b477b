import Accounts
import Addresses
import Dialogs
import XMLStream
import XMPP

/// XEP-0055: searches the domain's users who allow it, by login name and display name, whichever field a client fills
/// in. A mail address of another domain must match as a whole, and finds users who allow it. Apps find the same users.
struct UserSearch: Feature {
  static let xep = XEP(
    55, "1.3", "Jabber Search",
    note: "Finds users by name, and by the whole mail address if they allow it. At most 50 results, among the first "
      + "100,000 users.")

  private static let query = Name("query", NS.search)
  private static let fields = ["nick", "first", "last", "email"]

  func register(in table: inout FeatureTable) {
    table.advertise("\(NS.search)", on: [.server])
    table.iq(.get, Self.query, to: [.server]) { turn, _ in
      turn.reply { writer in
        writer.element(Self.query) { writer in
          writer.element("instructions") { writer in
            writer.text("Fill in one field or more. A name is found by how it begins, a shown name by any part of it.")
          }
          for field: StaticString in ["first", "last", "nick", "email"] { writer.element(field) }
          Self.form.write(into: &writer)
        }
      }
    }
    table.iq(.set, Self.query, to: [.server]) { (turn, payload) throws(StanzaError) in
      guard let domain = turn.to?.domain, domain == turn.party.address.domain else {
        throw StanzaError(.serviceUnavailable)
      }
      let form = try payload.payload(DataForm.self)
      let terms = try Self.terms(payload, form, domain: domain)
      do throws(Problem) {
        if !turn.parley.findsEverybody(turn.party.id) { throw Problem.guestLimited }
        try turn.accounts.pace(.search(turn.party.id))
        if Self.mail(among: terms) != nil { try turn.accounts.paceMatch(for: turn.party) }
      } catch {
        throw StanzaError(error)
      }
      let viewer = turn.party
      turn.fetch {
        try Self.find(terms, for: viewer, $0)
      } reply: { users in
        turn.reply { Self.write(users, asForm: form != nil, into: &$0) }
      }
    }
  }

  static let form = DataForm(
    .form, formType: "\(NS.search)", title: "User search", instructions: ["Fill in one field or more."],
    fields: [
      .init("nick", .textSingle, label: "Name"), .init("first", .textSingle, label: "Given name"),
      .init("last", .textSingle, label: "Family name"), .init("email", .textSingle, label: "Address"),
    ])

  /// Returns the terms, all of which must match. `*` stands for any rest, as many clients add it.
  static func terms(_ payload: Element, _ form: DataForm?, domain: String) throws(StanzaError) -> [String] {
    var terms: [String] = []
    var isAsked = false
    for field in fields {
      let written =
        if let form { try form.single(field) } else { payload.children.first { $0.local == field }?.text }
      guard var text = written, !text.isEmpty else { continue }
      isAsked = true
      if field == "email", text.hasSuffix("@\(domain)") { text.removeLast(domain.utf8.count + 1) }
      while text.hasSuffix("*") { text.removeLast() }
      if !text.isEmpty { terms.append(text) }
    }
    if !isAsked { throw StanzaError(.notAcceptable, "fill in one field or more") }
    return terms
  }

  /// Returns the mail address among the terms, by which alone is searched.
  static func mail(among terms: [String]) -> String? { terms.first { $0.contains("@") } }

  /// Searches as an app does, page by page, without users who cannot be reached.
  static func find(_ terms: [String], for viewer: Party, _ reader: any StoreReader) throws -> [User] {
    if let mail = mail(among: terms) {
      return try reader.user(findableBy: Identity(.email, mail.lowercased()), for: viewer).map { [$0] } ?? []
    }
    let rest = terms.dropFirst().map { (name: $0.lowercased(), shown: DirectoryQuery.folded($0)) }
    var found: [User] = []
    var last: String?
    var looked = 0
    let end = try reader.directoryEnd(of: viewer.realm, after: nil, count: DoorLimits.usersLookedAtMax)
    // The other terms may leave few of those that match the first: the search continues behind them.
    repeat {
      let page = try reader.directory(
        of: viewer.realm, DirectoryQuery(text: terms.first, after: last, through: end, limit: Limits.pageMax))
      found += page.filter { user in
        rest.allSatisfy { term in
          user.localpart.hasPrefix(term.name)
            || user.profile.displayName.map { DirectoryQuery.folded($0).contains(term.shown) } == true
        }
      }
      last = page.count == Limits.pageMax ? page.last?.localpart : nil
      looked += page.count
    } while last != nil && found.count < Limits.searchResultsMax && looked < DoorLimits.usersSearchedMax
    return Array(found.prefix(Limits.searchResultsMax))
  }

  static func write(_ users: [User], asForm: Bool, into writer: inout ElementWriter) {
    writer.element(query) { writer in
      if asForm {
        DataForm(
          .result, fields: [.init("FORM_TYPE", .hidden, "\(NS.search)")],
          reported: [.init("jid", .jidSingle, label: "Address"), .init("nick", .textSingle, label: "Name")],
          items: users.map { user in
            [.init("jid", nil, "\(user.address)"), .init("nick", nil, user.profile.displayName ?? user.localpart)]
          }
        ).write(into: &writer)
      } else {
        for user in users {
          writer.element("item") { writer in
            writer.attribute("jid", user.address.description)
            let fields: [(StaticString, String)] = [
              ("first", user.profile.displayName ?? ""), ("last", ""), ("nick", user.localpart), ("email", ""),
            ]
            for (field, value) in fields { writer.element(field) { $0.text(value) } }
          }
        }
      }
    }
  }
}
