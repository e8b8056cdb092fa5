/*
 * The sections `targets` and `polling` of the configuration: how fresh each resource has to be, and what applies to
 * every list whatever its target (docs/freshness.md).
 */
import { z } from 'zod'
import { resources } from '../../../schema/index.js'
import { statusSection, statusSettings } from './attention.js'
import { parseDuration } from './duration.js'
import { durationLeaf, section } from './leaf.js'
import { type Problem, unknownKey, valueAt } from './problems.js'
import { configSection, settingsOf, type WithSections } from './section.js'

/** Every resource without its own target. */
const everyOther = '*'
const shortest = 'PT1M'
const longest = 'P30D'
const targetError = `an ISO 8601 duration from ${shortest} to ${longest}, such as "PT15M"`
const hourMs = 3_600_000

const isTarget = (text: string): boolean => {
  const milliseconds = parseDuration(text) ?? 0
  return milliseconds >= (parseDuration(shortest) ?? 0) && milliseconds <= (parseDuration(longest) ?? 0)
}

const target = z
  .string({ error: targetError })
  .refine(isTarget, { error: targetError })
  .transform((text) => parseDuration(text) ?? 0)
  .meta({ examples: ['PT15M'] })

type Targets = Readonly<Record<string, number>>

const isSet = (targets: Targets | undefined): targets is Targets =>
  targets !== undefined && Object.keys(targets).length > 0

const names = Object.keys(resources)

export const targetsSection = configSection({
  name: 'targets',
  after: 'status',
  shape: z
    .record(z.string(), target, { error: 'an object such as {"*": "PT6H"}' })
    .optional()
    .describe(
      'How soon a change of a resource should be in the warehouse, by resource; "*": every resource without its own (docs/freshness.md). From PT1M to P30D. Without it: no targets.',
    ),
  problems: (targets) =>
    Object.keys(targets ?? {})
      .filter((name) => name !== everyOther && !names.includes(name))
      .map((name) =>
        unknownKey(`targets.${name}`, name, names, 'the name of a resource, or "*" for every other one'),
      ),
})

const atLeastText =
  'The longest time between two polls of any list, however small its tenant; at least the largest target.'
const deletesText =
  'How often to check each list for deletions, at least; at most status.deletesUncheckedAfter. Default: status.deletesUncheckedAfter.'
const deletesError = 'an ISO 8601 duration longer than zero, such as "P3D"'

export const pollingSection = configSection({
  name: 'polling',
  after: 'targets',
  shape: section(
    {
      atLeast: durationLeaf('P1D', atLeastText),
      deletes: z
        .string({ error: deletesError })
        .refine((text) => (parseDuration(text) ?? 0) > 0, { error: deletesError })
        .transform((text) => parseDuration(text) ?? 0)
        .optional()
        .meta({ description: deletesText, examples: ['P3D'] }),
    },
    'With targets: what holds for every list, whatever its target (docs/freshness.md).',
  ),
  problems: (polling, { sections, raw }) => {
    const targets = sections[targetsSection.name] as Targets | undefined
    const status = sections[statusSection.name] as ReturnType<typeof statusSettings>
    return isSet(targets) ? boundProblems(polling, targets, status, typedIn(raw)) : []
  },
})

const units = [
  ['D', 86_400_000],
  ['H', hourMs],
  ['M', 60_000],
  ['S', 1000],
] as const

/** A duration as people write it: P1D, PT6H, P1DT30M. */
export function durationText(milliseconds: number): string {
  if (milliseconds === 0) return 'PT0S'
  let left = milliseconds
  const parts = units.map(([unit, length]) => {
    const amount = unit === 'S' ? left / length : Math.floor(left / length)
    left -= amount * length
    return amount > 0 ? `${amount}${unit}` : ''
  })
  const [days = '', ...times] = parts
  const time = times.join('')
  return `P${days}${time && `T${time}`}`
}

/** The duration of a setting as it was typed: PT36H rather than P1DT12H. A default is shown as people write it. */
const typedIn =
  (raw: unknown) =>
  (path: readonly string[], milliseconds: number): string => {
    const typed = valueAt(raw, path)
    return typeof typed === 'string' ? typed : durationText(milliseconds)
  }

/** Contradictions between two sections. A round lasts an hour at most, unless its job sets another limit. */
function boundProblems(
  {
    atLeast,
    deletes,
  }: {
    readonly atLeast: number
    readonly deletes?: number | undefined
  },
  targets: Targets,
  { staleAfter, deletesUncheckedAfter }: ReturnType<typeof statusSettings>,
  typed: ReturnType<typeof typedIn>,
): Problem[] {
  const problems: Problem[] = []
  const [slowest, largest] = Object.entries(targets).reduce((a, b) => (b[1] > a[1] ? b : a))
  const largestText = typed(['targets', slowest], largest)
  if (atLeast < largest)
    problems.push({
      path: 'polling.atLeast',
      found: `"${typed(['polling', 'atLeast'], atLeast)}"`,
      expected: `at least the largest target, ${largestText}`,
      hint: `Type "polling": {"atLeast": "${largestText}"}`,
    })
  const reached = Math.max(atLeast, largest) + hourMs
  if (reached > staleAfter)
    problems.push({
      path: 'status.staleAfter',
      found: `"${typed(['status', 'staleAfter'], staleAfter)}"`,
      expected: `at least ${durationText(reached)}: polling.atLeast plus an hour for one round`,
      hint: `Type "status": {"staleAfter": "${durationText(reached)}"}, or set a shorter polling.atLeast`,
    })
  if (deletes !== undefined && deletes > deletesUncheckedAfter) {
    const text = typed(['polling', 'deletes'], deletes)
    problems.push({
      path: 'polling.deletes',
      found: `"${text}"`,
      expected: `at most status.deletesUncheckedAfter, ${typed(['status', 'deletesUncheckedAfter'], deletesUncheckedAfter)}`,
      hint: `Type "status": {"deletesUncheckedAfter": "${text}"}, or set a shorter polling.deletes`,
    })
  }
  return problems
}

/** How fresh everything has to be. Durations in milliseconds. */
export interface FreshnessSettings {
  /** undefined: no change of the resource is counted, but its lists are still read within `atLeast`. */
  targetOf(resource: string): number | undefined
  readonly atLeast: number
  readonly deletes: number
}

const targetsIn = settingsOf(targetsSection)
const pollingIn = settingsOf(pollingSection)

/** undefined without targets. */
export function freshnessSettings(config: WithSections): FreshnessSettings | undefined {
  const targets: Targets | undefined = targetsIn(config)
  if (!isSet(targets)) return undefined
  const { atLeast, deletes } = pollingIn(config)
  return {
    targetOf: (resource) => (Object.hasOwn(targets, resource) ? targets[resource] : targets[everyOther]),
    atLeast,
    deletes: deletes ?? statusSettings(config).deletesUncheckedAfter,
  }
}

/** In how many milliseconds a change to a resource must be in the warehouse; without a target of its own: `atLeast`. */
export const timesOf =
  ({ targetOf, atLeast }: FreshnessSettings): ((resource: string) => number) =>
  (resource) =>
    targetOf(resource) ?? atLeast

/** undefined without targets. */
export function timesIn(config: WithSections): ((resource: string) => number) | undefined {
  const settings = freshnessSettings(config)
  return settings && timesOf(settings)
}

/** The resources that have a target of their own. */
export const targetedResources = (config: WithSections): readonly string[] =>
  Object.keys(targetsIn(config) ?? {}).filter((name) => name !== everyOther)
