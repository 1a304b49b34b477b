"""Net::XMPP, the Perl library of many monitoring and notification scripts, and sendxmpp, one of them, with an app client on the
other side. A bot (`BOT`) answers what it is told.
"""
import shutil
import subprocess

from lib.across import Across
from lib.harness import PASSWORD, PATIENCE, Failure, expect
from lib.services import Program

BOT = r"""
use strict; use Net::XMPP; $| = 1;
my ($port, $certificate, $password, $room) = @ARGV;
my $client = Net::XMPP::Client->new();
$client->InitCallbacks();  # 1.05 forgets those that it has set itself: its reference to them is a weak one
my $goes_on = 1;
sub say_to { $client->MessageSend(to => shift, type => shift, body => shift) }
$client->Connect(hostname => "localhost", port => $port, tls => 1, ssl_ca_path => $certificate, ssl_verify => 1, srv => 0)
  or die "no connection: $!";
my @result = $client->AuthSend(username => "romeo", password => $password, resource => "perl");
die "login: @result" unless $result[0] eq "ok";
$client->SetMessageCallBacks(
  chat => sub { my $m = $_[1]; $goes_on = 0 if $m->GetBody() eq "farewell"; say_to($m->GetFrom(), "chat", "heard: " . $m->GetBody()) },
  groupchat => sub { my $m = $_[1]; say_to($room, "groupchat", "heard: " . $m->GetBody()) if $m->GetBody() =~ /^bot, / });
$client->SetPresenceCallBacks(
  available => sub { print "entered\n" if $_[1]->GetFrom() eq "$room/Romeo" },
  subscribe => sub { my $p = $_[1]; $client->Subscription(type => $_, to => $p->GetFrom()) for ("subscribed", "subscribe") });
$client->RosterRequest();
my %roster = $client->RosterGet();
print "roster: ", join(" ", map { "$_=$roster{$_}{subscription}" } sort keys %roster), "\n";
$client->PresenceSend();
my $presence = Net::XMPP::Presence->new();
$presence->SetPresence(to => "$room/Romeo");
$presence->InsertRawXML("<x xmlns='http://jabber.org/protocol/muc'/>");
$client->Send($presence);
print "ready\n";
while ($goes_on) { die "the connection is lost" unless defined $client->Process(1) }
$client->Disconnect();
print "ended\n";
"""


def converse(checks, server, bot):
    juliet, dialog = server.juliet, server.dialog
    with checks.check("Net::XMPP: logs in over STARTTLS, whose certificate it verifies, and has its roster"):
        bot.log.until("its roster", lambda text: "roster: juliet@localhost=both\n" in text)
        server.online()
    with checks.check("Net::XMPP: a message from the app, and the answer"):
        juliet.say(dialog, "Ay me & <all>")
        server.hears("heard: Ay me & <all>")
    with checks.check("Net::XMPP: in the app's room"):
        bot.log.until("it has entered", lambda text: "entered\n" in text)
        juliet.say(server.room, "bot, part these fools")
        server.hears("heard: bot, part these fools", server.room)
    with checks.check("Net::XMPP: a user of the app asks to be a contact, and is one"):
        paris = server.stranger_asks()
        paris.event("contact.updated", lambda d: d["contact"]["state"] == "mutual")
        paris.close()
    with checks.check("Net::XMPP: logs out, and is seen to be gone"):
        juliet.say(dialog, "farewell")
        server.online(False)


def send(checks, server):
    with checks.check("sendxmpp: a message to the app, by a program that sends and ends"):
        done = subprocess.run(
            ["sendxmpp", "--file", "/dev/null", "--username", "romeo", "--password", PASSWORD, "--jserver",
             f"localhost:{server.xmpp}", "--component", "localhost", "--tls", "--tls-ca-path", server.certificate,
             "juliet@localhost"], input="The disk is full", capture_output=True, text=True, timeout=PATIENCE)
        expect(done.returncode == 0, done.stdout + done.stderr)
        server.hears("The disk is full")


def run(checks):
    if not shutil.which("sendxmpp"):
        raise Failure("sendxmpp and Net::XMPP are needed: `make test` installs them")
    with Across() as server:
        send(checks, server)
        bot = Program(
            server.folder, "perl", "-e", BOT, str(server.xmpp), server.certificate, PASSWORD, server.room_jid,
            ready=lambda log: log.until("the bot is ready", lambda text: "ready\n" in text))
        try:
            converse(checks, server, bot)
        finally:
            bot.stop()
