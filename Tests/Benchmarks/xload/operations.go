package main

import (
	"fmt"
	"strings"
)

// The operations that cost the server most, of one user (--user) with many dialogs, contacts and messages: each as fast as it goes, over eight
// connections of the app protocol or four XMPP sessions.

// word is in every message with which an archive is filled.
var word = strings.Repeat("x", 100-stampLen)

var operations = map[string]func(*attacker) error{
	"search":            asks("GET", "/messages?limit=100&query="+word, ""),
	"search-candidates": asks("GET", "/messages?limit=100&from=c999&query="+word, ""),
	"dialogs":           asks("GET", "/dialogs?limit=100", ""),
	"public-dialogs":    asks("GET", "/dialogs?scope=public&limit=100", ""),
	"history":           asks("GET", "/dialogs/{dialog}/messages?limit=100&include=dialog,members,pins,markers,users", ""),
	"users":             asks("GET", "/users?query=c&field=id&limit=100", ""),
	"sync":              asks("GET", "/sync", ""),
	"posts":             asks("POST", "/dialogs/{dialog}/messages", `{"clientId":"{i}","content":{"type":"text","text":"a post"}}`),
	"reactions":         asks("PUT", "/dialogs/{dialog}/messages/{message}/reactions", `{"emoji":["👍"]}`),
	"groups":            asks("POST", "/dialogs", `{"type":"group","name":"{i}","memberIds":["c0","c1","c2","c3","c4","c5","c6","c7"]}`),
	"slots":             asks("POST", "/attachments", `{"name":"{i}.bin","mediaType":"application/octet-stream","size":1}`),
	"profile":           asks("PATCH", "/users/me", `{"status":"{i}"}`),
	"exports":           asks("POST", "/users/me/exports", ""),
	"archive": says("<iq type='set' id='{i}'><query xmlns='urn:xmpp:mam:2' queryid='{i}'><set xmlns='http://jabber.org/protocol/rsm'>" +
		"<max>50</max><before/></set></query></iq>"),
	"full-text": says("<iq type='set' id='{i}'><query xmlns='urn:xmpp:mam:2' queryid='{i}'><x xmlns='jabber:x:data' type='submit'>" +
		"<field var='FORM_TYPE' type='hidden'><value>urn:xmpp:mam:2</value></field><field var='{urn:xmpp:fulltext:0}fulltext'><value>" + word +
		"</value></field></x><set xmlns='http://jabber.org/protocol/rsm'><max>50</max><before/></set></query></iq>"),
	"inbox": says("<iq type='get' id='{i}'><inbox xmlns='urn:xmpp:inbox:1'/></iq>"),
	"room-search": says("<iq type='get' id='{i}' to='{muc}'><search xmlns='urn:xmpp:channel-search:0:search'><x xmlns='jabber:x:data' type='submit'>" +
		"<field var='FORM_TYPE'><value>urn:xmpp:channel-search:0:search-params</value></field><field var='all'><value>true</value></field>" +
		"</x></search></iq>"),
	"user-search": says("<iq type='set' id='{i}' to='{domain}'><query xmlns='jabber:iq:search'><nick>c</nick></query></iq>"),
	"room-list":   says("<iq type='get' id='{i}' to='{muc}'><query xmlns='http://jabber.org/protocol/disco#items'/></iq>"),
	"roster":      says("<iq type='get' id='{i}'><query xmlns='jabber:iq:roster'/></iq>"),
	"contacts":    says("<iq type='set' id='{i}'><query xmlns='jabber:iq:roster'><item jid='c0@{domain}' name='{i}'/></query></iq>"),
	"items": says("<iq type='set' id='{i}'><pubsub xmlns='http://jabber.org/protocol/pubsub'><publish node='urn:example:large'><item id='current'>" +
		"<large xmlns='urn:example:large'>" + strings.Repeat("x", 190000) + "</large></item></publish></pubsub></iq>"),
	"presence": says("<presence><status>{i}</status></presence>"),
	"entrances": says("<presence to='f{i}-{session}@{muc}/x'><x xmlns='http://jabber.org/protocol/muc'/></presence>" +
		"<presence type='unavailable' to='f{i}-{session}@{muc}/x'/>"),
	"messages":       says("<message type='chat' to='c0@{domain}'><body>a message</body></message>"),
	"messages-large": says("<message type='chat' to='c0@{domain}'><body>" + strings.Repeat("x", 200000) + "</body></message>"),
}

// publicRooms are those that searches look through.
const publicRooms = 500

// furnish gives --user a past, as by archive, and the server public rooms. A later run finds both there.
func furnish(s *settings) error {
	c, err := fillOne(s)
	if err != nil {
		return err
	}
	c.close()
	a := newAPI(s.http)
	defer a.close()
	if err := a.signIn(s, s.user, "rooms"); err != nil {
		return err
	}
	for i := 0; i < publicRooms; i++ {
		if err := a.call("POST", "/dialogs", map[string]string{
			"type": "public", "name": fmt.Sprintf("Market %d", i), "externalId": fmt.Sprintf("market-%d", i)}, nil); err != nil {
			return err
		}
	}
	return nil
}

// says has four sessions of --user write the same over and over, while its contacts are online.
func says(stanza string) func(*attacker) error {
	return func(a *attacker) error {
		s := a.s
		contacts, err := loginAll(&s.options, userRange(s.peers, 0, s.contacts), "online", s.parallel, nil, func(c *conn) error {
			err := goOnline(&s.options)(c)
			if err == nil {
				c.drain()
			}
			return err
		})
		a.kept = contacts
		if err != nil {
			return err
		}
		text := strings.NewReplacer("{muc}", s.muc, "{domain}", s.domain).Replace(stanza)
		return a.writes(4, func(session int) func(int) string {
			return numbered(strings.ReplaceAll(text, "{session}", string(rune('a'+session))))
		})
	}
}
