/**
 * Lint plugin: only src/clock.ts reads real time, and only src/random.ts makes random numbers.
 * All other code takes a clock or a random source as an argument, so that a test can control it.
 */
const CALLS = new Set(["Date", "setTimeout", "setInterval", "setImmediate", "queueMicrotask"]);
const MEMBERS = new Set([
  "Date.now",
  "performance.now",
  "performance.timeOrigin",
  "process.hrtime",
  "process.uptime",
  "Math.random",
  "AbortSignal.timeout",
  "crypto.randomUUID",
  "crypto.getRandomValues",
]);
const OWNERS = new Set([...MEMBERS].map((member) => member.split(".")[0]));
const TIMER_MODULE = /^(node:)?timers(\/promises)?$/;
const CRYPTO_MODULE = /^(node:)?crypto$/;

/** "Date.now" for `Date.now`, `Date["now"]` and `globalThis.Date.now`; `undefined` for other nodes. */
function nameOf(node) {
  if (node.type === "Identifier") return node.name;
  if (node.type !== "MemberExpression") return undefined;
  const property = node.computed ? node.property.value : node.property.name;
  const object = nameOf(node.object);
  return object === "globalThis" ? property : object === undefined ? undefined : `${object}.${property}`;
}

const noRealTime = {
  create(context) {
    const report = (node, what) =>
      context.report({
        node,
        message: `${what} is not allowed here: take a Clock or a Random as an argument.`,
      });
    return {
      MemberExpression(node) {
        const name = nameOf(node);
        if (MEMBERS.has(name)) report(node, name);
      },
      NewExpression(node) {
        if (nameOf(node.callee) === "Date" && node.arguments.length === 0) report(node, "new Date()");
      },
      CallExpression(node) {
        const name = nameOf(node.callee);
        if (CALLS.has(name)) report(node, `${name}()`);
      },
      VariableDeclarator(node) {
        const owner = node.id.type === "ObjectPattern" && node.init !== null ? nameOf(node.init) : undefined;
        const taken = owner === undefined ? [] : node.id.properties.map(({ key }) => `${owner}.${key?.name}`);
        for (const name of taken) if (OWNERS.has(owner) && MEMBERS.has(name)) report(node, name);
      },
      ImportDeclaration(node) {
        if (TIMER_MODULE.test(node.source.value)) report(node, `import "${node.source.value}"`);
        if (!CRYPTO_MODULE.test(node.source.value)) return;
        for (const { imported } of node.specifiers)
          if (/random/i.test(imported?.name)) report(node, imported.name);
      },
      ImportExpression(node) {
        if (TIMER_MODULE.test(node.source.value)) report(node, `import "${node.source.value}"`);
      },
    };
  },
};

export default { meta: { name: "rota" }, rules: { "no-real-time": noRealTime } };
