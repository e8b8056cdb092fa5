/*
 * The sections `targets` and `polling` of the configuration: how fresh each resource has to be, and what applies to
 * every list whatever its target (docs/scale.md).
 */
import { z } from 'zod'
import { resources } from '../../../schema/index.js'
import type { Int64 } from '../../../schema/resource.js'
import { parseId } from '../base/int64.js'
import { statusSection, statusSettings } from './attention.js'
import { memberPath } from './configtext.js'
import { parseDuration } from './duration.js'
import { durationLeaf, section } from './leaf.js'
import { type Problem, unknownKey, valueAt } from './problems.js'
import { configSection, settingsOf, type WithSections } from './section.js'

/** Every resource without its own target. */
const everyOther = '*'
/** The key of the tenants with targets of their own. No resource has this name. */
const tenantsKey = 'tenants'
const tenantPattern = /^[1-9]\d{0,18}$/
const tenantError = 'the id of a tenant, such as "101"'
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

/** In milliseconds, by resource or "*". */
interface Targets {
  readonly resources: Readonly<Record<string, number>>
  readonly tenants: Readonly<Record<string, Targets['resources']>>
}

const names = Object.keys(resources)

const byResource = z.record(z.string(), target, { error: 'an object such as {"*": "PT6H"}' })

const shape = z
  .object(
    {
      tenants: z
        .record(z.string().regex(tenantPattern, { error: tenantError }), byResource, {
          error: 'an object such as {"101": {"*": "PT5M"}}',
        })
        .optional()
        .meta({
          description:
            'Targets of single tenants, by id and resource; "*": all resources of that tenant. They take precedence over those for all tenants.',
          examples: [{ '101': { '*': 'PT5M' } }],
        }),
    },
    { error: 'an object such as {"*": "PT6H"}' },
  )
  .catchall(target.describe('How soon a change of this resource should be in the warehouse: PT1M to P30D.'))
  .optional()
  .describe(
    'How soon a change of a resource should be in the warehouse, by resource; "*": every resource without its own (docs/scale.md). From PT1M to P30D. Without it: no targets.',
  )

function targetsOf(typed: z.output<typeof shape>): Targets {
  const { tenants = {}, ...times } = typed ?? {}
  return { resources: times as Targets['resources'], tenants }
}

/** All of them, with their paths. */
const entries = ({ resources: times, tenants }: Targets): { path: string[]; time: number }[] => [
  ...Object.entries(times).map(([name, time]) => ({ path: ['targets', name], time })),
  ...Object.entries(tenants).flatMap(([tenant, own]) =>
    Object.entries(own).map(([name, time]) => ({ path: ['targets', tenantsKey, tenant, name], time })),
  ),
]

export const targetsSection = configSection({
  name: 'targets',
  after: 'status',
  shape,
  read: targetsOf,
  problems: (typed) =>
    entries(targetsOf(typed)).flatMap(({ path }) => {
      const name = path.at(-1) ?? ''
      if (name === everyOther || names.includes(name)) return []
      const expected = 'the name of a resource, or "*" for every other one'
      return unknownKey(path.reduce(memberPath), name, names, expected)
    }),
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
    'With targets: what holds for every list, whatever its target (docs/scale.md).',
  ),
  problems: (polling, { sections, raw }) => {
    const targets = entries(targetsOf(sections[targetsSection.name] as z.output<typeof shape>))
    const status = sections[statusSection.name] as ReturnType<typeof statusSettings>
    return targets.length > 0 ? boundProblems(polling, targets, status, typedIn(raw)) : []
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
  targets: ReturnType<typeof entries>,
  { staleAfter, deletesUncheckedAfter }: ReturnType<typeof statusSettings>,
  typed: ReturnType<typeof typedIn>,
): Problem[] {
  const problems: Problem[] = []
  const { path, time: largest } = targets.reduce((a, b) => (b.time > a.time ? b : a), { path: [''], time: 0 })
  const largestText = typed(path, largest)
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
  /**
   * Of a tenant's list; with null, of the lists of all tenants that have no target of their own. undefined: no change of
   * the list is counted, but it is still read within `atLeast`.
   */
  targetOf(resource: string, tenantId: Int64 | null): number | undefined
  /** Targets of single tenants; undefined where there are none. */
  readonly own?:
    | {
        readonly tenants: readonly Int64[]
        /** undefined: those of all tenants apply. */
        targetOf(resource: string, tenantId: Int64): number | undefined
      }
    | undefined
  readonly atLeast: number
  readonly deletes: number
}

const targetsIn = settingsOf(targetsSection)
const pollingIn = settingsOf(pollingSection)

const timeIn = (times: Targets['resources'] | undefined, resource: string): number | undefined =>
  times && (Object.hasOwn(times, resource) ? times[resource] : times[everyOther])

function ownTargets({ tenants }: Targets): FreshnessSettings['own'] {
  const own = new Map(Object.entries(tenants).filter(([, times]) => Object.keys(times).length > 0))
  if (own.size === 0) return undefined
  return {
    tenants: [...own.keys()].flatMap((id) => parseId(id) ?? []),
    targetOf: (resource, tenantId) => timeIn(own.get(String(tenantId)), resource),
  }
}

/** undefined without targets. */
export function freshnessSettings(config: WithSections): FreshnessSettings | undefined {
  const targets = targetsIn(config)
  if (entries(targets).length === 0) return undefined
  const { atLeast, deletes } = pollingIn(config)
  const own = ownTargets(targets)
  return {
    targetOf: (resource, tenantId) =>
      (tenantId === null ? undefined : own?.targetOf(resource, tenantId)) ??
      timeIn(targets.resources, resource),
    own,
    atLeast,
    deletes: deletes ?? statusSettings(config).deletesUncheckedAfter,
  }
}

/** In how many milliseconds a change to a list must be in the warehouse; without a target of its own: `atLeast`. */
export const timesOf =
  ({ targetOf, atLeast }: Pick<FreshnessSettings, 'targetOf' | 'atLeast'>) =>
  (resource: string, tenantId: Int64): number =>
    targetOf(resource, tenantId) ?? atLeast

/** undefined without targets. */
export function timesIn(config: WithSections): ReturnType<typeof timesOf> | undefined {
  const settings = freshnessSettings(config)
  return settings && timesOf(settings)
}

/** The resources that have targets by name, with the settings that name them. */
export const targetedResources = (
  config: WithSections,
): readonly { readonly resource: string; readonly path: string }[] =>
  entries(targetsIn(config)).flatMap(({ path }) => {
    const resource = path.at(-1) ?? ''
    return resource === everyOther ? [] : { resource, path: path.reduce(memberPath) }
  })

/** Tenants with targets of their own that nobody grants: a typing error, or a customer who left. */
export function targetsInVain(
  config: WithSections,
  { known, except }: { readonly known: Iterable<Int64>; readonly except: Iterable<Int64> },
): readonly Int64[] {
  const there = new Set([...known, ...except].map(String))
  return freshnessSettings(config)?.own?.tenants.filter((id) => !there.has(String(id))) ?? []
}
