import { atMinute, atSecond, indent, span } from '../../engine/base/format.js'
import { toJson } from '../../engine/base/printjson.js'
import type { JobStep } from '../../shell/command.js'
import { type Ink, plainTerminal, type Terminal } from '../../shell/terminal.js'
import { table, unbroken } from '../../shell/texttable.js'
import type { Job } from './jobfile.js'
import type { JobFile, LastOfJob } from './jobfiles.js'

const lastText = (last: LastOfJob | null): string =>
  last?.started_at ? `${atSecond(last.started_at)}, ${last.status}` : ''

const lastInk = (last: string): Ink | undefined =>
  last === '' ? undefined : last.endsWith('ok') ? 'good' : 'bad'
const doesInk = (does: string): Ink | undefined => (does.startsWith('✗') ? 'bad' : undefined)

export function jobsText(files: readonly JobFile[], terminal: Terminal = plainTerminal): string {
  if (files.length === 0)
    return 'There are no jobs. Write jobs/NAME.json; schema/job.schema.json describes it.'
  return table(
    [
      unbroken('job'),
      unbroken('schedule', { spare: 2 }),
      unbroken('next (UTC)'),
      { title: 'last (UTC)', spare: 1, ink: lastInk },
      { title: 'does', ink: doesInk },
      { title: 'file', spare: 3 },
    ],
    files.map(({ name, file, job, problem, last, next: [next] }) => [
      name,
      job?.schedule ?? '',
      next === undefined ? '' : atMinute(next),
      last?.started_at ? `${atMinute(last.started_at)}, ${last.status}` : '',
      problem === null ? (job?.description ?? '') : '✗ type shopsync jobs validate to see what is wrong',
      file,
    ]),
    terminal,
  )
}

function stepText({ command, ...settings }: JobStep, number: number): string {
  const given = Object.entries(settings).filter(
    ([, value]) => value !== undefined && value !== 'all' && value !== false,
  )
  const words = given.map(([name, value]) => `${name} ${typeof value === 'string' ? value : toJson(value)}`)
  return `${number}. ${[command, ...words].join(', ')}`
}

/** A job's settings that differ from the defaults. */
function settingsOf({ timeLimit, wait, onFailure, heartbeat, then: following }: Job): string[] {
  const calls = following?.map(({ command, on }) => `${command ? toJson(command) : 'a webhook'} (${on})`)
  return [
    timeLimit === undefined ? '' : `time limit: ${span(timeLimit)}`,
    wait === 0 ? '' : `waits for another run: up to ${span(wait)}`,
    onFailure === 'stop' ? 'after a failure: stops' : '',
    heartbeat === undefined ? '' : `heartbeat: ${heartbeat}`,
    calls === undefined ? '' : `then: ${calls.join(', ') || 'nothing'}`,
  ].filter((line) => line !== '')
}

export function jobText({ name, file, job, problem, next, last }: JobFile): string {
  if (job === null) return `${name} (${file})\n${indent(problem ?? '')}`
  const due = job.schedule === undefined ? 'only by hand: it has no schedule' : job.schedule
  return [
    `${name}: ${job.description}`,
    `file: ${file}`,
    `due: ${due}`,
    ...next.map((at) => `      ${atSecond(at)}`),
    ...(problem === null ? [] : [`✗ ${problem}`]),
    ...(last ? [`last: ${lastText(last)}`] : []),
    ...settingsOf(job),
    'steps:',
    indent(job.steps.map((step, i) => stepText(step, i + 1)).join('\n')),
  ].join('\n')
}

export const validText = (files: readonly JobFile[]): string =>
  files
    .map(({ name, file, problem }) => `${problem === null ? '✓' : '✗'} ${name}: ${problem ?? file}`)
    .join('\n')
