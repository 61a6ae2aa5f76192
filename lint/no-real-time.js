/**
 * Lint plugin: real time and randomness enter Rota through one door each, src/clock.ts and src/random.ts.
 * Everything else takes them as arguments, which is what lets a test make them jump.
 */
const TIMERS = new Set(["setTimeout", "setInterval", "setImmediate", "queueMicrotask"]);
const READERS = new Set(["Date.now", "performance.now", "process.hrtime", "process.uptime", "Math.random"]);
const TIMER_MODULES = new Set(["timers", "node:timers", "timers/promises", "node:timers/promises"]);

const noRealTime = {
  create(context) {
    const report = (node, what) =>
      context.report({
        node,
        message: `${what} is not allowed here: take a Clock or a Random as an argument.`,
      });
    return {
      MemberExpression(node) {
        const name = `${node.object.name}.${node.property.name}`;
        if (READERS.has(name)) report(node, name);
        else if (node.object.name === "globalThis" && TIMERS.has(node.property.name)) report(node, name);
      },
      NewExpression(node) {
        if (node.callee.name === "Date" && node.arguments.length === 0) report(node, "new Date()");
      },
      CallExpression(node) {
        if (node.callee.name === "Date" || TIMERS.has(node.callee.name))
          report(node, `${node.callee.name}()`);
      },
      ImportDeclaration(node) {
        if (TIMER_MODULES.has(node.source.value)) report(node, `import "${node.source.value}"`);
      },
    };
  },
};

export default { meta: { name: "rota" }, rules: { "no-real-time": noRealTime } };
