import { call, operation, query } from "./api.js";
import { cleanName } from "../web/text.js";

const enc = encodeURIComponent;
const time = (text) => (text ? { time: text } : "");
const quoted = (text) => (text ? { quote: text } : "");
/** Whether a reported message can be deleted. */
const isThere = (message) => message.dialog && !message.deleted;
/** The name of a dialog within a sentence. */
const titleOf = (dialog) => cleanName(dialog.name) || dialog.jid;
const deleteMessage = ({ dialog, id }) => call("DELETE", `/dialogs/${enc(dialog)}/messages/${enc(id)}`);
/** What is destroyed for good is asked about first. */
const ask = (question) => ({ question });

/**
 * What the page shows. A section has `load({cursor, search})`, which returns a page of rows; `columns`, a title and what a row has
 * there; `actions` of a row, of which `when` decides whether it is offered; `search`, if rows can be found; `show`, the
 * details of a row, and `rows`, a section of their own within them; `make`, a button above the rows; `note`, a sentence above them; `name`, a row's in a sentence, if it is
 * not what the first column has.
 */
export const sections = [
  { id: "overview", title: "Overview", figures: overview },
  {
    id: "users",
    title: "Users",
    search: "A name, or the beginning of one",
    note: "Last seen is the end of the last session over XMPP or a WebSocket, and empty for users of REST alone.",
    load: ({ cursor, search }) => call("GET", "/users" + query({ matching: search, cursor, limit: 50 })),
    columns: [
      ["Address", (user) => user.jid],
      ["Name", (user) => user.name],
      ["State", (user) => (user.online ? "online" : user.state)],
      ["Role", (user) => (user.role === "admin" ? "administrator" : "")],
      ["Created", (user) => time(user.createdAt)],
      ["Last seen", (user) => time(user.lastSeenAt)],
    ],
    show: (user) => call("GET", `/users/${enc(user.jid)}`),
    actions: [
      {
        title: "End sessions",
        when: (user) => user.online,
        run: (user) => call("DELETE", `/users/${enc(user.jid)}/sessions`),
      },
      {
        title: "Disable",
        when: (user) => user.state === "active",
        ...ask(
          (user) =>
            `Disable ${user.jid}? All sessions and logins of this user end, and nobody can log in until the user is enabled again.`,
        ),
        run: (user) => call("PUT", `/users/${enc(user.jid)}/state`, { state: "disabled" }),
      },
      {
        title: "Enable",
        when: (user) => user.state === "disabled",
        run: (user) => call("PUT", `/users/${enc(user.jid)}/state`, { state: "active" }),
      },
      {
        title: "Delete",
        when: (user) => user.state !== "deleted",
        isGrave: true,
        ...ask(
          (user) =>
            `Delete ${user.jid} permanently? The name is never used again. Messages stay with those who received them.`,
        ),
        run: (user) => call("DELETE", `/users/${enc(user.jid)}`),
      },
    ],
  },
  {
    id: "sessions",
    title: "Sessions",
    load: ({ cursor }) => call("GET", "/sessions" + query({ cursor, limit: 50 })),
    columns: [
      ["Address", (session) => session.jid],
      ["Protocol", (session) => (session.door === "app" ? "app" : "XMPP")],
      ["Since", (session) => time(session.since)],
      ["Program", (session) => session.software ?? session.device ?? session.resource],
      ["From", (session) => session.address],
      [
        "State",
        (session) => (session.connected ? (session.available ? "available" : "connected") : "waits for its client"),
      ],
    ],
    show: (session) => call("GET", `/sessions/${enc(session.id)}`),
    actions: [{ title: "End", run: (session) => call("DELETE", `/sessions/${enc(session.id)}`) }],
  },
  {
    id: "dialogs",
    title: "Dialogs",
    name: titleOf,
    load: ({ cursor }) => call("GET", "/dialogs" + query({ cursor, limit: 50 })),
    columns: [
      ["Name", (dialog) => dialog.name ?? dialog.jid],
      ["Type", (dialog) => dialog.type],
      ["Members", (dialog) => dialog.members],
      ["Created", (dialog) => time(dialog.createdAt)],
      ["Address", (dialog) => dialog.jid],
    ],
    show: async (dialog) => ({
      ...(await call("GET", `/dialogs/${enc(dialog.id)}`)),
      members: (await call("GET", `/dialogs/${enc(dialog.id)}/members` + query({ limit: 100 }))).items,
    }),
    actions: [
      {
        title: "End",
        isGrave: true,
        ...ask((dialog) => `End ${titleOf(dialog)} for all its members? Its messages are deleted.`),
        run: (dialog) => call("DELETE", `/dialogs/${enc(dialog.id)}`),
      },
    ],
  },
  {
    id: "reports",
    title: "Reports",
    load: ({ cursor }) => call("GET", "/reports" + query({ cursor, limit: 50 })),
    columns: [
      ["Reported", (report) => report.reported],
      ["By", (report) => report.reporter],
      ["Reason", (report) => report.reason],
      ["In their words", (report) => report.text],
      ["Quote", (report) => quoted(report.quote)],
      ["At", (report) => time(report.createdAt)],
    ],
    show: async (report) => {
      const { report: row, ...more } = await call("GET", `/reports/${report.id}`);
      return {
        Reported: row.reported,
        By: row.reporter,
        Reason: row.reason,
        "In their words": row.text,
        At: time(row.createdAt),
        "Its server may be told": more.mayTellOrigin,
        "Sent to its server": more.forwarding,
      };
    },
    rows: (report) => ({
      title: "Messages",
      load: async () => ({ items: (await call("GET", `/reports/${report.id}`)).messages }),
      name: (message) => message.text ?? message.id,
      columns: [
        ["Quote", (message) => quoted(message.text) || "not readable"],
        ["Dialog", (message) => message.dialogName ?? message.dialogType ?? "not here"],
        ["Sent", (message) => time(message.sentAt)],
        ["State", (message) => (message.deleted ? "deleted" : "")],
        ["Dialog and message", (message) => ({ code: `${message.dialog ?? ""} ${message.id}`.trim() })],
      ],
      actions: [
        {
          title: "Delete",
          when: isThere,
          isGrave: true,
          ...ask(() => "Delete this message for everybody? Clients of both protocols are told."),
          run: deleteMessage,
        },
      ],
    }),
    actions: [
      {
        title: "Delete messages",
        when: (report) => report.messages > 0,
        isGrave: true,
        ...ask((report) => `Delete what this report quotes of ${report.reported}, for everybody? The report stays.`),
        run: async (report) => {
          for (const message of (await call("GET", `/reports/${report.id}`)).messages.filter(isThere))
            await deleteMessage(message);
        },
      },
      {
        title: "Disable user",
        isGrave: true,
        ...ask(
          (report) =>
            `Disable ${report.reported}? All sessions and logins of this user end, and nobody can log in until the user is enabled again. The report stays.`,
        ),
        run: (report) => call("PUT", `/users/${enc(report.reported)}/state`, { state: "disabled" }),
      },
      { title: "Dismiss", run: (report) => call("DELETE", `/reports/${report.id}`) },
    ],
  },
  {
    id: "invitations",
    title: "Invitations",
    load: async () => ({ items: await operation("invites.list") }),
    columns: [
      ["Number", (invite) => invite.id],
      ["For", (invite) => (invite.kind === "account" ? (invite.name ?? "a new account") : invite.kind)],
      ["Contact", (invite) => invite.contact],
      ["Created", (invite) => time(invite.createdAt)],
      ["Until", (invite) => time(invite.expires)],
    ],
    make: {
      title: "Invite somebody",
      run: () => operation("invites.create"),
      result: "These links make one account, within a week. They are shown only now.",
    },
    actions: [{ title: "Revoke", run: (invite) => operation("invites.revoke", { id: invite.id }) }],
  },
  {
    id: "webhooks",
    title: "Webhooks",
    load: ({ cursor }) => call("GET", "/webhooks" + query({ cursor })),
    columns: [
      ["Address", (hook) => hook.url],
      ["State", (hook) => hook.state],
      ["Failures", (hook) => hook.failures],
      ["Reason", (hook) => hook.reason],
      ["Failing since", (hook) => time(hook.failingSince)],
      ["Next attempt", (hook) => time(hook.nextAttemptAt)],
    ],
    show: async ({ id }) => {
      const hook = await call("GET", `/webhooks/${id}`);
      return {
        ...hook,
        createdAt: time(hook.createdAt),
        failingSince: time(hook.failingSince),
        nextAttemptAt: time(hook.nextAttemptAt),
      };
    },
    rows: (hook) => ({
      title: "Events that it did not take",
      load: ({ cursor }) => call("GET", `/webhooks/${hook.id}/failures` + query({ cursor, limit: 50 })),
      name: (failure) => failure.webhookId,
      columns: [
        ["Event", (failure) => failure.event],
        ["Reason", (failure) => failure.reason],
        ["Failed", (failure) => time(failure.failedAt)],
        ["State", (failure) => (failure.due ? "is sent again" : "")],
        ["Delivery", (failure) => failure.webhookId],
      ],
      actions: [
        {
          title: "Send again",
          when: (failure) => !failure.due,
          run: (failure) => call("POST", `/webhooks/${hook.id}/failures/${failure.id}`, {}),
        },
        {
          title: "Delete",
          isGrave: true,
          ...ask((failure) => `Delete the event ${failure.webhookId}? It is not sent any more.`),
          run: (failure) => call("DELETE", `/webhooks/${hook.id}/failures/${failure.id}`),
        },
      ],
    }),
    actions: [
      { title: "Test", run: (hook) => call("POST", `/webhooks/${hook.id}/test`, {}), isShown: true },
      {
        title: "Continue now",
        when: (hook) => hook.state === "disabled" || hook.failingSince,
        run: (hook) => call("PATCH", `/webhooks/${hook.id}`, { state: "active" }),
      },
      {
        title: "Send failures again",
        when: (hook) => hook.failures > 0,
        run: (hook) => call("POST", `/webhooks/${hook.id}/failures`, {}),
      },
      {
        title: "Delete failures",
        when: (hook) => hook.failures > 0,
        isGrave: true,
        ...ask((hook) => `Delete the ${hook.failures} events that ${hook.url} did not accept?`),
        run: (hook) => call("DELETE", `/webhooks/${hook.id}/failures`),
      },
    ],
  },
  {
    id: "record",
    title: "Record",
    load: ({ cursor }) => call("GET", "/audit" + query({ cursor, limit: 50 })),
    columns: [
      ["At", (entry) => time(entry.time)],
      ["Who", (entry) => entry.actor],
      ["Operation", (entry) => entry.operation],
      ["Of", (entry) => entry.object],
      ["From", (entry) => entry.origin],
      ["Outcome", (entry) => entry.code ?? "done"],
    ],
    actions: [],
  },
];

/** The figures of the running server, a title and a value each. */
async function overview() {
  const [status, { metrics }] = await Promise.all([operation("server.status"), operation("server.stats")]);
  const sum = (name) =>
    metrics.find((each) => each.name === name)?.series.reduce((all, { value }) => all + (value ?? 0), 0);
  const hours = Math.floor(status.uptimeSeconds / 3600);
  return [
    ["Domains", status.domains.join(", ")],
    ["Version", status.version],
    ["Running for", hours ? `${hours} h` : `${Math.floor(status.uptimeSeconds / 60)} min`],
    ["Users", status.users],
    ["Users online", status.usersOnline],
    ["Sessions", status.sessions],
    ["Sessions that do not read", sum("parley_sessions_lagging")],
    ["Messages since the start", sum("parley_messages_total")],
    ["Refusals since the start", sum("parley_refusals_total")],
    ["Webhooks", status.webhooks],
    ["Webhooks off", status.webhooksDisabled],
    ["Webhooks that fail", status.webhooksFailing],
    ["Failed events", status.webhookFailures],
    ["Events that wait", status.webhookBehind],
    ["State", status.isReady ? "ready" : "not ready"],
  ].filter(([, value]) => value !== undefined);
}
