/// Session descriptions of real programs.
enum Offers {
  /// Chromium's offer of one microphone, with shorter names: header extensions, RED with an unnamed parameter, comfort
  /// noise.
  static let chromium = """
    v=0
    o=- 4611731400430051336 2 IN IP4 127.0.0.1
    s=-
    t=0 0
    a=group:BUNDLE 0
    a=extmap-allow-mixed
    a=msid-semantic: WMS 7c1b
    m=audio 9 UDP/TLS/RTP/SAVPF 111 63 9 0 8 13 110 126
    c=IN IP4 0.0.0.0
    a=rtcp:9 IN IP4 0.0.0.0
    a=ice-ufrag:EsAw
    a=ice-pwd:P2uYro0UCOQ4zxjKXaWCBui1
    a=ice-options:trickle
    a=fingerprint:sha-256 D2:FA:0E:C3:22:59:5E:14:95:69:92:3D:13:B4:84:24:2C:C2:A2:C0:3E:FD:34:8E:5E:EA:6F:AF:52:CE:E6:0F
    a=setup:actpass
    a=mid:0
    a=extmap:1 urn:ietf:params:rtp-hdrext:ssrc-audio-level
    a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
    a=extmap:3 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
    a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid
    a=sendrecv
    a=msid:7c1b 3f0a
    a=rtcp-mux
    a=rtcp-rsize
    a=rtcp-xr:rcvr-rtt=all
    a=rtpmap:111 opus/48000/2
    a=rtcp-fb:111 transport-cc
    a=fmtp:111 minptime=10;useinbandfec=1
    a=rtpmap:63 red/48000/2
    a=fmtp:63 111/111
    a=rtpmap:9 G722/8000
    a=rtpmap:0 PCMU/8000
    a=rtpmap:8 PCMA/8000
    a=rtpmap:13 CN/8000
    a=rtpmap:110 telephone-event/48000
    a=rtpmap:126 telephone-event/8000
    a=ssrc:1466402119 cname:Aw8o
    a=ssrc:1466402119 msid:7c1b 3f0a

    """.replacing("\n", with: "\r\n")

  /// Two media, of which the second has retransmissions.
  static let video =
    chromium.replacing("BUNDLE 0", with: "BUNDLE 0 1")
      + """
      m=video 9 UDP/TLS/RTP/SAVPF 96 97
      c=IN IP4 0.0.0.0
      a=rtcp:9 IN IP4 0.0.0.0
      a=ice-ufrag:EsAw
      a=ice-pwd:P2uYro0UCOQ4zxjKXaWCBui1
      a=fingerprint:sha-256 D2:FA:0E:C3
      a=setup:actpass
      a=mid:1
      a=recvonly
      a=rtcp-mux
      a=rtpmap:96 VP8/90000
      a=rtcp-fb:96 goog-remb
      a=rtcp-fb:96 nack
      a=rtcp-fb:96 nack pli
      a=rtpmap:97 rtx/90000
      a=fmtp:97 apt=96
      a=ssrc-group:FID 11 12
      a=ssrc:11 cname:Aw8o
      a=ssrc:12 cname:Aw8o

      """.replacing("\n", with: "\r\n")

