import Addresses
package import Dialogs
import Synchronization

/// Imports many roster items in order; a row that fails does not affect the others.
package enum ImportContacts: AdminOperation {
  package static let name = "roster.import"
  package static let scope: AppKey.Scope? = .usersWrite

  package struct Row: Codable, Sendable {
    let jid: String
    let contact: String
    let name: String?
    /// nil for none.
    let groups: [String]?
    package init(jid: String, contact: String, name: String?, groups: [String]?) {
      self.jid = jid
      self.contact = contact
      self.name = name
      self.groups = groups
    }
  }

  package struct Input: Codable, Sendable {
    /// At most `AdminLimits.importBatchRows` rows.
    let rows: [Row]
    let mutual: Bool
    package init(rows: [Row], mutual: Bool) {
      self.rows = rows
      self.mutual = mutual
    }
  }

  /// The outcomes in the order of the rows.
  package typealias Output = [RowOutcome]

  package static func object(of input: Input) -> String { "\(input.rows.count) contacts" }
  package static func object(of input: Input, after output: [RowOutcome]) -> String { output.counted("contacts") }

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> [RowOutcome] {
    guard input.rows.count <= AdminLimits.importBatchRows else {
      throw Problem(.tooLarge, "batch-too-large", "One batch has at most \(AdminLimits.importBatchRows) rows.")
    }
    let outcomes = await post(try await prepare(input.rows, in: context), mutual: input.mutual, in: context.parley)
    return try outcomes.map { result throws(Problem) in
      switch result {
      case .success: return RowOutcome(.done)
      case .failure(let problem):
        // This is a failure of the server and not of the row: the whole batch has to be repeated.
        if problem.kind == .overloaded { throw problem }
        return RowOutcome(.failed, problem.text)
      }
    }
  }

  private struct Link: Sendable {
    let owner: Party
    let contact: BareJID
    let name: String?
    let groups: [String]
  }

  /// Returns the users of all rows, found in one read.
  private static func prepare(
    _ rows: [Row], in context: AdminContext
  ) async throws(Problem) -> [Result<Link, Problem>] {
    let domains = Set(context.parley.realms.map(\.domain))
    return try await context.parley.read { reader in
      func user(_ address: BareJID) throws -> User {
        guard domains.contains(address.domain) else {
          throw Problem(.foreign, "domain-not-served", "\(address.domain) is not served here.", field: "jid")
        }
        guard let user = try reader.user(address), user.state != .deleted else {
          throw Problem(.missing, "user-unknown", "There is no user \(address).", field: "jid")
        }
        return user
      }
      return try rows.map { row in
        do {
          let owner = try user(context.account(row.jid)).party
          let contact = try context.contact(row.contact)
          if domains.contains(contact.domain) { _ = try user(context.account(contact.description)) }
          return .success(Link(owner: owner, contact: contact, name: row.name, groups: row.groups ?? []))
        } catch let problem as Problem {
          return .failure(problem)
        }
      }
    }
  }

  /// Posts the changes in the order of the rows, of which the last about a contact applies, and waits for all of them
  /// together, so that they share a few transactions.
  private static func post(
    _ links: [Result<Link, Problem>], mutual: Bool, in parley: Parley
  ) async -> [Result<Void, Problem>] {
    if links.isEmpty { return [] }
    return await withCheckedContinuation { continuation in
      let gathering = Gathering(count: links.count) { continuation.resume(returning: $0) }
      for (index, link) in links.enumerated() {
        switch link {
        case .failure(let problem): gathering.set(index, .failure(problem))
        case .success(let link):
          let post = Post(
            author: link.owner,
            intent: .link(link.contact, name: link.name, groups: link.groups, mutual: mutual),
            completion: .callback { gathering.set(index, $0.map { _ in () }) })
          if !parley.submit(post) { gathering.set(index, .failure(.overloaded)) }
        }
      }
    }
  }
}

/// Collects outcomes, which may arrive in any order on any thread, and calls back after the last.
private final class Gathering: Sendable {
  private struct State {
    var results: [Result<Void, Problem>]
    var missing: Int
  }
  private let state: Mutex<State>
  private let whole: @Sendable ([Result<Void, Problem>]) -> Void

  init(count: Int, whole: @escaping @Sendable ([Result<Void, Problem>]) -> Void) {
    self.state = Mutex(State(results: Array(repeating: .failure(.storage), count: count), missing: count))
    self.whole = whole
  }

  func set(_ index: Int, _ result: Result<Void, Problem>) {
    let results: [Result<Void, Problem>]? = state.withLock { state in
      state.results[index] = result
      state.missing -= 1
      return state.missing == 0 ? state.results : nil
    }
    if let results { whole(results) }
  }
}
