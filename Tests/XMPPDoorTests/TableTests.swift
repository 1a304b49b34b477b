import Basics
import Dialogs
import NIOCore
import Testing
import XMLStream
import XMPP

@testable import XMPPDoor

@Suite("The table of features")
struct TableTests {
  let table = Features.table()

  @Test func noNumberIsThereTwice() {
    let shown = Features.all.map { $0.xep } + OfflineMessages.passedOn + Features.elsewhere
    let numbers = shown.map(\.number).filter { $0 != 0 }
    #expect(Set(numbers).count == numbers.count)
  }

  @Test func serverSaysWhatItIs() throws {
    let info = table.capabilities(of: .server)
    #expect(info.isWellFormed)
    // XEP-0223 5: older clients look for PEP here.
    #expect(
      info.identities == [
        .init(category: "server", type: "im", name: "Parley"), .init(category: "pubsub", type: "pep"),
      ])
    for feature in [
      "http://jabber.org/protocol/disco#info", "http://jabber.org/protocol/disco#items", "urn:xmpp:ping",
      "jabber:iq:version", "urn:xmpp:time", "jabber:iq:last", "vcard-temp", "urn:xmpp:blocking", "urn:xmpp:carbons:2",
      "urn:xmpp:mam:2",
    ] { #expect(info.features.contains(feature), "\(feature)") }
    #expect(!info.features.contains("urn:xmpp:mam:2#extended"), "the server has no archive of its own")
  }

  @Test func accountSaysWhatItIs() {
    let info = table.capabilities(of: .account)
    #expect(info.isWellFormed)
    #expect(
      info.identities == [.init(category: "account", type: "registered"), .init(category: "pubsub", type: "pep")])
    for feature in [
      "http://jabber.org/protocol/pubsub#publish-options", "http://jabber.org/protocol/pubsub#persistent-items",
      "urn:xmpp:bookmarks:1#compat", "urn:xmpp:bookmarks-conversion:0", "urn:xmpp:mam:2", "urn:xmpp:mam:2#extended",
      "urn:xmpp:sid:0", "vcard-temp",
    ] {
      #expect(info.features.contains(feature), "\(feature)")
    }
  }

  /// XEP-0115 5.4: a receiver of the answer computes the announced hash.
  @Test(arguments: [FeatureTable.Target.server, .account, .session])
  func hashFitsTheAnswer(_ target: FeatureTable.Target) throws {
    let capabilities = table.capabilities(of: target)
    let node = EntityCapabilities.node(of: capabilities)
    let answer = try element { Disco.write(capabilities, node: node, into: &$0) }
    #expect(answer["node"] == node)
    let read = try Capabilities(answer)
    #expect(read == capabilities)
    #expect(node.hasSuffix("#\(read.verification)"))
  }

  /// An answer is composed once, and anew when what it depends on has changed.
  @Test func whatIsOfferedIsComposedOnce() {
    let answers = InfoAnswers()
    let capabilities = table.capabilities(of: .server)
    var count = 0
    func ask(in domain: String = "", version: Int = 0) -> InfoAnswers.Answer {
      answers.answer(of: .server, in: domain, version: version) {
        count += 1
        return capabilities
      }
    }
    let node = EntityCapabilities.node(of: capabilities)
    for _ in 1...3 {
      let answer = ask()
      #expect(answer.node == node)
      #expect(String(buffer: answer.whole) == written { Disco.write(capabilities, node: nil, into: &$0) })
      #expect(String(buffer: answer.ofNode) == written { Disco.write(capabilities, node: node, into: &$0) })
    }
    #expect(count == 1)
    for version in [0, 0, 1, 1] { _ = ask(in: "capulet.lit", version: version) }
    #expect(count == 3)
  }

  @Test func streamOffersLimitsBeforeAndAfter() throws {
    let features = Features.streamFeatures(table, AuthenticationPolicy(decoy: SCRAMDecoy(secret: [])))
    func limit(_ conditions: StreamConditions) -> String? {
      features.offered(in: conditions).lazy.map(\.element).first { $0.local == "limits" }?
        .first(Name("max-bytes", NS.limits))?.text
    }
    #expect(limit([]) == "10240")
    #expect(limit([.secured, .authenticated]) == "262144")
    let offered = features.offered(in: [.secured, .authenticated]).map(\.element)
    #expect(Set(offered.map(\.local)) == ["sm", "ver", "sub", "csi", "limits", "c"])
    let caps = try #require(offered.first { $0.is(.caps) })
    #expect(caps["ver"] == table.capabilities(of: .server).verification)
  }

  @Test func requestsFindTheirHandlersByTarget() throws {
    let ping = try stanza("<ping xmlns='urn:xmpp:ping'/>")
    #expect(table.iqHandler(ping, isSet: false, target: .server) != nil)
    #expect(table.iqHandler(ping, isSet: false, target: .user) == nil, "it would tell that the account exists")
    #expect(table.iqHandler(ping, isSet: true, target: .server) == nil)
    let roster = try stanza("<query xmlns='jabber:iq:roster'/>")
    #expect(table.iqHandler(roster, isSet: true, target: .user) != nil, "it is forbidden, not unknown")
    #expect(table.iqHandler(try stanza("<query xmlns='urn:none'/>"), isSet: false, target: .server) == nil)
  }

  @Test func smallAnswersHaveTheFormOfTheirXEPs() {
    // XEP-0202 3, XEP-0092 3, XEP-0012 2.
    #expect(
      written { EntityTime.write(.init(milliseconds: 1_166_550_035_000), into: &$0) }
        == "<time xmlns='urn:xmpp:time'><tzo>+00:00</tzo><utc>2006-12-19T17:40:35.000Z</utc></time>")
    #expect(
      written { SoftwareVersion.write(version: "1.0", into: &$0) }
        == "<query xmlns='jabber:iq:version'><name>Parley</name><version>1.0</version></query>")
    #expect(
      written { LastActivity.write(milliseconds: 903_999, into: &$0) }
        == "<query xmlns='jabber:iq:last' seconds='903'/>")
    #expect(
      written { LastActivity.write(milliseconds: 903_999, status: "Heading & Home", into: &$0) }
        == "<query xmlns='jabber:iq:last' seconds='903'>Heading &amp; Home</query>")
    #expect(
      written { LastActivity.write(milliseconds: -5, into: &$0) } == "<query xmlns='jabber:iq:last' seconds='0'/>")
    #expect(
      written { Delay.write(someTime, by: "capulet.lit", into: &$0) }
        == "<delay xmlns='urn:xmpp:delay' from='capulet.lit' stamp='2010-07-10T23:08:25.000Z'/>")
  }
}
