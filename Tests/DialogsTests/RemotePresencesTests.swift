import Addresses
import Basics
import Testing

@testable import Dialogs

/// The presences of contacts elsewhere, as users here were told.
@Suite struct RemotePresencesTests {
  private func presence(
    _ address: String, _ resource: String, _ availability: Presence.Availability = .online, extras: Int = 0
  ) throws -> Presence {
    Presence(
      from: Party(remote: try BareJID(address), realm: RealmID(-1)), resource: resource, availability: availability,
      extras: Array(repeating: 0, count: extras), time: Timestamp(milliseconds: 0))
  }

  /// The bytes of a record of these tests, and somewhat more.
  private let recordBytes = Limits.remotePresenceRecordBytes + 188

  @Test func eachResourceHasOnePresenceForEachUserHere() throws {
    let book = RemotePresences()
    let (tybalt, romeo, juliet) = (
      try BareJID("tybalt@verona.example"), try BareJID("romeo@localhost"), try BareJID("juliet@localhost")
    )
    #expect(book.note(try presence("tybalt@verona.example", "phone"), to: romeo, begins: true) == true)
    #expect(book.note(try presence("tybalt@verona.example", "phone", .away), to: romeo, begins: true) == true)
    #expect(book.note(try presence("tybalt@verona.example", "phone", .doNotDisturb), to: juliet, begins: true) == true)
    #expect(book.note(try presence("tybalt@verona.example", "desk"), to: romeo, begins: true) == true)
    #expect(book.presences(of: tybalt, toldTo: romeo).map(\.availability) == [.away, .online])
    #expect(book.presences(of: tybalt, toldTo: juliet).map(\.availability) == [.doNotDisturb])

    // The end of one resource, and of all.
    book.note(try presence("tybalt@verona.example", "phone", .offline), to: romeo, begins: true)
    #expect(book.presences(of: tybalt, toldTo: romeo).map(\.resource) == ["desk"])
    book.note(try presence("tybalt@verona.example", "", .offline), to: romeo, begins: true)
    #expect(book.presences(of: tybalt, toldTo: romeo).isEmpty)
    #expect(book.presences(of: tybalt, toldTo: juliet).count == 1)
  }

  @Test func aRecordOfAnAbsentUserIsKeptUpToDateAndNotBegun() throws {
    let book = RemotePresences()
    let (tybalt, romeo) = (try BareJID("tybalt@verona.example"), try BareJID("romeo@localhost"))
    #expect(book.note(try presence("tybalt@verona.example", "phone"), to: romeo, begins: false) == false)
    #expect(book.presences(of: tybalt, toldTo: romeo).isEmpty)
    book.note(try presence("tybalt@verona.example", "phone"), to: romeo, begins: true)
    book.note(try presence("tybalt@verona.example", "phone", .away), to: romeo, begins: false)
    #expect(book.presences(of: tybalt, toldTo: romeo).map(\.availability) == [.away])
  }

  @Test func aDomainThatIsGoneIsForgotten() throws {
    let book = RemotePresences()
    let (tybalt, paris) = (try BareJID("tybalt@verona.example"), try BareJID("paris@padua.example"))
    let (romeo, macbeth) = (try BareJID("romeo@localhost"), try BareJID("macbeth@other.example"))
    for viewer in [romeo, macbeth] {
      book.note(try presence("tybalt@verona.example", "phone"), to: viewer, begins: true)
      book.note(try presence("paris@padua.example", "phone"), to: viewer, begins: true)
    }
    let known = book.contacts(at: "verona.example")
    #expect(known.addresses == [tybalt])
    // One that is newer stays.
    book.note(try presence("tybalt@verona.example", "desk"), to: romeo, begins: true)
    let some = book.end(tybalt, toldAt: "localhost", through: known.stamp)
    #expect(some.map(\.viewer) == [romeo] && some.map(\.resource) == ["phone"])
    #expect(book.presences(of: tybalt, toldTo: romeo).map(\.resource) == ["desk"])
    let all = book.end(tybalt, toldAt: "localhost", through: .max)
    #expect(all.map(\.viewer) == [romeo] && all.map(\.resource) == [""])
    #expect(book.presences(of: tybalt, toldTo: romeo).isEmpty)
    #expect(book.end(tybalt, toldAt: "localhost", through: .max).isEmpty)
    // Of many who were told, so many at a time.
    for number in 0..<3 {
      book.note(try presence("x@a.example", "x"), to: try BareJID("u\(number)@localhost"), begins: true)
    }
    let contact = try BareJID("x@a.example")
    let ended = (0..<3).map { _ in book.end(contact, toldAt: "localhost", through: .max, most: 2).count }
    #expect(ended == [2, 1, 0])
    #expect(book.presences(of: tybalt, toldTo: macbeth).count == 1)
    #expect(book.presences(of: paris, toldTo: romeo).count == 1)
  }

