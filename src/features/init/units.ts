/* The units of deploy/systemd, for one machine: its paths, its user, and the jobs that have a schedule there. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { packageFolder } from '../../shell/package.js'
import { calendarTimes } from './calendartimes.js'
import type { Start } from './start.js'

/** A word of a unit: systemd expands % everywhere, and ends a word at a space. */
const inUnit = (text: string): string => {
  const plain = text.replaceAll('%', '%%')
  return /[\s"'\\]/.test(plain) ? `"${plain.replaceAll(/["\\]/g, '\\$&')}"` : plain
}

/** In a command, systemd expands $ too. */
const inCommand = (text: string): string => inUnit(text).replaceAll('$', () => '$$')

const deployed = (name: string): string =>
  readFileSync(join(packageFolder(), 'deploy/systemd', name), 'utf8').trimEnd()

/** What differs on this machine from the text in deploy/, by the key of a setting; undefined: the line is left out. */
const here: Readonly<Record<string, (start: Start, value: string) => string | undefined>> = {
  Documentation: (_, value) =>
    inUnit(pathToFileURL(join(packageFolder(), 'docs', value.split('/').at(-1) ?? '')).href),
  User: ({ user }) => user,
  // That of the user.
  Group: () => undefined,
  WorkingDirectory: ({ folder }) => folder.replaceAll('%', '%%'),
  ExecStart: ({ node, program, config }, value) => {
    const flags = config === undefined ? [] : ['--config', config]
    return [...[node, '--', program, ...flags].map(inCommand), ...value.split(' ').slice(1)].join(' ')
  },
  ReadWritePaths: ({ folder, written }, value) =>
    [...[folder, ...written].map(inUnit), ...value.split(' ').slice(1)].join(' '),
  // The folder may be anyone's, even in /home or /tmp.
  ProtectHome: () => 'read-only',
  PrivateTmp: ({ node, program, folder, written }, value) =>
    [node, program, folder, ...written].some((path) => /^(\/var)?\/tmp\//.test(path)) ? undefined : value,
}

/** A unit of deploy/systemd, with the name of the file that it goes into. */
function unit(name: string, start: Start): string {
  const lines = deployed(name)
    .split('\n')
    .flatMap((line) => {
      const [, key = '', value = ''] = /^(\w+)=(.*)$/.exec(line) ?? []
      const own = here[key]
      if (own === undefined) return [line]
      const changed = own(start, value)
      return changed === undefined ? [] : [`${key}=${changed}`]
    })
  return [`# /etc/systemd/system/${name}`, ...lines].join('\n')
}

/** The scheduler. Without the comments it is short enough to stand beside the crontab. */
export const scheduleUnit = (start: Start): string => unit('shopsync.service', start).replaceAll(/\n#.*/g, '')

function timer(job: string, schedule: string, zone: string): string {
  const times = calendarTimes(schedule, zone).map((time) => `OnCalendar=${time}`)
  return `# /etc/systemd/system/shopsync-${job}.timer\n${deployed('shopsync-hourly.timer')
    .replaceAll('hourly', () => job)
    .replace(/^OnCalendar=.*$/m, () => times.join('\n'))}`
}

/** A timer for each job that has a schedule, and whatever has to stay up beside them. */
export function systemdUnits(start: Start): string {
  const { jobs, timeZone, shards, hears } = start
  const sent = shards === 0 ? '' : ` --enqueue ${shards}`
  return [
    unit('shopsync@.service', start).replace(/^ExecStart=.*$/m, (line) => `${line}${sent}`),
    ...jobs.map(({ name, schedule }) => timer(name, schedule, timeZone)),
    ...(hears ? [unit('shopsync-listen.service', start)] : []),
    ...(shards === 0 ? [] : [unit('shopsync-worker.service', start)]),
  ].join('\n\n')
}
