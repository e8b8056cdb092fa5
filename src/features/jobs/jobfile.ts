/*
 * The files in jobs/: every setting with its check, default and description, and the search for a file. Used by
 * `shopsync run`. The build writes schema/job.schema.json from it, for editors.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { resources as declared } from '../../../schema/index.js'
import { arrange } from '../../engine/base/arrange.js'
import { Stop } from '../../engine/base/errors.js'
import { word } from '../../engine/base/format.js'
import { addressProblem } from '../../engine/config/address.js'
import { leftBehind } from '../../engine/config/configfolder.js'
import { cronProblem } from '../../engine/config/cron.js'
import { parseDuration } from '../../engine/config/duration.js'
import { type Environment, expand } from '../../engine/config/expand.js'
import {
  choice,
  durationLeaf,
  flag,
  jsonSchema,
  type Resources,
  resourceChoice,
  schemaReference,
  tenantChoice,
  textLeaf,
} from '../../engine/config/leaf.js'
import { parseFile, refuse, withoutDoubles } from '../../engine/config/load.js'
import { nearest } from '../../engine/config/nearest.js'
import { inWords, type Problem, problemsOf, settingPaths } from '../../engine/config/problems.js'
import { Secret } from '../../engine/config/secret.js'
import { jobThenShape, thenProblems, thenSecrets } from '../../engine/config/thensection.js'
import type { Invocation, JobStep, StepKind, StepSetting } from '../../shell/command.js'
import { folderOf, variablesOf } from '../../shell/configuration.js'
import { stepsOf } from '../../shell/features.js'
import { packageFolder } from '../../shell/package.js'

/** Where to look for jobs: in jobs/ beside the configuration, then among those that come with the program. */
export function jobFolders(call: Pick<Invocation, 'globals' | 'io'>): readonly string[] {
  const { workingDirectory } = call.io
  const folder = folderOf(call)
  const [own, shipped] = [join(folder, 'jobs'), join(packageFolder(), 'jobs')]
  const { here = shipped } = leftBehind('jobs', { folder, workingDirectory }) ?? {}
  if (here !== shipped && jobNames([here]).length > 0)
    throw new Stop(
      `Found jobs in ${here}, in the working directory; expected them in ${own}, beside the configuration`,
      {
        exitCode: 2,
        hint: `To keep them, type mv ${word(here)} ${word(own)}; if they are not shopsync's, type mkdir ${word(own)}`,
      },
    )
  return [...new Set([own, shipped])]
}

/** What is needed to read job files. */
export const aroundJobs = async (
  invocation: Pick<Invocation, 'features' | 'globals' | 'io'>,
  allowInsecure: boolean,
): Promise<JobSurroundings> => ({
  environment: variablesOf(invocation),
  kinds: await stepsOf(invocation.features),
  allowInsecure,
})

const either = (words: readonly string[]): string =>
  [words.slice(0, -1).join(', '), ...words.slice(-1)].join(' or ')

function stepShape(resources: Resources, kinds: readonly StepKind[]) {
  const words = kinds.map(({ command }) => command)
  const own = arrange<StepSetting>(
    {},
    kinds.map(({ settings = {} }) => settings),
  )
  return z.strictObject(
    {
      command: choice(words, either(words.map((word) => `"${word}"`))).describe(
        kinds.map(({ command, does }) => `${command}: ${does}`).join(' '),
      ),
      tenants: tenantChoice('Which tenants: all that the configuration names, or only these.'),
      resources: resourceChoice(
        resources,
        'Which resources: all that the configuration names, or only these.',
      ),
      full: flag('sync: ignore watermarks and walk everything again; reconcile, verify: list every id.'),
      due: flag(
        'sync, reconcile: only the lists that are due by their targets, best first (docs/scale.md). What the rate limit or timeLimit leaves out waits for the next run and does not count as a failure.',
      ),
      ...Object.fromEntries(own.map(([name, { shape }]) => [name, shape])),
    },
    { error: 'an object such as {"command": "sync"}' },
  )
}

const dueWords = (kinds: readonly StepKind[]): string[] =>
  kinds.flatMap(({ command, takesDue }) => (takesDue ? [command] : []))

/** The first setting of a step that its kind doesn't know, lacks or can't have, and the setting that is expected. */
function misfit(step: JobStep, kinds: readonly StepKind[]): ReturnType<NonNullable<StepKind['misfit']>> {
  const given = new Set(Object.entries(step).flatMap(([name, value]) => (value === undefined ? [] : [name])))
  const kind = kinds.find(({ command }) => command === step.command)
  const foreign = kinds
    .filter((other) => other !== kind)
    .flatMap(({ command, settings = {} }) => Object.entries(settings).map((entry) => ({ command, entry })))
    .find(({ entry: [name] }) => given.has(name))
  if (foreign) {
    const { command, entry } = foreign
    const [name, { elsewhere }] = entry
    return [name, elsewhere, `Leave "${name}" out, or move it to a step with "command": "${command}"`]
  }
  if (step.due && !kind?.takesDue) return ['due', `none: only ${either(dueWords(kinds))} may be due`]
  if (step.due && step.full) return ['due', 'either "due" or "full": due lists are not read in full']
  return kind?.misfit?.(step)
}

const step = (resources: Resources, kinds: readonly StepKind[]) =>
  stepShape(resources, kinds)
    .superRefine((value, context) => {
      const found = misfit(value, kinds)
      if (!found) return
      const [setting, message, hint] = found
      context.addIssue({ code: 'custom', path: [setting], message, params: { hint } })
    })
    .describe('One command, with the same settings as its command-line flags.')

