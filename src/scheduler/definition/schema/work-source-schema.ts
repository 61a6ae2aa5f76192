/** The keys of a work source, by its type. check-parts.ts checks whether the source can be created. */
import { durationMs } from "../../../duration.js";
import { isLabel, LOGIN_FORM, REPO_FORM, VARIABLE_FORM } from "../../../work-sources/github/github-config.js";
import { list, map, nullable, oneOf, openMap, optional, type Schema, text, fitting } from "./fields.js";
import { type TypedMap, typedMaps } from "./typed-maps.js";

const WORK_SOURCES: Readonly<Record<string, TypedMap>> = {
  directory: {
    description: "Files in a directory, which any number of processes may share.",
    keys: () => ({
      path: text(
        "The directory with ready/, working/, done/ and failed/, which are created; relative to this file.",
        "the path of a directory",
      ),
      claim_expiry: expiry("1s", "365d"),
    }),
  },
  github: {
    description: "Issues of a GitHub repository.",
    keys: () => ({
      repo: pattern("The repository.", REPO_FORM, 'text such as "owner/name"'),
      labels: optional(
        map(
          {
            ready: label("Marks an issue that can be claimed.", "ready"),
            working: label("Marks an issue that is claimed.", "agent-working"),
            done: label("Added when the job succeeded."),
            failed: label("Added when the job failed."),
          },
          "labels by state",
          { description: "The labels of the states." },
        ),
      ),
      exclude_labels: optional(
        list(labelText("A label."), "a list of labels", "Issues with one of the labels are ignored.", {
          default: ["blocked", "wip"],
        }),
      ),
      claim_expiry: expiry("1s", "7d"),
      claimers: optional(
        list(
          pattern("A login.", LOGIN_FORM, 'a login such as "octocat"'),
          "a list of logins",
          "Logins whose claims count. Default: all.",
          { minItems: 1 },
        ),
      ),
      token_env: optional(
        pattern(
          "The environment variable with the token. Default: GITHUB_TOKEN.",
          VARIABLE_FORM,
          "the name of an environment variable",
        ),
      ),
      base_url: optional(
        text(
          "The address of the API. Default: https://api.github.com.",
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
              "The labels of the priorities; a priority that is left out keeps its default labels.",
          },
        ),
      ),
    }),
  },
  memory: {
    description: "Items that the configuration lists.",
    keys: () => ({
      items: optional(
        list(
          openMap({ title: text("What to do.") }, "an item with a title", {
            description: "An item; its unknown keys become metadata.",
          }),
          "a list of items",
          "The items.",
        ),
      ),
      claim_expiry: expiry("1s", "365d"),
    }),
  },
};

export function workSourceSchema(hostTypes: readonly string[], byDefault: string, isWhole: boolean): Schema {
  const hostDescription = "A work source of the host.";
  const options = typedMaps(WORK_SOURCES, { hostTypes, hostDescription, isWhole });
  const schema = oneOf(options, "a work source such as { type: directory, path: inbox }", {
    description: `Where work items come from: a job runs only when there is one. null: no source. Default: ${byDefault}.`,
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
      description: "How long a claim lasts without a renewal.",
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

function levelLabels(level: string): Schema {
  return optional(list(labelText("A label."), "a list of labels", `The labels of the priority ${level}.`));
}
