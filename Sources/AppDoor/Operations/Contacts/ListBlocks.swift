import Accounts
import Dialogs
import HTTPPort

/// Lists the caller's blocks, shared with their XMPP clients.
enum ListBlocks: ServedOperation {
  typealias Input = NoInput
  typealias Output = PageBody<BlockBody>
  static let name = "block.list"
  static let method = Method.get
  static let path = "/v1/blocks"

  static func perform(_ input: NoInput, _ call: RequestContext) async throws(Problem) -> Outcome<Output> {
    let caller = try call.user().user
    let (rendering, domain) = (call.rendering, call.realm.domain)
    return .ok(
      try await call.readMessages { reader in
        PageBody(items: try reader.blocks(of: caller.id).map { rendering.block($0, domain: domain) })
      })
  }
}
