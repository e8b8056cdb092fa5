/* What `init` prints: how the program is started by cron and by systemd, with absolute paths. */

/** How the program is started on this machine. */
export interface Start {
  readonly node: string
  readonly program: string
  /** The folder of the configuration. */
  readonly folder: string
  readonly user: string
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

export const wroteText = (files: readonly string[]): string => files.map((file) => `Wrote ${file}`).join('\n')

export function nextText(start: Start, { isSandbox }: { readonly isSandbox: boolean }): string {
  const first = isSandbox
    ? 'Type shopsync sandbox in another terminal, then shopsync sync.'
    : 'Type shopsync sync.'
  return `${first} Then let it run by itself: by cron (crontab -e; PATH of cron does not matter),

${crontab(start).join('\n')}

or by systemd (systemctl enable --now shopsync.timer; a second pair of files for nightly, with OnCalendar=02:30):

${systemdUnit(start)}`
}
