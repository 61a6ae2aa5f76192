/** The keys of a work source, by its type. What only the source itself can judge is asked of it in check-parts.ts. */
import { list, map, nullable, oneOf, openMap, optional, type Schema, text, fitting } from "./fields.js";
import { type TypedMap, typedMaps } from "./typed-maps.js";
import { durationMs } from "../../../duration.js";

const WORK_SOURCES: Readonly<Record<string, TypedMap>> = {
  directory: {
    description: "Files in a directory that any number of processes share.",
    keys: () => ({
      path: text(
        "A directory with ready/, working/, done/ and failed/, made where missing; relative to this file.",
        "the path of a directory",
      ),
      claim_expiry: expiry("1s", "365d"),
    }),
  },
  github: {
    description: "Issues of a GitHub repository.",
    keys: () => ({
      repo: pattern("The repository.", /^[\w.-]+\/[\w.-]+$/, 'text such as "owner/name"'),
      labels: optional(
        map(
          {
            ready: label("Issues with it can be taken.", "ready"),
            working: label("Marks an issue that is being worked on.", "agent-working"),
            done: label("Added when the work succeeded."),
            failed: label("Added when it failed."),
          },
          "labels by state",
          { description: "Which labels stand for which state." },
        ),
      ),
      exclude_labels: optional(
        list(labelText("A label."), "a list of labels", "Issues with one of these are left alone.", {
          default: ["blocked", "wip"],
        }),
      ),
      claim_expiry: expiry("1s", "7d"),
      claimers: optional(
        list(
          pattern("A login.", /^[\w-]+(\[bot\])?$/, 'a login such as "octocat"'),
          "a list of logins",
          "Logins whose claims count. Default: everybody's.",
          { minItems: 1 },
        ),
      ),
      token_env: optional(
        pattern(
          "The environment variable that holds the token. Default: GITHUB_TOKEN.",
          /^[A-Za-z_]\w*$/,
          "the name of an environment variable",
        ),
      ),
      base_url: optional(
        text(
          "The API. Default: https://api.github.com.",
          'an https address such as "https://github.example.com/api/v3"',
        ),
      ),
      priority_labels: optional(
        map(
          Object.fromEntries(
            ["critical", "high", "medium", "low"].map((level) => [level, levelLabels(level)]),
          ),
          "labels by priority",
          {
            description:
              "Which labels stand for which priority; a level that is not named keeps its default.",
          },
        ),
      ),
    }),
  },
  memory: {
    description: "Items that the configuration itself lists.",
    keys: () => ({
      items: optional(
        list(
          openMap({ title: text("What is to be done.") }, "an item with a title", {
            description: "An item; keys without a meaning of their own become its metadata.",
          }),
          "a list of items",
          "The items.",
        ),
      ),
      claim_expiry: expiry("1s", "365d"),
    }),
  },
};

/** `others` are types that the host has registered: only their type is known here. */
export function workSourceSchema(others: readonly string[], byDefault: string, isWhole: boolean): Schema {
  const options = typedMaps(WORK_SOURCES, { others, otherIs: "A work source of the host.", isWhole });
  const schema = oneOf(options, "a work source such as { type: directory, path: inbox }", {
    description: `Where its work comes from: without an item no job is run. null: nowhere. Default: ${byDefault}.`,
  });
  return optional(nullable(schema));
}

function expiry(from: string, to: string): Schema {
  const [least = 0, most = 0] = [from, to].map(durationMs);
  const isRight = (given: unknown): boolean => {
    const ms = typeof given === "string" ? durationMs(given) : undefined;
    return ms !== undefined && ms >= least && ms <= most;
  };
  return optional(
    fitting(`a duration from "${from}" to "${to}"`, isRight, {
      type: "string",
      pattern: "^[0-9]+[smhd]$",
      default: "1h",
      description: "How long a claim lasts unless it is renewed.",
    }),
  );
}

function pattern(description: string, form: RegExp, expected: string): Schema {
  return fitting(expected, (given) => typeof given === "string" && form.test(given), {
    type: "string",
    pattern: form.source,
    description,
  });
}

function label(description: string, byDefault?: string): Schema {
  const whole =
    byDefault === undefined ? `${description} Default: none.` : `${description} Default: ${byDefault}.`;
  return optional(labelText(whole));
}

function labelText(description: string): Schema {
  return fitting("the name of a label: 1 to 50 characters without a comma", isLabel, {
    type: "string",
    minLength: 1,
    maxLength: 50,
    description,
  });
}

function isLabel(given: unknown): boolean {
  return typeof given === "string" && /^[^,]{1,50}$/.test(given) && given.trim() === given;
}

function levelLabels(level: string): Schema {
  return optional(list(labelText("A label."), "a list of labels", `Labels that stand for ${level}.`));
}
