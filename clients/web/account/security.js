// Passwords, the second factor, logins, and passwords for other clients of the same account.

import { fill, h, svg } from "../dom.js";
import { moment, t } from "../i18n.js";
import { icons } from "../icons.js";
import { qrCode } from "../qr.js";
import { cleanName } from "../text.js";
import { ask, attempt, button, copy, field, sheet, toast } from "../ui.js";

const form = (submit, ...content) =>
  h(
    "form",
    {
      class: "sheet-body",
      style: { padding: "0" },
      on: {
        submit: (event) => {
          event.preventDefault();
          attempt(submit);
        },
      },
    },
    ...content,
  );

export function passwordSheet(app, me, load) {
  sheet(t(me.hasPassword === false ? "password.set" : "password.change"), (close) => {
    const current =
      me.hasPassword !== false &&
      field(t("password.current"), { type: "password", autocomplete: "current-password", required: true });
    const next = field(t("signin.newPassword"), {
      type: "password",
      autocomplete: "new-password",
      minlength: 8,
      required: true,
    });
    return form(
      async () => {
        await app.parley.changePassword(next.input.value, current ? current.input.value : undefined);
        close();
        toast(t("password.done"));
        load();
      },
      h("p", { class: "soft" }, t("password.text")),
      current ? current.element : undefined,
      next.element,
      h("div", { class: "sheet-foot" }, button(t("cancel"), close), button(t("save"), undefined, "main")),
    );
  });
}

export function secondFactorSheet(app, me, load) {
  const code = () =>
    field(t("signin.oneTimeCode"), { inputmode: "numeric", autocomplete: "one-time-code", required: true });
  sheet(t("secondfactor"), (close) => {
    const body = h("div");
    const foot = (action, kind = "main") =>
      h("div", { class: "sheet-foot" }, button(t("cancel"), close), button(action, undefined, kind));
    if (me.secondFactor) {
      // Who has lost the authenticator has signed in by a recovery code.
      const input = field(t("signin.oneTimeCode"), { autocomplete: "one-time-code", required: true });
      return form(
        async () => {
          const given = input.input.value.trim();
          await app.parley.endSecondFactor(/^\d{6}$/.test(given) ? { code: given } : { recoveryCode: given });
          close();
          load();
        },
        h("p", { class: "soft" }, t("secondfactor.end")),
        input.element,
        foot(t("secondfactor.off"), "danger"),
      );
    }
    const secret = field(t("password.current"), {
      type: "password",
      autocomplete: "current-password",
      required: me.hasPassword !== false,
    });
    const confirm = (begun) => {
      const input = code();
      fill(
        body,
        form(
          async () => {
            const { recoveryCodes } = await app.parley.confirmSecondFactor(input.input.value.trim());
            load();
            fill(
              body,
              h("p", {}, t("secondfactor.recovery")),
              h("code", { class: "secret", style: { "white-space": "pre" } }, recoveryCodes.join("\n")),
              h("div", { class: "sheet-foot" }, button(t("done"), close, "main")),
            );
          },
          h("p", { class: "soft" }, t("secondfactor.scan")),
          qrCode(begun.uri, t("secondfactor.scan")),
          h("code", { class: "secret" }, begun.secret),
          input.element,
          foot(t("secondfactor.on")),
        ),
      );
      input.input.focus();
    };
    fill(
      body,
      form(
        async () =>
          confirm(
            await app.parley.beginSecondFactor({
              method: "totp",
              ...(secret.input.value && { password: secret.input.value }),
            }),
          ),
        h("p", { class: "soft" }, t("secondfactor.text")),
        me.hasPassword !== false && secret.element,
        foot(t("continue")),
      ),
    );
    return body;
  });
}

export function sessionsSheet(app) {
  sheet(t("sessions"), () => {
    const body = h("div");
    const draw = async () => {
      const page = await app.parley.listSessions();
      fill(
        body,
        page.items.map((session) =>
          h(
            "div",
            { class: "item" },
            svg(icons.device),
            h(
              "span",
              { class: "grow" },
              h("bdi", {}, cleanName(session.client) || session.deviceId),
              h(
                "span",
                { class: "note", style: { display: "block" } },
                session.current ? t("sessions.current") : t("sessions.used", { time: moment(session.usedAt) }),
              ),
            ),
            !session.current &&
              button(t("sessions.end"), () => attempt(() => app.parley.endSession(session.id)).then(draw), "danger"),
          ),
        ),
        page.items.length > 1 &&
          h(
            "div",
            { class: "sheet-foot" },
            button(
              t("sessions.endOthers"),
              async () => {
                if (await ask(t("sessions.endOthers"), t("sessions.endOthersText"), t("sessions.end")))
                  await attempt(() => app.parley.endOtherSessions()).then(draw);
              },
              "danger",
            ),
          ),
      );
    };
    attempt(draw);
    return body;
  });
}

