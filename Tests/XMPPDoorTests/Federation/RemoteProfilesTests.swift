import Dialogs
import Testing
import XMLStream

@testable import XMPPDoor

/// The answers of other servers to a request for a picture (XEP-0084 4.3).
@Suite struct RemoteProfilesTests {
  private func answer(_ items: String) throws -> Element {
    try stanza("<iq type='result'><pubsub xmlns='http://jabber.org/protocol/pubsub'>\(items)</pubsub></iq>")
  }

  @Test func thePictureIsTheDataOfTheItem() throws {
    let data = "<data xmlns='urn:xmpp:avatar:data'>/9j/AQ==</data>"
    let items = try answer("<items node='urn:xmpp:avatar:data'><item id='x'>\(data)</item></items>")
    #expect(UserAvatar.avatar(in: items) == Avatar([0xFF, 0xD8, 0xFF, 1]))
  }

  @Test(arguments: [
    "", "<items node='urn:xmpp:avatar:data'/>", "<items node='urn:xmpp:avatar:data'><item id='x'/></items>",
    "<items node='urn:xmpp:avatar:data'><item id='x'><data xmlns='urn:xmpp:avatar:data'>§</data></item></items>",
    "<items node='urn:xmpp:avatar:data'><item id='x'><metadata xmlns='urn:xmpp:avatar:metadata'/></item></items>",
  ])
  func anythingElseIsNone(_ items: String) throws {
    #expect(UserAvatar.avatar(in: try answer(items)) == nil)
  }

  @Test func theRequestNamesThePicture() throws {
    let items = "<items node='urn:xmpp:avatar:data'><item id='abc'/></items>"
    #expect(
      String(decoding: UserAvatar.request("abc"), as: UTF8.self)
        == "<pubsub xmlns='http://jabber.org/protocol/pubsub'>\(items)</pubsub>")
  }
}
