import Dialogs
import XMPP

/// An item of one of the profile's nodes, as a client publishes it.
enum ProfileItem {
  /// Reads an item.
  ///
  /// - Throws: `invalid-payload` if it is not what the node holds.
  static func read(_ item: PublishRequest.Item, in view: ProfileNode) throws(StanzaError) -> NodePublication.Item {
    guard let payload = item.payload else { throw StanzaError(.badRequest, pubsub: "payload-required") }
    let content: NodeContent
    var id = item.id
    switch view {
    case .nickname: content = try UserNickname.read(payload)
    case .avatarData:
      let avatar = try UserAvatar.read(data: payload)
      id = id ?? avatar.hash
      content = .avatar(avatar)
    case .avatarMetadata:
      let metadata = try UserAvatar.read(metadata: payload)
      id = id ?? metadata.hashes.first
      content = .avatarMetadata(metadata)
    case .vCard4: content = .card(try VCard4.read(payload))
    }
    return NodePublication.Item(id: id ?? DoorContext.randomID(), content: content)
  }
}
