import { call, operation, query } from "./api.js";

const enc = encodeURIComponent;
const time = (text) => (text ? { time: text } : "");
/** What is destroyed for good is asked about first. */
const ask = (question) => ({ question });

/**
 * What the page shows. A section has `load({cursor, search})`, which returns a page of rows; `columns`, a title and what a row has
 * there; `actions` of a row, of which `when` decides whether it is offered; `search`, if rows can be found; `show`, the
 * details of a row; `make`, a button above the rows.
 */
export const sections = [
  { id: "overview", title: "Overview", figures: overview },
  {
    id: "users", title: "Users", search: "A name, or the beginning of one",
    load: ({ cursor, search }) => call("GET", "/users" + query({ matching: search, cursor, limit: 50 })),
    columns: [
      ["Address", (user) => user.jid], ["Name", (user) => user.name], ["State", (user) => (user.online ? "online" : user.state)],
      ["Created", (user) => time(user.createdAt)], ["Last seen", (user) => time(user.lastSeenAt)],
    ],
    show: (user) => call("GET", `/users/${enc(user.jid)}`),
    actions: [
      { title: "End sessions", when: (user) => user.online, run: (user) => call("DELETE", `/users/${enc(user.jid)}/sessions`) },
      {
        title: "Disable", when: (user) => user.state === "active",
        ...ask((user) => `Disable ${user.jid}? All sessions and logins of this user end, and nobody can log in until the user is enabled again.`),
        run: (user) => call("PUT", `/users/${enc(user.jid)}/state`, { state: "disabled" }),
      },
      { title: "Enable", when: (user) => user.state === "disabled", run: (user) => call("PUT", `/users/${enc(user.jid)}/state`, { state: "active" }) },
      {
        title: "Delete", when: (user) => user.state !== "deleted", isGrave: true,
        ...ask((user) => `Delete ${user.jid} permanently? The name is never used again. Messages stay with those who received them.`),
        run: (user) => call("DELETE", `/users/${enc(user.jid)}`),
      },
    ],
  },
  {
    id: "sessions", title: "Sessions",
    load: ({ cursor }) => call("GET", "/sessions" + query({ cursor, limit: 50 })),
    columns: [
      ["Address", (session) => session.jid], ["Protocol", (session) => (session.door === "app" ? "app" : "XMPP")], ["Since", (session) => time(session.since)],
      ["Program", (session) => session.software ?? session.device ?? session.resource], ["From", (session) => session.address],
      ["State", (session) => (session.connected ? session.available ? "available" : "connected" : "waits for its client")],
    ],
    show: (session) => call("GET", `/sessions/${enc(session.id)}`),
    actions: [{ title: "End", run: (session) => call("DELETE", `/sessions/${enc(session.id)}`) }],
  },
  {
    id: "dialogs", title: "Dialogs",
    load: ({ cursor }) => call("GET", "/dialogs" + query({ cursor, limit: 50 })),
    columns: [
      ["Name", (dialog) => dialog.name ?? dialog.jid], ["Type", (dialog) => dialog.type], ["Members", (dialog) => dialog.members],
      ["Created", (dialog) => time(dialog.createdAt)], ["Address", (dialog) => dialog.jid],
    ],
    show: async (dialog) => ({
      ...await call("GET", `/dialogs/${enc(dialog.id)}`),
      members: (await call("GET", `/dialogs/${enc(dialog.id)}/members` + query({ limit: 100 }))).items,
    }),
    actions: [{
      title: "End", isGrave: true, ...ask((dialog) => `End ${dialog.name ?? dialog.jid} for all its members? Its messages are deleted.`),
      run: (dialog) => call("DELETE", `/dialogs/${enc(dialog.id)}`),
    }],
  },
  {
    id: "reports", title: "Reports",
    load: ({ cursor }) => call("GET", "/reports" + query({ cursor, limit: 50 })),
    columns: [
      ["Reported", (report) => report.reported], ["By", (report) => report.reporter], ["Reason", (report) => report.reason],
      ["In their words", (report) => report.text], ["Messages", (report) => report.messages], ["At", (report) => time(report.createdAt)],
    ],
    show: (report) => call("GET", `/reports/${report.id}`),
    actions: [
      {
        title: "Disable the user and dismiss", ...ask((report) => `Disable ${report.reported}, and delete the report?`),
        run: async (report) => {
          await call("PUT", `/users/${enc(report.reported)}/state`, { state: "disabled" });
          await call("DELETE", `/reports/${report.id}`);
        },
      },
      { title: "Dismiss", run: (report) => call("DELETE", `/reports/${report.id}`) },
    ],
  },
  {
    id: "invitations", title: "Invitations",
    load: async () => ({ items: await operation("invites.list") }),
    columns: [
      ["Number", (invite) => invite.id], ["For", (invite) => (invite.kind === "account" ? invite.name ?? "a new account" : invite.kind)],
      ["Contact", (invite) => invite.contact], ["Created", (invite) => time(invite.createdAt)], ["Until", (invite) => time(invite.expires)],
    ],
    make: { title: "Invite somebody", run: () => operation("invites.create"), result: "These links make one account, within a week. They are shown only now." },
    actions: [{ title: "Revoke", run: (invite) => operation("invites.revoke", { id: invite.id }) }],
  },
  {
    id: "webhooks", title: "Webhooks",
    load: ({ cursor }) => call("GET", "/webhooks" + query({ cursor })),
    columns: [
      ["Address", (hook) => hook.url], ["State", (hook) => hook.state], ["Failures", (hook) => hook.failures], ["Reason", (hook) => hook.reason],
      ["Failing since", (hook) => time(hook.failingSince)], ["Next attempt", (hook) => time(hook.nextAttemptAt)],
    ],
    show: async (hook) => ({ ...hook, failures: (await call("GET", `/webhooks/${hook.id}/failures` + query({ limit: 50 }))).items }),
    actions: [
      { title: "Test", run: (hook) => call("POST", `/webhooks/${hook.id}/test`, {}), isShown: true },
      { title: "Continue now", when: (hook) => hook.state === "disabled" || hook.failingSince, run: (hook) => call("PATCH", `/webhooks/${hook.id}`, { state: "active" }) },
      { title: "Send failures again", when: (hook) => hook.failures > 0, run: (hook) => call("POST", `/webhooks/${hook.id}/failures`, {}) },
      {
        title: "Delete failures", when: (hook) => hook.failures > 0, isGrave: true, ...ask((hook) => `Delete the ${hook.failures} events that ${hook.url} did not accept?`),
        run: (hook) => call("DELETE", `/webhooks/${hook.id}/failures`),
      },
    ],
  },
  {
    id: "record", title: "Record",
    load: ({ cursor }) => call("GET", "/audit" + query({ cursor, limit: 50 })),
    columns: [
      ["At", (entry) => time(entry.time)], ["Who", (entry) => entry.actor], ["Operation", (entry) => entry.operation], ["Of", (entry) => entry.object],
      ["From", (entry) => entry.origin], ["Answer", (entry) => entry.code ?? entry.status],
    ],
    actions: [],
  },
];

/** The figures of the running server, a title and a value each. */
async function overview() {
  const [status, { metrics }] = await Promise.all([operation("server.status"), operation("server.stats")]);
  const sum = (name) => metrics.find((each) => each.name === name)?.series.reduce((all, { value }) => all + (value ?? 0), 0);
  const hours = Math.floor(status.uptimeSeconds / 3600);
  return [
    ["Domains", status.domains.join(", ")],
    ["Version", status.version],
    ["Running for", hours ? `${hours} h` : `${Math.floor(status.uptimeSeconds / 60)} min`],
    ["Users", status.users],
    ["Users online", status.usersOnline],
    ["Sessions", status.sessions],
    ["Sessions that do not read", sum("parley_sessions_lagging")],
    ["Posts since the start", sum("parley_posts_total")],
    ["Refusals since the start", sum("parley_refusals_total")],
    ["Webhooks", status.webhooks],
    ["Webhooks off", status.webhooksDisabled],
    ["Failed events", status.webhookFailures],
    ["Events that wait", status.webhookBehind],
    ["State", status.isReady ? "ready" : "not ready"],
  ].filter(([, value]) => value !== undefined);
}
