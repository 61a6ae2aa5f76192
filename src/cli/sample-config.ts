/** The configuration that `rota init` writes: it runs unchanged, and its comments explain the settings. */

export const SAMPLE_CONFIG = `# What Rota runs, and when. \`rota validate\` checks this file, \`rota run\` runs it.
version: 1

# The directory for state and jobs, relative to this file.
state_dir: .rota

# The time zone of cron schedules without one of their own. Default: the system's.
# timezone: Europe/Berlin

# Merged into every agent.
defaults:
  timeout: 5m

agents:
  # An agent is a worker: a command, with schedules that define when it runs.
  - name: greeter
    description: Says hello every few seconds.
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
