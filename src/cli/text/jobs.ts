import type { Job, JobStep } from '../../config/job.js'
import { atSecond, indent, table } from '../../format.js'
import { toJson } from '../../json.js'

/** A file in jobs/, as far as it can be read. */
export interface JobFile {
  readonly name: string
  readonly file: string
  readonly job: Job | null
  /** Why the file is not right; null where it is. */
  readonly problem: string | null
  /** The next instants at which it is due, canonical; empty where it has no schedule. */
  readonly next: readonly string[]
}

export function jobsText(files: readonly JobFile[]): string {
  if (files.length === 0) return 'There is no job. Write jobs/NAME.json; schema/job.schema.json says how.'
  return table(
    ['job', 'schedule', 'next (UTC)', 'does', 'file'],
    files.map(({ name, file, job, problem, next: [next] }) => [
      name,
      job?.schedule ?? '',
      next === undefined ? '' : atSecond(next),
      problem === null ? (job?.description ?? '') : '✗ shopsync jobs validate says what is wrong',
      file,
    ]),
  )
}

function stepText({ command, ...settings }: JobStep, number: number): string {
  const given = Object.entries(settings).filter(
    ([, value]) => value !== undefined && value !== 'all' && value !== false,
  )
  const words = given.map(([name, value]) => `${name} ${typeof value === 'string' ? value : toJson(value)}`)
  return `${number}. ${[command, ...words].join(', ')}`
}

export function jobText({ name, file, job, problem, next }: JobFile): string {
  if (job === null) return `${name} (${file})\n${indent(problem ?? '')}`
  const due = job.schedule === undefined ? 'when it is called: it has no schedule' : job.schedule
  return [
    `${name}: ${job.description}`,
    `file: ${file}`,
    `due: ${due}`,
    ...next.map((at) => `      ${atSecond(at)}`),
    'steps:',
    indent(job.steps.map((step, i) => stepText(step, i + 1)).join('\n')),
  ].join('\n')
}

export const validText = (files: readonly JobFile[]): string =>
  files
    .map(({ name, file, problem }) => `${problem === null ? '✓' : '✗'} ${name}: ${problem ?? file}`)
    .join('\n')
