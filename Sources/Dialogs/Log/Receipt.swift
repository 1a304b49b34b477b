import Addresses

/// The outcome of a post, sent after its commit.
///
/// Each message has one, which is copied several times on its way to the author. So a receipt is small: values that receipts of
/// messages do not need are kept in one object (`Details`).
public struct Receipt: Sendable {
  /// The head of the log after the post.
  public var position: Position
  /// The written entry; for a repeat, the one written the first time.
  public var entry: Entry?
  /// Whether the post was a repeat, and nothing was written now.
  public var isRepeat = false
  /// For `imported`: whether other data exists already and is kept; then `isRepeat` is set, too.
  public var isKept = false
  /// Whether the entry is a message in a room whose addresses the author may not see.
  public var isAnonymized = false
  private var details: Details?

  public init(position: Position) { self.position = position }

  /// The dialog, for `openDialog`.
  public var dialog: Dialog? {
    get { details?.fields.dialog }
    set { change { $0.dialog = newValue } }
  }
  /// The room, for intents that create, change or show one.
  public var room: Room? {
    get { details?.fields.room }
    set { change { $0.room = newValue } }
  }
  /// The user, for `goOnline`.
  public var user: User? {
    get { details?.fields.user }
    set { change { $0.user = newValue } }
  }
  /// The position behind which no client has confirmed inbound entries, for `goOnline`.
  public var delivered: Position {
    get { details?.fields.delivered ?? .zero }
    set { change { $0.delivered = newValue } }
  }
  /// The number of deliveries to rooms that announce the session or its end, for `goOnline` and later intents, or that send a
  /// scheduled message to a large room. They are charged to the author.
  var deliveries: Int {
    get { details?.fields.deliveries ?? 0 }
    set { change { $0.deliveries = newValue } }
  }
  /// The large room to which these deliveries are charged as well.
  var chargedRoom: BareJID? {
    get { details?.fields.chargedRoom }
    set { change { $0.chargedRoom = newValue } }
  }
  /// The value that the intent documents; for `work` the value of its body.
  public var value: (any Sendable)? {
    get { details?.fields.value }
    set { change { $0.value = newValue } }
  }

  private mutating func change(_ body: (inout Details.Fields) -> Void) {
    var fields = details?.fields ?? Details.Fields()
    body(&fields)
    details = Details(fields)
  }

  private final class Details: Sendable {
    struct Fields: Sendable {
      var dialog: Dialog?
      var room: Room?
      var user: User?
      var delivered: Position = .zero
      var deliveries = 0
      var chargedRoom: BareJID?
      var value: (any Sendable)?
    }

    let fields: Fields

    init(_ fields: Fields) { self.fields = fields }
  }
}
