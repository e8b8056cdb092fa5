/* What `init` prints: how cron, systemd or compose start the program, with absolute paths. */
import { stringify } from 'yaml'
import { Retry, Skip, Stop } from '../../engine/base/errors.js'
import { word } from '../../engine/base/format.js'
import type { Trial } from '../check/trials.js'
import { manifests } from './manifests.js'
import type { Start } from './start.js'
import { systemdUnits } from './units.js'

/** In a crontab, % starts a new line. */
const inCrontab = (text: string): string => text.replaceAll('%', '\\%')

const machineZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone

export function crontab({ node, program, folder, config, jobs, timeZone, shards, hears }: Start): string[] {
  const flags = config === undefined ? '' : ` --config ${word(config)}`
  const run = (words: string): string =>
    inCrontab(`cd ${word(folder)} && ${word(node)} -- ${word(program)} ${words}${flags}`)
  const sent = shards === 0 ? '' : ` --enqueue ${shards}`
  const lines = [
    ...jobs.map(({ name, schedule }) => [schedule, run(`run ${word(name)}${sent} --quiet`)] as const),
    ['15 * * * *', `${run('status --quiet')} || echo "stale or failing: shopsync status"`] as const,
  ]
  const width = Math.max(...lines.map(([when]) => when.length))
  const up = [...(hears ? ['listen'] : []), ...(shards === 0 ? [] : ['worker'])]
  const besides = up.map(
    (name) => `# cron keeps nothing up: shopsync init --print systemd has a unit for shopsync ${name}`,
  )
  const zone = [
    `# Debian's cron ignores CRON_TZ and takes the machine's time zone, ${machineZone()}`,
    `CRON_TZ=${timeZone}`,
  ]
  return [
    ...(timeZone === machineZone() ? [] : zone),
    ...lines.map(([when, line]) => `${when.padEnd(width)}  ${line}`),
    ...besides,
  ]
}

/** What the program needs on this machine: its package and the packages around it. */
const packagesOf = (program: string): string =>
  program.replace(/(?<=\/node_modules)\/.*|\/dist\/(bin|src)\/.*/, '')

/** The libraries were built for this machine, so the same version of Node runs them. */
export function composeFile({ program, folder, ids, written, config, shards, hears }: Start): string {
  const mounted = packagesOf(program)
  const [major] = process.versions.node.split('.')
  const flags = config === undefined ? [] : ['--config', config]
  const staysUp = (command: string) => ({
    image: `node:${major}-bookworm-slim`,
    init: true,
    user: ids,
    // The scheduler's page listens only on this machine, and so do a local sandbox and a local Postgres.
    network_mode: 'host',
    working_dir: folder,
    command: ['node', '--', program, ...flags, command],
    volumes: [
      ...[folder, ...written].map((source) => ({ type: 'bind', source, target: source })),
      { type: 'bind', source: mounted, target: mounted, read_only: true },
    ],
    restart: 'unless-stopped',
  })
  const services = {
    shopsync: staysUp('schedule'),
    listen: hears ? staysUp('listen') : undefined,
    worker: shards === 0 ? undefined : staysUp('worker'),
  }
  // Compose expands $.
  return stringify({ services }, { lineWidth: 0, defaultStringType: 'QUOTE_DOUBLE', defaultKeyType: 'PLAIN' })
    .replaceAll('$', () => '$$')
    .trimEnd()
}

export const wroteText = (files: readonly string[]): string => files.map((file) => `Wrote ${file}`).join('\n')

/** Ways to run it automatically, by the word of `--print`. `asItIs`: the lines that go into a file. */
export const ways = {
  crontab: {
    says: "To run it automatically, with cron (crontab -e; cron's PATH does not matter):",
    asItIs: (start: Start) => crontab(start).join('\n'),
  },
  systemd: {
    says: 'With systemd (systemctl enable --now shopsync-*.timer):',
    asItIs: systemdUnits,
  },
  compose: {
    says: 'With compose (docker compose up --detach), which runs shopsync schedule and serves the report at http://127.0.0.1:8788:',
    asItIs: (start: Start) => `# compose.yaml\n${composeFile(start)}`,
  },
  kubernetes: {
    says: 'With Kubernetes, for a warehouse on Postgres and an image of your own (kubectl apply --filename):',
    asItIs: (start: Start) => manifests(start).join('\n---\n'),
  },
} as const

export type Way = keyof typeof ways

export const scheduleSays =
  'Or with systemd, which keeps the scheduler up (systemctl enable --now shopsync.service):'

/** How to see the other ways: all at once, the result of init would scroll away. */
export const otherWays =
  'For timers in place of the scheduler, compose or Kubernetes, type shopsync init --print systemd, compose or kubernetes'

/** What to type next, depending on what the trials found. */
export function nextStep(trials: readonly Trial[], { isSandbox }: { readonly isSandbox: boolean }): string {
  const failed = trials.filter(({ exitCode }) => exitCode !== 0)
  if (failed.length === 0) return 'Next: type shopsync sync'
  const away = failed.find((trial) => trial.of === 'failure' && trial.what === 'credentials')
  const status = away?.of === 'failure' ? statusOf(away.error) : 0
  if (status === 401)
    return 'Next: correct the partner id or the secret, which the API refused: type shopsync init --force'
  if (status === undefined)
    return isSandbox
      ? 'Next: type shopsync sandbox in another terminal, then shopsync sync'
      : 'Next: type shopsync check once the API can be reached; to correct its address, type shopsync init --force'
  return 'Next: fix what is marked with ✗ above, then type shopsync check; to correct an answer, type shopsync init --force'
}

/** The API's answer; undefined if it didn't answer. */
const statusOf = (error: unknown): number | undefined =>
  error instanceof Stop || error instanceof Skip || error instanceof Retry ? error.details.status : undefined