  @Test func atTheBoundTheOldestIsForgotten() throws {
    let book = RemotePresences(bound: 3 * recordBytes)
    let romeo = try BareJID("romeo@localhost")
    func known() throws -> [Bool] {
      try (1...5).map { try !book.presences(of: BareJID("p\($0)@verona.example"), toldTo: romeo).isEmpty }
    }
    for number in 1...3 { book.note(try presence("p\(number)@verona.example", "x"), to: romeo, begins: true) }
    // The first is told anew, so the second is the oldest.
    book.note(try presence("p1@verona.example", "x", .away), to: romeo, begins: true)
    book.note(try presence("p4@verona.example", "x"), to: romeo, begins: true)
    #expect(try known() == [true, false, true, true, false])
    // One that has ended makes room.
    book.note(try presence("p3@verona.example", "x", .offline), to: romeo, begins: true)
    book.note(try presence("p5@verona.example", "x"), to: romeo, begins: true)
    #expect(try known() == [true, false, false, true, true])
    for _ in 0..<1_000 { book.note(try presence("p5@verona.example", "x"), to: romeo, begins: true) }
    #expect(try known() == [true, false, false, true, true])
  }

  /// Subdomains cost their owner nothing.
  @Test func atTheBoundTheZoneWithTheMostGivesWay() throws {
    let book = RemotePresences(bound: 4 * recordBytes)
    let (romeo, verona) = (try BareJID("romeo@localhost"), try BareJID("x@verona.example"))
    let domains = ["padua.example", "a.flood.example", "b.flood.example", "c.flood.example", "verona.example"]
    func known() throws -> [Bool] {
      try domains.map { try !book.presences(of: BareJID("x@\($0)"), toldTo: romeo).isEmpty }
    }
    for domain in domains { book.note(try presence("x@\(domain)", "phone"), to: romeo, begins: true) }
    #expect(try known() == [true, false, true, true, true])
    // Once another zone has the most, its own oldest record gives way to its newest.
    book.note(try presence("x@verona.example", "desk"), to: romeo, begins: true)
    book.note(try presence("x@verona.example", "tablet"), to: romeo, begins: true)
    #expect(try known() == [true, false, false, true, true])
    #expect(book.presences(of: verona, toldTo: romeo).map(\.resource) == ["desk", "tablet"])
  }

  /// Few long ones take as much memory as many short ones.
  @Test func atTheBoundTheZoneWithTheMostBytesGivesWay() throws {
    let book = RemotePresences(bound: 3 * recordBytes + 4_096)
    let romeo = try BareJID("romeo@localhost")
    let names = ["a@padua.example", "b@padua.example", "c@padua.example", "x@verona.example", "y@verona.example"]
    for name in names {
      book.note(try presence(name, "x", extras: name.hasSuffix("padua.example") ? 0 : 3_000), to: romeo, begins: true)
    }
    let known = try names.map { try !book.presences(of: BareJID($0), toldTo: romeo).isEmpty }
    #expect(known == [true, true, true, false, true])
    // The nodes of which a client is notified count as well.
    _ = book.setInterests(
      [String(repeating: "n", count: 1_000)], of: try BareJID("a@padua.example"), resource: "x", toldTo: romeo)
    #expect(try book.presences(of: BareJID("y@verona.example"), toldTo: romeo).isEmpty)
    #expect(try book.presences(of: BareJID("a@padua.example"), toldTo: romeo).count == 1)
  }

  /// Clients are sent the children of the stanza, which have all of it.
  @Test func aStatusIsNotKeptTwice() throws {
    let tybalt = Party(remote: try BareJID("tybalt@verona.example"), realm: RealmID(-1))
    func shown(_ extras: [UInt8]?) -> Presence {
      Presence(
        from: tybalt, resource: "phone", availability: .online,
        status: String(repeating: "s", count: Limits.statusBytesMax + 1), extras: extras,
        time: Timestamp(milliseconds: 0))
    }
    #expect(shown([0]).status?.utf8.count == Limits.statusBytesMax)
    #expect(shown([0]).byteCount == Limits.statusBytesMax + 1)
    #expect(shown(nil).status?.utf8.count == Limits.statusBytesMax + 1)
  }

