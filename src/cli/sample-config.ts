/** The configuration that `rota init` writes: it runs as it is, and shows what can be said. */

export const SAMPLE_CONFIG = `# What Rota runs, and when. \`rota validate\` checks this file, \`rota run\` runs it.
version: 1

# Where state and jobs are kept, relative to this file.
state_dir: .rota

# The time zone of cron schedules that name none. Without it, the system's.
# timezone: Europe/Berlin

# Merged into every agent.
defaults:
  timeout: 5m

agents:
  # An agent is a worker: a command, with schedules that say when a job of it is due.
  - name: greeter
    description: Says hello every few seconds, so that there is something to see.
    runtime: command
    # A program and its arguments, never a shell. The prompt comes on stdin.
    command: [node, -e, "process.stdin.on('data', (prompt) => console.log('Hello,', String(prompt)))"]
    schedules:
      often:
        type: interval
        interval: 5s # counted from the end of the last job
        prompt: world
      mornings:
        type: cron
        expression: "0 9 * * mon-fri" # minute hour day month weekday
        prompt: early bird
        enabled: false # remove this line to switch it on
`;
