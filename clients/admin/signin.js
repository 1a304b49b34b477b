// Signing in: with user name and password, a one-time code, a second factor; or with an app key.

import { call, held, info, sendCode, signIn, signOut } from "./api.js";
import { h } from "./elements.js";

/** Shows the ways to sign in, and calls `done` once somebody may administer something. */
export async function signInScreen(complaint, done) {
  const offered = await info().catch(() => ({ grants: ["password"], features: [] }));
  const channels = ["email", "phone"].filter((kind) => offered.features.includes("codes." + kind));
  const hasCodes = offered.grants.includes("code") && channels.length > 0;

  /**
   * Shows a form; `submit` is given its values. What it throws is shown, except the request for a second factor.
   *
   * @param {{ title?: string, fields: any[], hint?: any, action?: string, ways?: any[] }} parts
   * @param {(values: Record<string, string>) => any} submit
   */
  function form({ title = "Administration", fields, hint, action = "Continue", ways = [] }, submit) {
    const error = h("p", { role: "alert", class: "error" }, complaint);
    complaint = "";
    const send = h("button", { type: "submit", class: "main" }, action);
    const labelled = fields.map(({ label, ...attributes }) => [
      h("label", { for: attributes.name }, label),
      h("input", {
        id: attributes.name,
        required: true,
        autocapitalize: "none",
        spellcheck: "false",
        ...attributes,
        "aria-describedby": hint && "hint",
      }),
    ]);
    const element = h(
      "form",
      {
        class: "sign-in",
        async onsubmit(event) {
          event.preventDefault();
          send.disabled = true;
          error.textContent = "";
          try {
            await submit(Object.fromEntries([...new FormData(element)].map(([name, value]) => [name, String(value)])));
          } catch (problem) {
            if (problem.code === "second-factor-required") return void secondFactor(problem);
            error.textContent = problem.message;
          } finally {
            send.disabled = false;
          }
        },
      },
      h("h1", {}, title),
      labelled,
      hint && h("p", { id: "hint" }, hint),
      send,
      error,
      h(
        "div",
        { class: "ways" },
        ways.filter(Boolean).map(([label, go]) => h("button", { type: "button", class: "plain", onclick: go }, label)),
      ),
    );
    document.body.replaceChildren(h("main", {}, element));
    element.querySelector("input").focus();
  }

  /** Ends a login that administers nothing, and says so. */
  async function enter() {
    try {
      await call("GET", "/audit?limit=1");
    } catch (error) {
      // A key that may not read the record is a key all the same.
      if (error.code !== "scope-missing") {
        await signOut();
        throw error;
      }
    }
    done();
  }

  async function login(input) {
    await signIn(input);
    await enter();
  }

  const back = ["Back", () => password()];

  function password() {
    form(
      {
        fields: [
          { label: "User name", name: "username", autocomplete: "username" },
          { label: "Password", name: "password", type: "password", autocomplete: "current-password" },
        ],
        ways: [hasCodes && ["Use a one-time code", code], ["Use an app key", key]],
      },
      ({ username, password: secret }) => {
        // People know their whole address; the server's users are the part before the @.
        const name = username.trim();
        return login({
          grant: "password",
          username: name.endsWith("@" + offered.domain) ? name.slice(0, name.lastIndexOf("@")) : name,
          password: secret,
        });
      },
    );
  }

  function key() {
    form(
      {
        fields: [{ label: "App key", name: "key", type: "password", autocomplete: "off" }],
        ways: [back],
        hint: [
          "Made by: ",
          h("code", {}, "parley key add my-laptop --scope '*'"),
          ". Its scopes decide what you see. It stays in this tab.",
        ],
      },
      async ({ key: secret }) => {
        held.set({ key: secret.trim() });
        await enter();
      },
    );
  }

  function code() {
    form(
      {
        title: "One-time code",
        action: "Send a code",
        ways: [back],
        fields: [
          {
            label:
              channels.length === 2
                ? "Mail address or telephone number"
                : channels[0] === "email"
                  ? "Mail address"
                  : "Telephone number",
            name: "address",
          },
        ],
      },
      async ({ address }) => {
        const where = address.includes("@") ? { email: address.trim() } : { phone: address.replace(/[\s()-]/g, "") };
        await sendCode(where);
        form({ title: "One-time code", fields: [oneTimeCode], ways: [back] }, (values) =>
          login({ grant: "code", ...where, code: values.code.trim() }),
        );
      },
    );
  }

  const oneTimeCode = { label: "Code", name: "code", inputmode: "numeric", autocomplete: "one-time-code" };

  async function secondFactor({ challenge, secondFactor: method }) {
    if (method === "sms")
      await sendCode({ challenge }).catch((error) => {
        complaint = error.message;
      });
    const step = (member) => (values) => login({ grant: "second-factor", challenge, [member]: values.code.trim() });
    const recovery = () =>
      form(
        {
          title: "Recovery code",
          fields: [{ label: "Recovery code", name: "code", autocomplete: "off" }],
          ways: [back],
        },
        step("recoveryCode"),
      );
    form(
      {
        title: "Second factor",
        fields: [oneTimeCode],
        ways: [["Use a recovery code", recovery], back],
        hint: method === "sms" ? "It has been sent to your telephone." : "Your authenticator shows it.",
      },
      step("code"),
    );
  }

  password();
}
