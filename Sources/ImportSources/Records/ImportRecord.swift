/// One thing that another server kept: what every source yields, and the importer takes.
///
/// Addresses and XML are as the source has them; whoever takes a record checks them.
public enum ImportRecord: Sendable, Equatable, Codable {
  case account(AccountRecord)
  case contact(ContactRecord)
  case request(RequestRecord)
  /// A `<vCard/>` (XEP-0054).
  case vCard(ElementRecord)
  /// One element of a user's private XML (XEP-0049).
  case privateXML(ElementRecord)
  case node(NodeRecord)
  case item(ItemRecord)
  case block(BlockRecord)
  /// One user's copy of a message.
  case copy(MessageCopy)
  /// A message between two users, made of their copies by `HistoryStage`.
  case message(MessageRecord)
  case room(RoomRecord)
  case roomPerson(RoomPersonRecord)
  /// A message of a room's archive.
  case roomMessage(RoomMessageRecord)
  case contactGroup(ContactGroupRecord)
  case file(FileRecord)
}