  /// The bound is that of all possible records: one that were counted after its end would drive another out.
  @Test func whatIsKnownIsWhatWasNotedAndNotForgotten() throws {
    struct Key: Hashable {
      let contact: BareJID
      let viewer: BareJID
      let resource: String
    }
    let domains = ["a.flood.example", "b.flood.example", "verona.example"]
    let viewers = [try BareJID("romeo@localhost"), try BareJID("macbeth@other.example")]
    var keys: [Key] = []
    for domain in domains {
      for viewer in viewers {
        for name in ["x", "y"] {
          for resource in ["phone", "desk"] {
            keys.append(Key(contact: try BareJID("\(name)@\(domain)"), viewer: viewer, resource: resource))
          }
        }
      }
    }
    let book = RemotePresences(
      bound: keys.reduce(0) { sum, key in
        sum + Limits.remotePresenceRecordBytes + key.contact.description.heldBytes
          + key.viewer.description.heldBytes + key.resource.heldBytes
      })
    var expected: Set<Key> = []
    var generator = Seeded(41)
    for _ in 0..<2_000 {
      let key = keys[Int.random(in: 0..<keys.count, using: &generator)]
      let step = Int.random(in: 0..<20, using: &generator)
      if step == 0 {
        let (domain, local) = (key.contact.domain, Bool.random(using: &generator) ? key.viewer.domain : nil)
        let known = book.contacts(at: domain)
        for contact in known.addresses {
          for viewer in viewers where local.map({ viewer.hasDomain($0) }) != false {
            _ = book.end(contact, toldAt: viewer.domain, through: known.stamp)
          }
        }
        expected = expected.filter { $0.contact.domain != domain || local != nil && $0.viewer.domain != local }
      } else {
        let isAvailable = step < 15
        let shown = try presence(key.contact.description, key.resource, isAvailable ? .online : .offline)
        book.note(shown, to: key.viewer, begins: true)
        if isAvailable { expected.insert(key) } else { expected.remove(key) }
      }
      let known = keys.filter { key in
        book.presences(of: key.contact, toldTo: key.viewer).contains { $0.resource == key.resource }
      }
      #expect(Set(known) == expected)
    }
  }

  /// The attributes of a stanza may be as large as its children.
  @Test func aLargePresenceIsNotKept() throws {
    let book = RemotePresences()
    let (tybalt, romeo) = (try BareJID("tybalt@verona.example"), try BareJID("romeo@localhost"))
    let (large, half) = (Limits.remotePresenceBytesMax + 1, Limits.remotePresenceBytesMax / 2)
    for (id, language, extras, isKept) in [
      (1, 0, 0, true), (large, 0, 0, false), (0, large, 0, false), (0, 0, large, false), (half, half, 1, false),
    ] {
      let presence = Presence(
        from: Party(remote: tybalt, realm: RealmID(-1)), resource: "phone", availability: .online,
        id: String(repeating: "i", count: id), language: String(repeating: "l", count: language),
        extras: Array(repeating: 0, count: extras), time: Timestamp(milliseconds: 0))
      #expect(book.note(presence, to: romeo, begins: true) == isKept)
      #expect(book.presences(of: tybalt, toldTo: romeo).isEmpty == !isKept)
      // Its end is shown all the same.
      #expect(book.hasRecord(of: tybalt, toldTo: romeo))
    }
  }

  @Test func interestsAreThoseOfOneResource() throws {
    let book = RemotePresences()
    let (tybalt, romeo) = (try BareJID("tybalt@verona.example"), try BareJID("romeo@localhost"))
    book.note(try presence("tybalt@verona.example", "phone"), to: romeo, begins: true)
    book.note(try presence("tybalt@verona.example", "desk"), to: romeo, begins: true)
    #expect(book.interested(in: "tunes", of: romeo, at: tybalt).isEmpty)
    func learn(_ nodes: Set<String>, _ resource: String = "desk") -> Set<String> {
      book.setInterests(nodes, of: tybalt, resource: resource, toldTo: romeo)
    }
    #expect(learn(["tunes"]) == ["tunes"])
    #expect(book.interested(in: "tunes", of: romeo, at: tybalt) == ["desk"])
    // Another presence changes nothing about them.
    book.note(try presence("tybalt@verona.example", "desk", .away), to: romeo, begins: true)
    #expect(book.interested(in: "tunes", of: romeo, at: tybalt) == ["desk"])
    // What it wants more is told, and all of it again once the client is new.
    #expect(learn(["tunes", "mood"]) == ["mood"])
    #expect(learn(["mood"]) == [])
    #expect(book.interested(in: "tunes", of: romeo, at: tybalt).isEmpty)
    book.note(try presence("tybalt@verona.example", "desk", .offline), to: romeo, begins: true)
    #expect(learn(["mood"]) == [])
    book.note(try presence("tybalt@verona.example", "desk"), to: romeo, begins: true)
    #expect(learn(["mood"]) == ["mood"])
  }
}
