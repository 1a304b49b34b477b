// Signing in: by password, by a provider, as a guest, by a one-time code, with a second factor; a new account; a forgotten password.

import { fill, h } from "./dom.js";
import { t } from "./i18n.js";
import { leaveFor, providersFor, titleOf } from "./provider.js";
import { cleanName } from "./text.js";
import { button, describe, field } from "./ui.js";

/** Shows the ways to sign in that the server offers. `came` is with what a provider has sent the user back. `done` is called once somebody is signed in. */
export async function signInScreen(root, parley, notice, came, done) {
  const card = h("div", { class: "welcome-card" });
  const brand = h(
    "div",
    { class: "brand" },
    h("img", { src: new URL("icon.svg", import.meta.url).pathname, alt: "", width: 44, height: 44 }),
    h("div", {}, h("h1", {}, t("app.name")), h("p", {}, t("app.tagline"))),
  );
  fill(root, h("main", { class: "welcome" }, card));
  fill(card, brand);
  const info = await parley.info().catch((error) => {
    notice = describe(error);
    return { grants: ["password"], features: [] };
  });
  const offers = (grant) => info.grants.includes(grant);
  const codes = { email: info.features.includes("codes.email"), phone: info.features.includes("codes.phone") };
  const hasCodes = offers("code") && (codes.email || codes.phone);

  /** Shows a form. `submit` is given its values; what it throws is shown, except the request for a second factor. `pending` is shown meanwhile. */
  function form(title, fields, action, submit, others = [], pending = undefined) {
    const error = h("p", { class: "error", role: "alert", hidden: !notice }, notice);
    notice = undefined;
    const state = h("p", { class: "soft", role: "status", hidden: true }, pending);
    const send = button(action, undefined, "main wide");
    const element = h(
      "form",
      {
        on: {
          submit: async (event) => {
            event.preventDefault();
            send.disabled = true;
            error.hidden = true;
            state.hidden = !pending;
            try {
              await submit(Object.fromEntries(fields.map((each) => [each.input.name, each.input.value])));
            } catch (problem) {
              if (problem.code === "second-factor-required") return secondFactor(problem);
              error.textContent = describe(problem);
              error.hidden = false;
            } finally {
              send.disabled = false;
              state.hidden = true;
            }
            return undefined;
          },
        },
      },
      title && h("h2", {}, title),
      error,
      fields.map((each) => each.element),
      state,
      send,
      others.flat().some(Boolean) && h("div", { class: "ways" }, others),
    );
    fill(card, brand, element);
    (fields.find((each) => !each.input.value)?.input ?? send).focus();
  }

  const way = (label, action) => button(label, action, "plain wide");

  function password(username = "") {
    form(
      undefined,
      [
        field(t("signin.username"), {
          name: "username",
          autocomplete: "username",
          autocapitalize: "none",
          spellcheck: "false",
          required: true,
          value: username,
        }),
        field(t("signin.password"), {
          name: "password",
          type: "password",
          autocomplete: "current-password",
          required: true,
        }),
      ],
      t("signin.submit"),
      async (values) => {
        // People know their whole address from other clients; the server's users are the part before the @.
        const name = values.username.trim();
        const local = name.endsWith(`@${info.domain}`) ? name.slice(0, name.lastIndexOf("@")) : name;
        await parley.signIn({ username: local, password: values.password });
        done();
      },
      [
        providersFor(info).map((each) =>
          button(t("signin.provider", { name: titleOf(each.provider) }), () => leaveFor(each), "wide"),
        ),
        hasCodes && way(t("signin.code"), code),
        offers("guest") && way(t("signin.guest"), guest),
        info.registration && way(t("signin.register"), register),
        hasCodes && way(t("signin.forgot"), forgot),
      ],
    );
  }

  /** Redeems what a provider has sent the user back with. */
  async function fromProvider({ error, ...given }) {
    if (error) {
      notice = t(error === "access_denied" ? "signin.providerDenied" : "signin.providerFailed");
      return password();
    }
    fill(
      card,
      brand,
      h("p", { class: "soft", role: "status" }, t("signin.returning", { name: titleOf(given.provider) })),
    );
    try {
      await parley.signIn(given);
    } catch (problem) {
      if (problem.code === "second-factor-required") return secondFactor(problem);
      notice = describe(problem);
      return password();
    }
    return done();
  }

  function guest() {
    form(
      t("signin.guest"),
      [],
      t("signin.guestSubmit"),
      async () => {
        await parley.signIn({ grant: "guest" });
        done();
      },
      [way(t("back"), () => password())],
    );
  }

  /** Splits an address into the member that the protocol has for it. */
  const reachable = (text) => (text.includes("@") ? { email: text.trim() } : { phone: text.replace(/[\s()-]/g, "") });
  const addressField = () =>
    field(codes.phone && codes.email ? t("signin.address") : t(codes.phone ? "signin.phone" : "signin.email"), {
      name: "address",
      autocomplete: codes.email ? "email" : "tel",
      required: true,
    });
  const codeField = (properties) =>
    field(t("signin.oneTimeCode"), {
      name: "code",
      inputmode: "numeric",
      autocomplete: "one-time-code",
      required: true,
      ...properties,
    });

  function code() {
    form(
      t("signin.code"),
      [addressField()],
      t("signin.sendCode"),
      async ({ address }) => {
        await parley.sendCode(reachable(address));
        form(
          t("signin.code"),
          [codeField()],
          t("signin.submit"),
          async (values) => {
            await parley.signIn({ ...reachable(address), code: values.code.trim() });
            done();
          },
          [way(t("back"), code)],
        );
      },
      [way(t("back"), () => password())],
    );
  }

  async function secondFactor({ challenge, secondFactor: method }) {
    if (method === "sms") await parley.sendCode({ challenge }).catch(() => {});
    const submit = (member) => async (values) => {
      await parley.signIn({ challenge, [member]: values.code.trim() });
      done();
    };
    const recovery = () =>
      form(
        t("signin.secondFactor"),
        [field(t("signin.recoveryCode"), { name: "code", required: true, autocomplete: "off" })],
        t("signin.submit"),
        submit("recoveryCode"),
        [way(t("back"), () => password())],
      );
    form(t("signin.secondFactor"), [codeField()], t("signin.submit"), submit("code"), [
      way(t("signin.useRecovery"), recovery),
      way(t("back"), () => password()),
    ]);
  }

  function register() {
    form(
      t("signin.register"),
      [
        field(t("signin.username"), {
          name: "username",
          autocomplete: "username",
          autocapitalize: "none",
          spellcheck: "false",
          required: true,
        }),
        field(t("profile.name"), { name: "name", autocomplete: "name" }),
        field(t("signin.newPassword"), {
          name: "password",
          type: "password",
          autocomplete: "new-password",
          minlength: 8,
          required: true,
        }),
      ],
      t("signin.registerSubmit"),
      async ({ name, ...values }) => {
        await parley.signUp({ ...values, ...(name && { name }) });
        history.replaceState(null, "", "#");
        done();
      },
      [way(t("back"), () => password())],
      t("signin.registering"),
    );
  }

  /** The page of an invitation's link: #/invite/TOKEN */
  async function invited(token) {
    const { username, inviterId, inviterName } = await parley.invitation(token);
    form(
      t("signin.invited", { name: cleanName(inviterName) || inviterId || info.domain }),
      [
        field(t("signin.username"), {
          name: "username",
          autocomplete: "username",
          autocapitalize: "none",
          spellcheck: "false",
          required: true,
          value: username ?? "",
          readonly: username !== undefined,
        }),
        field(t("profile.name"), { name: "name", autocomplete: "name" }),
        field(t("signin.newPassword"), {
          name: "password",
          type: "password",
          autocomplete: "new-password",
          minlength: 8,
          required: true,
        }),
      ],
      t("signin.registerSubmit"),
      async ({ name, ...values }) => {
        await parley.signUp({ ...values, ...(name && { name }), invitation: token });
        history.replaceState(null, "", "#");
        done();
      },
      [way(t("signin.haveAccount"), () => password())],
    );
  }

  function forgot() {
    form(
      t("signin.forgot"),
      [addressField()],
      t("signin.sendLink"),
      async ({ address }) => {
        await parley.sendPasswordReset(reachable(address));
        notice = t("signin.linkSent");
        password();
      },
      [way(t("back"), () => password())],
    );
  }

  /** The page of a link for another password: #/reset/TOKEN */
  function reset(token) {
    form(
      t("signin.reset"),
      [
        field(t("signin.newPassword"), {
          name: "password",
          type: "password",
          autocomplete: "new-password",
          minlength: 8,
          required: true,
        }),
      ],
      t("save"),
      async (values) => {
        await parley.resetPassword(token, values.password);
        history.replaceState(null, "", "#");
        notice = t("signin.resetDone");
        password();
      },
    );
  }

  const [, kind, token] = location.hash.split("/");
  if (came) fromProvider(came);
  else if (kind === "reset" && token) reset(decodeURIComponent(token));
  else if (kind === "register" && info.registration) register();
  else if (kind === "invite" && token)
    invited(decodeURIComponent(token)).catch((error) => {
      notice = describe(error);
      password();
    });
  else password();
}
