import { resources } from '../../../schema/index.js'
import type { Resource } from '../../../schema/resource.js'

const ofTenants = Object.values(resources).filter(({ scope }) => scope === 'tenant')

/** The declared resources whose lists hold records. */
export const RECORD_LISTS: readonly Resource[] = ofTenants.filter(({ list }) => list === 'records')

export const isRecordList = (name: string): boolean => resources[name]?.list === 'records'

/** The declared resources whose lists are bare arrays of strings. */
export const STRING_LISTS: readonly Resource[] = ofTenants.filter(({ list }) => list === 'strings')

export const pathOf = ({ path, name }: Resource): string => path ?? name

/**
 * The resource whose path is the beginning of this resource's path: switching `payments` off also ends what is below
 * it.
 */
export const parentOf = (name: string): string => (resources[name]?.path ?? name).split('/')[0] ?? name

/** The names of the declared resources, by their path below the tenant. */
export const NAMES_BY_PATH: ReadonlyMap<string, string> = new Map(
  ofTenants.map((resource) => [pathOf(resource), resource.name]),
)

export const TAGS = 'integrator_tags'

const tagType = resources[TAGS]?.fields['taggable_type']
const types = tagType?.type === 'field' ? (tagType.values ?? []) : []

/** The values of `taggable_type`, each with the resource that lists such records. */
export const TAGGABLE: ReadonlyMap<string, string> = new Map(
  RECORD_LISTS.filter(({ entity }) => types.includes(entity)).map(({ entity, name }) => [entity, name]),
)

export const ACTIONS = ['created', 'updated', 'deleted'] as const
export type Action = (typeof ACTIONS)[number]

/** undefined if the document names no event for the resource. */
export function eventOf(resource: string, action: Action): { name: string; type: string } | undefined {
  const declared = resources[resource]
  return !declared?.announced ? undefined : { name: `${declared.singular}.${action}`, type: declared.entity }
}

/** The names of all events: the actions of the resources for which the document shows events. */
export const EVENT_NAMES: readonly string[] = RECORD_LISTS.flatMap(({ name }) =>
  ACTIONS.flatMap((action) => eventOf(name, action)?.name ?? []),
)
