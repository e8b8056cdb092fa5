/* What `init` prints: how cron, systemd or compose start the program, with absolute paths. */
import { stringify } from 'yaml'

/** How the program is started on this machine. */
export interface Start {
  readonly node: string
  readonly program: string
  /** The folder of the configuration. */
  readonly folder: string
  readonly user: string
  /** As a container names it: numbers of user and group. */
  readonly ids: string
}

/** A word of a shell's command line. */
const word = (text: string): string =>
  /^[\w./:@=+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`

/** In a crontab, % begins a new line. */
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

/** A word of a unit's command: systemd expands % and $. */
const inUnit = (text: string): string => {
  const plain = text.replaceAll('%', '%%').replaceAll('$', () => '$$')
  return /[\s"'\\]/.test(plain) ? `"${plain.replaceAll(/["\\]/g, '\\$&')}"` : plain
}

export const systemdUnit = ({
  node,
  program,
  folder,
  user,
}: Start): string => `# /etc/systemd/system/shopsync.service
[Unit]
Description=shopsync hourly
Wants=network-online.target
After=network-online.target

[Service]
Type=oneshot
User=${user}
WorkingDirectory=${folder.replaceAll('%', '%%')}
ExecStart=${[node, '--', program, 'run', 'hourly'].map(inUnit).join(' ')}
# 4: another run is at work; 143: systemctl stop ended it. Neither is a failure.
SuccessExitStatus=4 143
TimeoutStopSec=90

# /etc/systemd/system/shopsync.timer
[Unit]
Description=shopsync every hour

[Timer]
OnCalendar=hourly
RandomizedDelaySec=120
Persistent=true

[Install]
WantedBy=timers.target`

/** What the program needs of this machine: the package, with the packages beside it. */
const packagesOf = (program: string): string =>
  program.replace(/(?<=\/node_modules)\/.*|\/dist\/(bin|src)\/.*/, '')

/** The libraries were built for this machine, so that Node of its kind and version runs them. */
export function composeFile({ program, folder, ids }: Start): string {
  const mounted = packagesOf(program)
  const [major] = process.versions.node.split('.')
  const shopsync = {
    image: `node:${major}-bookworm-slim`,
    init: true,
    user: ids,
    // The page of the scheduler listens on this machine alone, as do a sandbox and a Postgres of this machine.
    network_mode: 'host',
    working_dir: folder,
    command: ['node', '--', program, 'schedule'],
    volumes: [
      { type: 'bind', source: folder, target: folder },
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

export function nextText(start: Start, { isSandbox }: { readonly isSandbox: boolean }): string {
  const first = isSandbox
    ? 'Type shopsync sandbox in another terminal, then shopsync sync.'
    : 'Type shopsync sync.'
  return `${first} Then let it run by itself: by cron (crontab -e; PATH of cron does not matter),

${crontab(start).join('\n')}

or by systemd (systemctl enable --now shopsync.timer; a second pair of files for nightly, with OnCalendar=02:30):

${systemdUnit(start)}

or by compose (docker compose up --detach), where the program keeps time itself and serves its report on
http://127.0.0.1:8788, as shopsync schedule does without Docker:

# compose.yaml
${composeFile(start)}`
}