const schedule = z
  .string({ error: 'five fields such as "0 * * * *"' })
  .superRefine((text, context) => {
    const message = cronProblem(text)
    if (message !== undefined) context.addIssue({ code: 'custom', message })
  })
  .optional()
  .meta({
    description: 'When it is due: minute, hour, day of month, month and day of week, as in a crontab.',
    examples: ['0 * * * *'],
  })

const waitText =
  'How long the job waits for another run to end before it gives up with exit code 4. PT0S: not at all, which suits a job that runs again soon.'

const limitError = 'an ISO 8601 duration longer than zero, such as "PT4H"'

const limitLeaf = z
  .string({ error: limitError })
  .refine((value) => (parseDuration(value) ?? 0) > 0, { error: limitError })
  .transform((value) => parseDuration(value) ?? 0)
  .optional()
  .meta({
    description:
      'How long all steps together may take. Then the job ends cleanly, and the next one starts with the cursors that have waited longest; a snapshot or a report still runs. --time-limit takes precedence.',
    examples: ['PT4H'],
  })

const heartbeatError = 'an address such as "https://hc.example.com/ping/1234"'

const heartbeatLeaf = z
  .string({ error: heartbeatError })
  .refine((value) => /^https?:\/\//.test(value) && URL.canParse(value), { error: heartbeatError })
  .transform((value) => new Secret(value))
  .optional()
  .meta({
    description:
      'Called after each run of the job that ends with exit code 0 or 1, with it as the parameter exit: a dead man\'s switch, for a service that notices when the calls stop. The address is a secret; "${NAME}" takes it from the environment.',
    examples: ['${NIGHTLY_HEARTBEAT}'],
  })

const jobShape = (resources: Resources, kinds: readonly StepKind[]) =>
  z.strictObject(
    {
      $schema: schemaReference,
      description: textLeaf('what the job is for, in a sentence').describe('What the job is for.'),
      schedule,
      steps: z
        .array(step(resources, kinds), { error: 'a list of steps such as [{"command": "sync"}]' })
        .min(1, { error: 'at least one step such as [{"command": "sync"}]' })
        .describe('What to do, in this order.'),
      timeLimit: limitLeaf,
      wait: durationLeaf('PT0S', waitText, 'P7D'),
      onFailure: choice(['continue', 'stop'], '"continue" or "stop"')
        .default('continue')
        .describe(
          'What to do after a step that did not finish its work. continue: run the next one anyway; if the API could not be reached, only steps that do not need it. stop: run no further step.',
        ),
      heartbeat: heartbeatLeaf,
      then: jobThenShape,
    },
    { error: 'an object with description and steps' },
  )

export type Job = z.output<ReturnType<typeof jobShape>> & { readonly name: string }

/** JSON Schema of the files in jobs/. */
export function jobSchema(kinds: readonly StepKind[], resources: Resources = declared): object {
  return jsonSchema(jobShape(resources, kinds), {
    title: 'shopsync job',
    description: 'What `shopsync run NAME` does, when this file is jobs/NAME.json.',
  })
}

/** A job's file, in the first folder that has it; undefined if none does. */
export function jobFile(name: string, folders: readonly string[]): string | undefined {
  if (!jobNames(folders).includes(name)) return undefined
  return folders.map((folder) => join(folder, `${name}.json`)).find((file) => existsSync(file))
}

export interface JobSurroundings {
  /** For `${NAME}`. */
  readonly environment: Environment
  /** The kinds of steps that exist. */
  readonly kinds: readonly StepKind[]
  readonly resources?: Resources
  /** Whether a heartbeat or a webhook may be called over plain http; follows the configuration of the API. Default: false. */
  readonly allowInsecure?: boolean
}

const secrets = settingPaths(['heartbeat', ...thenSecrets])

/** Reads jobs/NAME.json from the first folder that has it. */
export function readJob(name: string, folders: readonly string[], around: JobSurroundings): Job {
  const { environment, kinds, resources = declared, allowInsecure = false } = around
  const file = jobFile(name, folders)
  if (file === undefined) return unknownJob(name, jobNames(folders), folders)
  const { value, lines } = parseFile(readFileSync(file, 'utf8'), file)
  // The folder that jobs/ is in: the configuration's.
  const filled = expand(value, { environment, folder: dirname(dirname(file)), secrets })
  const parsed = jobShape(resources, kinds).safeParse(filled.value, { error: inWords })
  const found = parsed.success
    ? insecureAddresses(parsed.data, allowInsecure)
    : problemsOf(parsed.error, { raw: value, schema: jobSchema(kinds, resources), secrets })
  if (parsed.success && filled.problems.length + found.length === 0) return { ...parsed.data, name }
  return refuse([...filled.problems, ...withoutDoubles(found, filled.problems)], { name: file, lines })
}

/** Anyone who knows these addresses can fake their calls, and plain http would expose them to the network. */
function insecureAddresses(
  { heartbeat, then: following = [] }: Omit<Job, 'name'>,
  allowInsecure: boolean,
): Problem[] {
  const problem = heartbeat && addressProblem('heartbeat', heartbeat.reveal(), allowInsecure)
  const webhooks = following.map(({ webhook }) => ({ webhook: webhook?.reveal() }))
  return [...(problem ? [problem] : []), ...thenProblems(webhooks, allowInsecure)]
}

/** The existing jobs. Only listed names are ever opened, so no name can lead out of the folder. */
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
    hint: near ? `Did you mean ${near}?` : 'Type shopsync jobs list to see what each of them does',
  })
}