/** Passwords for XMPP clients: with the address as a QR code, so that a second client is a scan away. */
export function appPasswordsSheet(app, me) {
  sheet(t("apppasswords"), () => {
    const body = h("div", { class: "sheet-body", style: { padding: "0" } });
    const draw = async () => {
      const page = await app.parley.listAppPasswords();
      const title = field(t("apppasswords.name"), {
        required: true,
        maxlength: 60,
        placeholder: "Conversations",
        autocomplete: "off",
      });
      fill(
        body,
        h("p", { class: "soft" }, t("apppasswords.text")),
        page.items.map((each) =>
          h(
            "div",
            { class: "item" },
            svg(icons.key),
            h(
              "span",
              { class: "grow" },
              h("bdi", {}, cleanName(each.name)),
              h(
                "span",
                { class: "note", style: { display: "block" } },
                t("sessions.used", { time: moment(each.usedAt ?? each.createdAt) }),
              ),
            ),
            button(t("remove"), () => attempt(() => app.parley.removeAppPassword(each.id)).then(draw), "danger"),
          ),
        ),
        form(
          async () => show(await app.parley.createAppPassword(title.input.value.trim())),
          title.element,
          h("div", { class: "sheet-foot" }, button(t("apppasswords.create"), undefined, "main")),
        ),
      );
    };
    const show = (made) => {
      // No XEP has a form for a password. Conversations and Monal sign in by this one, and people can read it.
      const login = JSON.stringify({ protocol: "xmpp", address: me.jid, password: made.password });
      fill(
        body,
        h("p", {}, t("apppasswords.made")),
        qrCode(login, t("apppasswords.scan")),
        h("p", { class: "note" }, t("apppasswords.scan")),
        h("span", { class: "note" }, t("apppasswords.address")),
        h("code", { class: "secret" }, me.jid),
        h("span", { class: "note" }, t("signin.password")),
        h("code", { class: "secret" }, made.password),
        h(
          "div",
          { class: "sheet-foot" },
          button(t("message.copy"), () => copy(made.password)),
          button(t("done"), draw, "main"),
        ),
      );
    };
    attempt(draw);
    return body;
  });
}

/** The mail address or telephone number of the account, which a code proves. `kind` is `email` or `phone`. */
export function addressSheet(app, me, kind, load) {
  const set = (input) => (kind === "email" ? app.parley.setMyEmail(input) : app.parley.setMyPhone(input));
  sheet(t(`signin.${kind}`), (close) => {
    const body = h("div");
    const address = field(t(`signin.${kind}`), {
      type: kind === "email" ? "email" : "tel",
      required: true,
      value: me[kind] ?? "",
      autocomplete: kind === "email" ? "email" : "tel",
    });
    const prove = () => {
      const value = kind === "email" ? address.input.value.trim() : address.input.value.replace(/[\s()-]/g, "");
      const code = field(t("signin.oneTimeCode"), {
        inputmode: "numeric",
        autocomplete: "one-time-code",
        required: true,
      });
      const password =
        me.hasPassword &&
        field(t("password.current"), { type: "password", autocomplete: "current-password", required: true });
      fill(
        body,
        form(
          async () => {
            await set({
              [kind]: value,
              code: code.input.value.trim(),
              ...(password && { password: password.input.value }),
            });
            close();
            load();
          },
          h("p", { class: "soft" }, t("address.sent", { address: value })),
          code.element,
          password ? password.element : undefined,
          h("div", { class: "sheet-foot" }, button(t("cancel"), close), button(t("save"), undefined, "main")),
        ),
      );
      return app.parley.sendMyCode({ [kind]: value });
    };
    const remove =
      me[kind] &&
      button(
        t("remove"),
        () =>
          attempt(async () => {
            await set(null);
            close();
            load();
          }),
        "danger",
      );
    fill(
      body,
      form(
        prove,
        address.element,
        h("div", { class: "sheet-foot" }, remove, button(t("signin.sendCode"), undefined, "main")),
      ),
    );
    return body;
  });
}
