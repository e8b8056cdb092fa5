/* What `init` prints: how cron, systemd or compose start the program, with absolute paths. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { Retry, Skip, Stop } from '../../engine/base/errors.js'
import { packageFolder } from '../../shell/package.js'
import type { Trial } from '../check/trials.js'

/** How the program is started on this machine. */
export interface Start {
  readonly node: string
  readonly program: string
  /** The configuration's folder. */
  readonly folder: string
  readonly user: string
  /** In the form a container uses: user and group numbers. */
  readonly ids: string
  /** Folders outside `folder` that runs write to. */
  readonly written: readonly string[]
}

/** One word of a shell command line. */
const word = (text: string): string =>
  /^[\w./:@=+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`

/** In a crontab, % starts a new line. */
const inCrontab = (text: string): string => text.replaceAll('%', '\\%')

export function crontab({ node, program, folder }: Start): string[] {
  const run = (words: string): string =>
    inCrontab(`cd ${word(folder)} && ${word(node)} -- ${word(program)} ${words}`)
  return [
    `0 * * * *   ${run('run hourly --quiet')}`,
    `30 2 * * *  ${run('run nightly --quiet')}`,
    `15 * * * *  ${run('status --quiet')} || echo "stale or failing: shopsync status"`,
  ]
}

/** A word of a unit: systemd expands % everywhere, and ends a word at a space. */
const inUnit = (text: string): string => {
  const plain = text.replaceAll('%', '%%')
  return /[\s"'\\]/.test(plain) ? `"${plain.replaceAll(/["\\]/g, '\\$&')}"` : plain
}

/** In a command, systemd expands $ too. */
const inCommand = (text: string): string => inUnit(text).replaceAll('$', () => '$$')

/** The folder where node_exporter's package looks for text files: metrics.textfile may point there. */
const textfiles = '/var/lib/prometheus/node-exporter'

/** Like deploy/systemd, but the folder may be anyone's, even in /home or /tmp. */
function hardened({ node, program, folder, written }: Start): string[] {
  const isTemporary = [node, program, folder, ...written].some((path) => /^(\/var)?\/tmp\//.test(path))
  return [
    'NoNewPrivileges=yes',
    'ProtectSystem=strict',
    `ReadWritePaths=${[folder, ...written].map(inUnit).join(' ')} -${textfiles}`,
    'ProtectHome=read-only',
    ...(isTemporary ? [] : ['PrivateTmp=yes']),
    'PrivateDevices=yes',
    'ProtectProc=invisible',
    'ProcSubset=pid',
    'ProtectClock=yes',
    'ProtectControlGroups=yes',
    'ProtectHostname=yes',
    'ProtectKernelLogs=yes',
    'ProtectKernelModules=yes',
    'ProtectKernelTunables=yes',
    'RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX',
    'RestrictNamespaces=yes',
    'RestrictRealtime=yes',
    'RestrictSUIDSGID=yes',
    'LockPersonality=yes',
    'RemoveIPC=yes',
    'CapabilityBoundingSet=',
    'SystemCallArchitectures=native',
    'SystemCallFilter=@system-service',
    'SystemCallErrorNumber=EPERM',
    'UMask=0077',
  ]
}

const timer = (job: string, when: string): string => `# /etc/systemd/system/shopsync-run-${job}.timer
[Unit]
Description=shopsync job ${job}

[Timer]
OnCalendar=${when}
RandomizedDelaySec=120
Persistent=true
Unit=shopsync-run@${job}.service

[Install]
WantedBy=timers.target`

const online = `Wants=network-online.target time-sync.target
After=network-online.target time-sync.target`

const execStart = ({ node, program }: Start, words: readonly string[]): string =>
  `ExecStart=${[node, '--', program, ...words].map(inCommand).join(' ')}`

/** The scheduler as a unit, short enough to stand beside the crontab. */
export const scheduleUnit = (start: Start): string => `# /etc/systemd/system/shopsync-schedule.service
[Unit]
Description=shopsync schedule
${online}
[Service]
User=${start.user}
WorkingDirectory=${start.folder.replaceAll('%', '%%')}
${execStart(start, ['schedule'])}
Restart=on-failure
RestartPreventExitStatus=2
UMask=0077
[Install]
WantedBy=multi-user.target`

/** The names differ from those in deploy/systemd: installed units must not be overwritten. */
export const systemdUnits = (start: Start): string => `# /etc/systemd/system/shopsync-run@.service
[Unit]
Description=shopsync job %i
${online}

[Service]
Type=oneshot
User=${start.user}
WorkingDirectory=${start.folder.replaceAll('%', '%%')}
${execStart(start, ['run'])} %i
# 4: another run is in progress; 143: systemctl stop ended it. Neither is a failure.
SuccessExitStatus=4 143
TimeoutStopSec=90
# The program only needs its folder and the network.
${hardened(start).join('\n')}

${timer('hourly', '*-*-* *:00:00')}

${timer('nightly', '*-*-* 02:30:00')}`

/** What the program needs on this machine: its package and the packages around it. */
const packagesOf = (program: string): string =>
  program.replace(/(?<=\/node_modules)\/.*|\/dist\/(bin|src)\/.*/, '')

/** The libraries were built for this machine, so the same version of Node runs them. */
export function composeFile({ program, folder, ids, written }: Start): string {
  const mounted = packagesOf(program)
  const [major] = process.versions.node.split('.')
  const shopsync = {
    image: `node:${major}-bookworm-slim`,
    init: true,
    user: ids,
    // The scheduler's page listens only on this machine, and so do a local sandbox and a local Postgres.
    network_mode: 'host',
    working_dir: folder,
    command: ['node', '--', program, 'schedule'],
    volumes: [
      ...[folder, ...written].map((source) => ({ type: 'bind', source, target: source })),
      { type: 'bind', source: mounted, target: mounted, read_only: true },
    ],
    restart: 'unless-stopped',
  }
  // Compose expands $.
  return stringify(
    { services: { shopsync } },
    { lineWidth: 0, defaultStringType: 'QUOTE_DOUBLE', defaultKeyType: 'PLAIN' },
  )
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
    says: 'With systemd (systemctl enable --now shopsync-run-hourly.timer shopsync-run-nightly.timer):',
    asItIs: systemdUnits,
  },
  compose: {
    says: 'With compose (docker compose up --detach), which runs shopsync schedule and serves the report at http://127.0.0.1:8788:',
    asItIs: (start: Start) => `# compose.yaml\n${composeFile(start)}`,
  },
  kubernetes: {
    says: 'With Kubernetes, for a warehouse on Postgres and an image of your own (kubectl apply --filename):',
    asItIs: () => manifests().join('\n---\n'),
  },
} as const

export type Way = keyof typeof ways

export const scheduleSays =
  'Or with systemd, which keeps the scheduler up (systemctl enable --now shopsync-schedule.service):'

/** How to see the other ways: all at once, the result of init would scroll away. */
export const otherWays =
  'For hardened units with timers, compose or Kubernetes, type shopsync init --print systemd, compose or kubernetes'

/** The files of deploy/kubernetes, the configuration first. */
function manifests(): string[] {
  const folder = join(packageFolder(), 'deploy/kubernetes')
  return ['config.yaml', 'deployment.yaml', 'cronjob.yaml'].map((name) =>
    readFileSync(join(folder, name), 'utf8').trimEnd(),
  )
}

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
