import Accounts
import Dialogs
import HTTPPort

/// Lists users of the caller's app: by a search, by name, or by location.
enum ListUsers: ServedOperation {
  typealias Input = ListUsersInput
  typealias Output = PageBody<UserBody>
  static let name = "user.list"
  static let method = Method.get
  static let path = "/v1/users"

  static func perform(_ input: ListUsersInput, _ call: RequestContext) async throws(Problem) -> Outcome<Output> {
    let limit = try Checks.limit(input.limit)
    let ways = [input.query, input.ids, input.externalId, input.near].filter { $0 != nil }
    if ways.count > 1 {
      throw Problem(.malformed, "query-ambiguous", "Give one of query, ids, externalId and near.", field: "query")
    }
    if let ids = input.ids { return .ok(try await named(ids, call)) }
    if let id = input.externalId { return .ok(try await known(as: Identity(.external, id), call)) }
    if let near = input.near { return .ok(try await nearby(near, input.radius, limit, call)) }
    return .ok(try await found(input.query.flatMap { $0.isEmpty ? nil : $0 }, input, limit, call))
  }

  // MARK: Search

  private static func found(
    _ query: String?, _ input: ListUsersInput, _ limit: Int, _ call: RequestContext
  ) async throws(Problem) -> Output {
    let caller = try call.user().user
    if !call.parley.findsEverybody(caller.id) { throw Problem.guestLimited }
    var fields: DirectoryQuery.Fields = [.name, .id]
    switch input.field {
    case nil: break
    case "name": fields = .name
    case "id": fields = .id
    case "email", "phone":
      guard let query else {
        throw Problem(.malformed, "query-missing", "query is what is looked for.", field: "query")
      }
      // It must be complete: parts are not searched. Each is one hash of contact matching.
      try call.accounts.pace(.search(caller.id))
      try call.accounts.paceMatch(for: caller)
      let identity = input.field == "email" ? Identity(.email, query.lowercased()) : Identity(.phone, query)
      let user = try await call.parley.read { reader in
        try reader.user(findableBy: identity, for: caller).map { try reader.view(of: $0, for: caller) }
      }
      return PageBody(items: user.map { [call.rendering.user($0)] } ?? [])
    default:
      throw Problem(
        .malformed, "field-unknown", "field is \"name\", \"id\", \"email\" or \"phone\".", field: "field")
    }
    // Each page of a search looks at many users, wherever it begins; one of the list does not.
    if query != nil { try call.accounts.pace(.search(caller.id)) }
    let directory = DirectoryQuery(text: query, fields: fields, after: input.cursor, limit: limit)
    let realm = call.realm.id
    let (users, next) = try await call.readMessages { reader -> ([UserView], String?) in
      let page = try reader.directoryPage(of: realm, directory)
      return (try page.users.map { try reader.view(of: $0, for: caller) }, page.next)
    }
    return PageBody(items: users.map { call.rendering.user($0) }, nextCursor: next)
  }

  // MARK: By name

  /// Returns the users in the requested order, without duplicates and unknown ones.
  private static func named(_ text: String, _ call: RequestContext) async throws(Problem) -> Output {
    let caller = try call.user().user
    let ids = text.split(separator: ",", omittingEmptySubsequences: true)
    guard ids.count <= Limits.usersAtOnceMax else {
      throw Problem(
        .malformed, "too-many-ids", "ids has at most \(Limits.usersAtOnceMax) ids.", field: "ids")
    }
    var known: Set<String> = []
    let addresses = ids.filter { known.insert(String($0)).inserted }
      .compactMap { try? Checks.address(String($0), domain: call.realm.domain) }
    let elsewhere = call.parley.federatedRealm(of: call.realm.id).id
    let findsEverybody = call.parley.findsEverybody(caller.id)
    let users = try await call.readMessages { reader -> [UserView] in
      var found = try addresses.compactMap { try reader.user($0, knownTo: caller, elsewhere: elsewhere) }
      if !findsEverybody {
        let shown = try reader.users(found.map(\.id), sharingDialogWith: caller)
        found = found.filter { shown.contains($0.id) }
      }
      return try found.map { try reader.view(of: $0, for: caller) }
    }
    return PageBody(items: users.map { call.rendering.user($0) })
  }

  /// Returns the user with an id of the app's own backend, which is no secret.
  private static func known(as identity: Identity, _ call: RequestContext) async throws(Problem) -> Output {
    let caller = try call.user().user
    let realm = call.realm.id
    let findsEverybody = call.parley.findsEverybody(caller.id)
    let user = try await call.parley.read { reader -> UserView? in
      guard let id = try reader.user(of: identity, in: realm), let user = try reader.user(id),
        try findsEverybody || reader.sharesDialog(caller, with: id)
      else { return nil }
      return try reader.view(of: user, for: caller)
    }
    return PageBody(items: user.map { [call.rendering.user($0)] } ?? [])
  }

  // MARK: By location

  private static func nearby(
    _ text: String, _ radius: Int?, _ limit: Int, _ call: RequestContext
  ) async throws(Problem) -> Output {
    let caller = try call.user().user
    let numbers = text.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) }
    guard numbers.count == 2, let latitude = numbers[0], let longitude = numbers[1] else {
      throw Problem(
        .malformed, "coordinate-malformed", "near is a latitude and a longitude with a comma between.", field: "near")
    }
    await call.readPlace?.take()
    let users = try await call.accounts.nearby(
      latitude: latitude, longitude: longitude, kilometres: radius ?? 5, limit: limit, for: caller)
    return PageBody(items: users.map { call.rendering.user($0.view, distance: $0.kilometres) })
  }
}