  /// The contents of a `session-initiate` by a client that follows the XEPs, in the form of Conversations and Dino: one
  /// candidate is with it, over TCP is another.
  static let jingle = """
    <jingle xmlns='urn:xmpp:jingle:1' action='session-initiate' initiator='juliet@localhost/desk' sid='a73s'>
      <content creator='initiator' name='0' senders='both'>
        <description xmlns='urn:xmpp:jingle:apps:rtp:1' media='audio'>
          <payload-type id='111' name='opus' clockrate='48000' channels='2'>
            <parameter name='minptime' value='10'/>
            <parameter name='useinbandfec' value='1'/>
            <rtcp-fb xmlns='urn:xmpp:jingle:apps:rtp:rtcp-fb:0' type='transport-cc'/>
          </payload-type>
          <payload-type id='0' name='PCMU' clockrate='8000' channels='1'/>
          <rtp-hdrext xmlns='urn:xmpp:jingle:apps:rtp:rtp-hdrext:0' id='1' uri='urn:ietf:params:rtp-hdrext:ssrc-audio-level'/>
          <source xmlns='urn:xmpp:jingle:apps:rtp:ssma:0' ssrc='77'><parameter name='cname' value='x'/><parameter
            name='msid' value='my-media-stream my-audio-track'/></source>
          <rtcp-mux/>
        </description>
        <transport xmlns='urn:xmpp:jingle:transports:ice-udp:1' ufrag='8hhy' pwd='asd88fgpdd777uzjYhagZg'>
          <fingerprint xmlns='urn:xmpp:jingle:apps:dtls:0' hash='sha-256' setup='actpass'>02:1A:CC</fingerprint>
          <candidate component='1' foundation='1' generation='0' id='el0747fg11' ip='192.0.2.3' network='1' port='8998'
            priority='2130706431' protocol='udp' type='host'/>
          <candidate component='1' foundation='2' generation='0' id='el0747fg12' ip='192.0.2.3' network='1' port='9'
            priority='1' protocol='tcp' type='host'/>
        </transport>
      </content>
      <group xmlns='urn:xmpp:jingle:apps:grouping:0' semantics='BUNDLE'><content name='0'/></group>
    </jingle>
    """

  /// The contents of Dino 0.4.2's `session-initiate` for a call by video: keys of SDES beside DTLS, candidates for RTCP
  /// beside those for RTP, a transport for each medium, and fingerprints on a line of their own.
  static let dino = """
    <jingle xmlns='urn:xmpp:jingle:1' action='session-initiate' initiator='juliet@localhost/dino' sid='a73s'>
      <content creator='initiator' name='audio' senders='both'>
        <description xmlns='urn:xmpp:jingle:apps:rtp:1' media='audio'>
          <payload-type id='111' channels='2' clockrate='48000' name='opus'>
            <parameter name='useinbandfec' value='1' />
          </payload-type>
          <payload-type id='112' clockrate='32000' name='speex' />
          <encryption>
            <crypto crypto-suite='AES_CM_128_HMAC_SHA1_80' key-params='inline:AAAA' tag='1' />
          </encryption>
          <rtcp-mux />
        </description>
        <transport xmlns='urn:xmpp:jingle:transports:ice-udp:1' ufrag='aaaa' pwd='WMaqlHddzwqDilaRrDiyHE'>
          <fingerprint xmlns='urn:xmpp:jingle:apps:dtls:0' hash='sha-256' setup='actpass'>
            B5:15:DC
          </fingerprint>
          <candidate component='1' foundation='2' generation='0' id='561837e3' ip='fd00::2' network='0' port='47760'
            priority='2015363583' protocol='udp' type='host' />
          <candidate component='2' foundation='2' generation='0' id='3582ea93' ip='fd00::2' network='0' port='32929'
            priority='2015363582' protocol='udp' type='host' />
        </transport>
      </content>
      <content creator='initiator' name='video' senders='both'>
        <description xmlns='urn:xmpp:jingle:apps:rtp:1' media='video'>
          <payload-type id='98' clockrate='90000' name='VP8'>
            <rtcp-fb xmlns='urn:xmpp:jingle:apps:rtp:rtcp-fb:0' type='goog-remb' />
            <rtcp-fb xmlns='urn:xmpp:jingle:apps:rtp:rtcp-fb:0' type='ccm' subtype='fir' />
          </payload-type>
          <rtp-hdrext xmlns='urn:xmpp:jingle:apps:rtp:rtp-hdrext:0' id='1' uri='urn:3gpp:video-orientation' />
          <rtcp-mux />
        </description>
        <transport xmlns='urn:xmpp:jingle:transports:ice-udp:1' ufrag='bbbb' pwd='x6pWw4jDSaRfkesRnG5vVl'>
          <fingerprint xmlns='urn:xmpp:jingle:apps:dtls:0' hash='sha-256' setup='actpass'>
            B5:15:DC
          </fingerprint>
        </transport>
      </content>
    </jingle>
    """
}
