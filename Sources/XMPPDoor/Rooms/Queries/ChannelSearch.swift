import Addresses
import Dialogs
import XMLStream
import XMPP

/// A search among the public rooms (XEP-0433 4.2, 6.1): the request, the matching rooms, and the page of them.
struct ChannelSearch: Hashable {
  /// The lower-case words that must all occur in a room's texts; `nil` for all rooms.
  var words: [String]?
  var searchesName = true
  var searchesDescription = true
  var searchesAddress = true
  /// The least number of people in a room.
  var usersMin = 0
  /// Whether rooms of XEP-0045 are wanted; there are no others here.
  var wantsRooms = true
  var order = Order.users

  enum Order: String, Hashable, CaseIterable {
    /// Rooms with the most people come first.
    case users = "{urn:xmpp:channel-search:0:order}nusers"
    /// Pages in this order contain every room once.
    case address = "{urn:xmpp:channel-search:0:order}address"
  }

  static let rooms = "xep-0045"

  private enum Key {
    static let text = "q"
    static let all = "all"
    static let name = "sinname"
    static let description = "sindescription"
    // The form of the specification has one name, its table of fields the other.
    static let address = "sinaddr"
    static let addressToo = "sinaddress"
    static let usersMin = "min_users"
    static let types = "types"
    static let order = "key"
  }

  // MARK: The form

  /// The empty form, with the default values (5).
  static var form: DataForm {
    let search = ChannelSearch()
    return DataForm(
      .form, formType: "\(NS.channelSearchParameters)",
      fields: [
        DataForm.Field(Key.text, .textSingle, label: "Words"),
        DataForm.Field(Key.all, .boolean, label: "All rooms, whatever the words"),
        DataForm.Field(Key.name, search.searchesName, label: "Look at names"),
        DataForm.Field(Key.description, search.searchesDescription, label: "Look at descriptions"),
        DataForm.Field(Key.address, search.searchesAddress, label: "Look at addresses"),
        DataForm.Field(Key.usersMin, .textSingle, "\(search.usersMin)", label: "People in the room, at least"),
        DataForm.Field(
          Key.types, .listMulti, label: "Kinds of rooms", values: [rooms],
          options: [DataForm.Option(rooms, label: "Multi-User Chat")]),
        DataForm.Field(
          Key.order, .listSingle, label: "Order", values: [search.order.rawValue],
          options: [
            DataForm.Option(Order.users.rawValue, label: "People in the room"),
            DataForm.Option(Order.address.rawValue, label: "Address"),
          ]),
      ])
  }

  init(words: [String]? = nil, order: Order = .users) {
    self.words = words
    self.order = order
  }

  /// Reads a form that was filled in. Fields of other names are ignored (5).
  ///
  /// - Throws: the errors of 4.2.2, with its own conditions: `feature-not-implemented` for another order; `bad-request`
  ///   for unsuitable search words, for contradicting fields, and for a form without conditions; also `bad-request` for
  ///   another form, and `not-acceptable` for an invalid value of a field.
  init(_ form: DataForm) throws(StanzaError) {
    guard form.kind == .submit, form.formType == nil || form.formType == "\(NS.channelSearchParameters)" else {
      throw StanzaError(.badRequest, "the form is no search for rooms")
    }
    if let key = try form.single(Key.order), !key.isEmpty {
      guard let order = Order(rawValue: key) else {
        throw Self.refusal(.featureNotImplemented, "invalid-sort-key", "rooms come by people or by address")
      }
      self.order = order
    }
    searchesName = try form.boolean(Key.name) ?? true
    searchesDescription = try form.boolean(Key.description) ?? true
    let (address, addressToo) = (try form.boolean(Key.address), try form.boolean(Key.addressToo))
    searchesAddress = address ?? addressToo ?? true
    usersMin = try form.integer(Key.usersMin) ?? 0
    let types = form.values(Key.types)
    wantsRooms = types.isEmpty || types.contains(Self.rooms)

    let wantsAll = try form.boolean(Key.all) ?? false
    guard let text = try form.single(Key.text), !text.isEmpty else {
      if wantsAll { return }
      throw Self.refusal(
        .badRequest, "no-search-conditions", "say what to search for, or that all is wanted", type: .cancel)
    }
    if wantsAll {
      throw Self.conflict("either all rooms are wanted, or those with certain words", [Key.all, Key.text])
    }
    if !searchesName, !searchesDescription, !searchesAddress {
      throw Self.conflict(
        "there is nothing to search in", [Key.text, Key.name, Key.description, Key.address])
    }
    words = try Self.words(in: text)
  }

  /// Returns the words, without the punctuation around them: people write it, rooms do not have it.
  private static func words(in text: String) throws(StanzaError) -> [String] {
    let text = text.utf8.count <= DoorLimits.searchBytesMax ? text : ""
    let words = text.lowercased().split(whereSeparator: \.isWhitespace).compactMap { part -> String? in
      guard let first = part.firstIndex(where: { !$0.isPunctuation }),
        let last = part.lastIndex(where: { !$0.isPunctuation })
      else { return nil }
      return String(part[first...last])
    }
    guard !words.isEmpty, words.count <= DoorLimits.searchWordsMax else {
      throw refusal(
        .badRequest, "invalid-search-terms",
        "a search is for 1 to \(DoorLimits.searchWordsMax) words, of \(DoorLimits.searchBytesMax) bytes together")
    }
    return words
  }

