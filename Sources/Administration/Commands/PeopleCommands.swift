import Addresses
import Commands
import Dialogs
import XMPP

/// The sets of users that XEP-0133 4.13 to 4.22 count and list, within the admin's domain.
enum People: String, Sendable {
  case registered, disabled, online
  /// Online, with at least one session that is not away.
  case active
  case idle
}

extension AdHocCommand {
  static func count(_ people: People, _ context: AdminContext) -> AdHocCommand {
    admin(context, "get-\(people.rawValue)-users-num", "Count \(people.rawValue) users") {
      (_, party, context) throws(Problem) in
      let count = try await people.count(in: party.realm, context)
      return .fields([
        DataForm.Field(
          "\(people.rawValue)usersnum", .textSingle, "\(count)", label: "The number of \(people.rawValue) users")
      ])
    }
  }

  static func list(_ people: People, _ context: AdminContext) -> AdHocCommand {
    // The nodes of 4.21 and 4.22 have no suffix.
    let isShort = people == .active || people == .idle
    return admin(
      context, "get-\(people.rawValue)-users" + (isShort ? "" : "-list"), "List \(people.rawValue) users",
      "Fill out this form to list \(people.rawValue) users.",
      fields: { _ in
        [
          DataForm.Field(
            "max_items", .listSingle, label: "Maximum number of items to show", values: ["25"],
            options: [25, 50, 75, 100, 150, 200].map { DataForm.Option("\($0)") } + [
              DataForm.Option("none", label: "All")
            ])
        ]
      },
      perform: { (form, party, context) throws(Problem) in
        let most = AdminLimits.commandRowsMax
        let limit = form.value("max_items").flatMap { Int($0) }.map { min(max(1, $0), most) } ?? most
        let names = try await people.names(in: party.realm, limit: limit, context)
        return .fields([
          DataForm.Field(
            "\(people.rawValue)userjids", .jidMulti, label: "The list of \(people.rawValue) users", values: names)
        ])
      })
  }
}

extension People {
  fileprivate func count(in realm: RealmID, _ context: AdminContext) async throws(Problem) -> Int {
    switch self {
    case .registered: try await context.parley.read { try $0.userCount(in: realm) }
    case .disabled: try await disabled(in: realm, limit: .max, context).count
    case .online, .active, .idle: present(in: realm, context).count
    }
  }

  fileprivate func names(in realm: RealmID, limit: Int, _ context: AdminContext) async throws(Problem) -> [String] {
    switch self {
    case .registered:
      try await context.parley.read { try $0.users(in: realm, matching: nil, after: nil, limit: limit) }
        .map(\.address.description)
    case .disabled: try await disabled(in: realm, limit: limit, context)
    case .online, .active, .idle: Array(present(in: realm, context).sorted().prefix(limit))
    }
  }

  /// Returns the disabled accounts. They are few and have no index, so all accounts are read, a page at a time.
  private func disabled(in realm: RealmID, limit: Int, _ context: AdminContext) async throws(Problem) -> [String] {
    var found: [String] = []
    var after: String?
    while found.count < limit {
      let last = after
      let page = try await context.parley.read {
        try $0.users(in: realm, matching: nil, after: last, limit: AdminLimits.importBatchRows)
      }
      found += page.filter { $0.state == .disabled }.map(\.address.description)
      guard page.count == AdminLimits.importBatchRows else { break }
      after = page.last?.localpart
    }
    return Array(found.prefix(limit))
  }

  private func present(in realm: RealmID, _ context: AdminContext) -> [String] {
    let hub = context.parley.hub
    return hub.users(in: realm).compactMap { user in
      let presences = hub.presences(of: user)
      guard !presences.isEmpty, let address = hub.contactSnapshot(of: user)?.user.address else { return nil }
      let isActive = presences.contains { ![.away, .extendedAway].contains($0.availability) }
      return self == .online || isActive == (self == .active) ? address.description : nil
    }
  }
}
