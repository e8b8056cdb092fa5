import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { resources as declared } from '../../schema/index.js'
import { Stop } from '../errors.js'
import { cronProblem } from './cron.js'
import { isDays } from './duration.js'
import { jsonSchema, type Resources, resourceChoice, tenantChoice, textLeaf } from './leaf.js'
import { parseFile, refuse } from './load.js'
import { nearest } from './nearest.js'
import { problemsOf } from './problems.js'

const commands = ['sync', 'reconcile', 'verify', 'backfill'] as const

const stepShape = (resources: Resources) =>
  z.strictObject(
    {
      command: z
        .enum(commands, { error: '"sync", "reconcile", "verify" or "backfill"' })
        .describe(
          'What to do: bring in what changed; also find what was deleted or is lacking; only say whether anything differs; or pull a range of time again.',
        ),
      tenants: tenantChoice('Which tenants: all that the configuration names, or these.'),
      resources: resourceChoice(resources, 'Which resources: all that the configuration names, or these.'),
      full: z
        .boolean({ error: 'true or false' })
        .default(false)
        .describe('sync: ignore watermarks and walk everything again; reconcile, verify: list every id.'),
      sample: z
        .int({ error: 'a whole number' })
        .min(0, { error: 'a whole number' })
        .optional()
        .describe('verify: so many records of each tenant and resource are compared field by field.'),
      last: z
        .string({ error: 'whole days such as "P30D"' })
        .refine(isDays, { error: 'whole days such as "P30D"' })
        .optional()
        .meta({
          description:
            'backfill: the days (UTC) of this ISO 8601 duration that were over when today began. Whole days, so that a run that was cut short is gone on with by another one on the same day.',
          examples: ['P30D'],
        }),
      from: instant('backfill: the first instant of the range.'),
      to: instant('backfill: the first instant after the range.'),
    },
    { error: 'an object such as {"command": "sync"}' },
  )

const instant = (description: string) =>
  z
    .string({ error: 'a time such as "2026-01-31T00:00:00Z"' })
    .optional()
    .meta({ description, examples: ['2026-01-31T00:00:00Z'] })

type StepShape = z.output<ReturnType<typeof stepShape>>

/** What a step says that its command does not know, and what its command lacks. */
function misfit({ command, full, sample, last, from, to }: StepShape): readonly [string, string] | undefined {
  if (sample !== undefined && command !== 'verify') return ['sample', 'none: only verify compares samples']
  const isBackfill = command === 'backfill'
  if (isBackfill && full) return ['full', 'none: a backfill pulls its range']
  const given = { last, from, to }
  for (const name of ['last', 'from', 'to'] as const)
    if (given[name] !== undefined && !isBackfill) return [name, 'none: only backfill has a range']
  if (!isBackfill) return undefined
  if (last !== undefined)
    return from === undefined && to === undefined ? undefined : ['last', 'either last, or from and to']
  return from !== undefined && to !== undefined
    ? undefined
    : ['last', '"last", such as "P30D", or "from" and "to"']
}

const step = (resources: Resources) =>
  stepShape(resources)
    .superRefine((value, context) => {
      const found = misfit(value)
      if (found) context.addIssue({ code: 'custom', path: [found[0]], message: found[1] })
    })
    .describe('One command, with what would be its flags.')

const jobShape = (resources: Resources) =>
  z.strictObject(
    {
      $schema: z.string().optional().describe('Where the JSON Schema of this file is, for editors.'),
      description: textLeaf('what the job is for, in a sentence').describe('What the job is for.'),
      schedule: z
        .string({ error: 'five fields such as "0 * * * *"' })
        .superRefine((value, context) => {
          const message = cronProblem(value)
          if (message !== undefined) context.addIssue({ code: 'custom', message })
        })
        .optional()
        .meta({
          description: 'When it is due: minute, hour, day of month, month and day of week, as in a crontab.',
          examples: ['0 * * * *'],
        }),
      steps: z
        .array(step(resources), { error: 'a list of steps such as [{"command": "sync"}]' })
        .min(1, { error: 'at least one step such as [{"command": "sync"}]' })
        .describe('What to do, in this order. A step that fails does not keep the next from running.'),
    },
    { error: 'an object with description and steps' },
  )

export type Job = z.output<ReturnType<typeof jobShape>> & { readonly name: string }
export type JobStep = Job['steps'][number]

/** JSON Schema of the files in jobs/. */
export function jobSchema(resources: Resources = declared): object {
  return jsonSchema(jobShape(resources), {
    title: 'shopsync job',
    description: 'What `shopsync run NAME` does, when this file is jobs/NAME.json.',
  })
}

/** Reads jobs/NAME.json from the first of the folders that has it. */
export function readJob(name: string, folders: readonly string[], resources: Resources = declared): Job {
  const known = jobNames(folders)
  const folder = known.includes(name)
    ? folders.find((place) => existsSync(join(place, `${name}.json`)))
    : undefined
  if (folder === undefined) return unknownJob(name, known, folders)
  const shown = `${name}.json`
  const { value, lines } = parseFile(readFileSync(join(folder, shown), 'utf8'), join(folder, shown))
  const parsed = jobShape(resources).safeParse(value)
  if (parsed.success) return { ...parsed.data, name }
  const schema = jobSchema(resources)
  return refuse(problemsOf(parsed.error, { raw: value, schema, secrets: new Set() }), {
    name: join(folder, shown),
    lines,
    help: 'Every setting is described in schema/job.schema.json.',
  })
}

/** The jobs there are. Only listed names are ever opened, so that a name cannot lead out of the folder. */
export function jobNames(folders: readonly string[]): string[] {
  const files = folders.flatMap((folder) => (existsSync(folder) ? readdirSync(folder) : []))
  const names = files.filter((file) => file.endsWith('.json')).map((file) => file.slice(0, -'.json'.length))
  return [...new Set(names)].sort()
}

function unknownJob(name: string, known: readonly string[], folders: readonly string[]): never {
  const near = nearest(name, known)
  const list = known.length > 0 ? `one of ${known.join(', ')}` : 'a file jobs/NAME.json'
  throw new Stop(`Found no job "${name}" in ${folders.join(' or ')}, expected ${list}`, {
    exitCode: 2,
    hint: near ? `Did you mean shopsync run ${near}?` : `Type shopsync run ${known[0] ?? 'NAME'}`,
  })
}
