import Addresses
package import Dialogs

/// One page of a domain's group and public dialogs, by address; hidden ones too.
package enum ListDialogs: AdminOperation {
  package static let name = "dialogs.list"

  package struct Input: Codable, Sendable {
    /// nil: the first.
    let domain: String?
    /// A part of the name, or a prefix of the address.
    let matching: String?
    /// The name before the @ that ended the page before.
    let after: String?
    let limit: Int
    package init(domain: String?, matching: String?, after: String?, limit: Int) {
      self.domain = domain
      self.matching = matching
      self.after = after
      self.limit = limit
    }
  }

  package struct Output: Codable, Sendable {
    package let dialogs: [DialogRow]
    /// nil: that was the last page.
    package let next: String?
  }

  package static func perform(_ input: Input, in context: AdminContext) async throws(Problem) -> Output {
    let found = input.domain.map { context.parley.realm(domain: $0) } ?? context.parley.realms.first
    guard let realm = found else {
      throw Problem(
        .foreign, "domain-not-served", "\(Line.safe(input.domain ?? "")) is not served here.", field: "domain")
    }
    let limit = min(max(1, input.limit), ServerLimits.importBatchRows)
    let rooms = try await context.parley.read {
      try $0.rooms(in: realm.id, listed: false, matching: input.matching, after: input.after, limit: limit)
    }
    return Output(
      dialogs: rooms.map { DialogRow($0, in: context) },
      next: rooms.count == limit ? rooms.last?.address.local : nil)
  }
}