  // MARK: Refusing

  private static func conflict(_ text: String, _ fields: [String]) -> StanzaError {
    let fields = fields.map { Element(Name("var", NS.channelSearchError), text: $0) }
    return refusal(.badRequest, "conflicting-fields", text, fields)
  }

  private static func refusal(
    _ condition: StanzaError.Condition, _ application: StaticString, _ text: String, _ children: [Element] = [],
    type: StanzaError.Kind = .modify
  ) -> StanzaError {
    StanzaError(
      condition, text, type: type, application: Element(Name(application, NS.channelSearchError), [:], children))
  }

  // MARK: Finding

  /// Whether the page is one of all rooms by address: nothing behind it is read, and only the people of its rooms are counted.
  func isListing(_ set: ResultSetRequest) -> Bool {
    order == .address && words == nil && usersMin == 0 && !set.isBackward
      && set.limit(default: DoorLimits.channelPageDefault, max: DoorLimits.channelPageMax) > 0
  }

  /// A matching room.
  struct Hit: Hashable {
    let room: Room
    let users: Int
  }

  func wants(_ hit: Hit) -> Bool {
    guard wantsRooms, hit.room.settings.isListed, !hit.room.isDestroyed, hit.users >= usersMin else { return false }
    guard let words else { return true }
    var texts: [String] = []
    if searchesName, let name = hit.room.settings.name { texts.append(name.lowercased()) }
    if searchesDescription, let text = hit.room.summary { texts.append(text.lowercased()) }
    if searchesAddress { texts.append(hit.room.address.description) }
    return words.allSatisfy { word in texts.contains { $0.contains(word) } }
  }

  struct Page: Equatable {
    var hits: [Hit]
    var set: ResultSetPage
  }

  /// Returns a page; called on a reader's thread. `counts` has the number of people in each room that is not empty.
  ///
  /// - Parameter listed: reads the next `DoorLimits.channelsReadMax` listed rooms behind a localpart, in their order.
  /// - Throws: `item-not-found` for an invalid anchor.
  func page(
    _ set: ResultSetRequest, counts: [DialogID: Int], _ listed: (_ after: String?) throws -> [Room]
  ) throws -> Page {
    let limit = set.limit(default: DoorLimits.channelPageDefault, max: DoorLimits.channelPageMax)
    // In the order of addresses nothing behind the page need be read.
    let isStraight = order == .address && !set.isBackward && limit > 0
    var (hits, looked): ([Hit], Int) = ([], 0)
    var (last, isWhole) = (isStraight ? set.after : nil, false)
    while wantsRooms, looked < DoorLimits.channelsSearchedMax, !(isStraight && hits.count >= limit) {
      let rooms = try listed(last)
      hits += rooms.map { Hit(room: $0, users: counts[$0.id] ?? 0) }.filter(wants)
      looked += rooms.count
      last = rooms.last?.address.local
      isWhole = rooms.count < DoorLimits.channelsReadMax
      if isWhole { break }
    }
    let isCounted = !wantsRooms || isWhole && (!isStraight || set.after == nil)
    return try page(of: hits, set, limit: limit, count: isCounted ? hits.count : nil)
  }

  /// Returns a page of sorted hits.
  ///
  /// - Parameter count: the number of all matching rooms, where it is known.
  func page(of hits: [Hit], _ set: ResultSetRequest, limit: Int, count: Int?) throws(StanzaError) -> Page {
    var sorted = hits.map { (place: Place($0, order), hit: $0) }.sorted { $0.place < $1.place }
    if let text = set.after {
      let after = try Place(text, order)
      sorted.removeAll { $0.place <= after }
    }
    if let text = set.before {
      let before = try Place(text, order)
      sorted.removeAll { $0.place >= before }
    }
    let page = set.isBackward ? sorted.suffix(limit) : sorted.prefix(limit)
    return Page(
      hits: page.map(\.hit),
      set: ResultSetPage(first: page.first?.place.text, last: page.last?.place.text, count: count))
  }

  /// The place of a room in an order. Its text does not need the room, so nothing is kept between pages (2).
  private struct Place: Comparable {
    /// The number of people; `nil` in the order of addresses.
    let users: Int?
    let local: String

    init(_ hit: Hit, _ order: Order) {
      users = order == .users ? hit.users : nil
      local = hit.room.address.local ?? ""
    }

    init(_ text: String, _ order: Order) throws(StanzaError) {
      switch order {
      case .address:
        users = nil
        local = text
      case .users:
        guard let end = text.firstIndex(of: "/"), let users = Int(text[..<end]) else {
          throw StanzaError(.itemNotFound, "the results have no such place")
        }
        self.users = users
        local = String(text[text.index(after: end)...])
      }
    }

    var text: String { users.map { "\($0)/\(local)" } ?? local }

    static func < (a: Place, b: Place) -> Bool {
      a.users == b.users ? a.local.utf8.lexicographicallyPrecedes(b.local.utf8) : (a.users ?? 0) > (b.users ?? 0)
    }
  }
}

extension Room {
  /// The room's description; for an open room without one, its topic.
  var summary: String? {
    if let about = settings.about { return about }
    return isOpen ? topic.flatMap { $0.text.isEmpty ? nil : $0.text } : nil
  }
}
