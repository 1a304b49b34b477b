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
    let caller = try call.user()
    let blocks = try await call.parley.read { try $0.blocks(of: caller.user.id) }
    return .ok(PageBody(items: blocks.map { call.rendering.block($0, domain: call.realm.domain) }))
  }
}
