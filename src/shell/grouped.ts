/*
 * Cursors with the same problem share one line. A used-up rate limit stops hundreds of them, and repeating the sentence
 * for each would bury the one that fails for another reason. Used by the output of runs, of their history and of the
 * status.
 */
import type { Int64 } from '../../schema/resource.js'
import { count, firstOf, shortRequests } from '../engine/base/format.js'

interface Named {
  readonly tenant_id: Int64
  readonly resource: string
}

/** The most names in one line. More would bury the sentence after them. */
const shownNames = 8

const listed = (names: readonly string[], noun: string): string =>
  names.length <= shownNames
    ? names.join(', ')
    : `${names.slice(0, shownNames).join(', ')} and ${names.length - shownNames} more ${noun}`

const tenantsText = (ids: readonly string[]): string =>
  `${ids.length === 1 ? 'tenant' : 'tenants'} ${listed(ids, 'tenants')}`

/**
 * `tenant 7, notes`, or `tenants 7, 8: notes, shops; tenant 9: vendors`: who has which, with each tenant and resource
 * once.
 */
export function cursorNames(cursors: readonly Named[]): string {
  const [only] = cursors
  if (only && cursors.length === 1) return `tenant ${only.tenant_id}, ${only.resource}`
  const byTenant = new Map<string, Set<string>>()
  for (const { tenant_id, resource } of cursors.toSorted((a, b) => (a.tenant_id < b.tenant_id ? -1 : 1))) {
    const own = byTenant.get(String(tenant_id)) ?? new Set()
    byTenant.set(String(tenant_id), own.add(resource))
  }
  const alike = new Map<string, string[]>()
  for (const [tenant, resources] of byTenant) {
    const names = listed([...resources].toSorted(), 'resources')
    alike.set(names, [...(alike.get(names) ?? []), tenant])
  }
  return [...alike].map(([names, tenants]) => `${tenantsText(tenants)}: ${names}`).join('; ')
}

/** The sentence without the parts that differ between cursors with the same problem. */
const sameFor = (sentence: string): string =>
  shortRequests(sentence)
    .replaceAll(/GET [^\s,:)]+/g, 'the request')
    .replaceAll(/to wait [^(,:]+(?=[(,:])/g, 'to wait ')
    .replaceAll(/\(until [^)]*\)/g, '')
    .replaceAll(/\bcomplete [^:]+ ago/g, 'complete')

interface Group<T> {
  readonly sentence: string
  readonly cursors: T[]
}

/** The cursors by their sentence, largest group first. */
export function troubleGroups<T extends Named>(
  cursors: readonly T[],
  sentenceOf: (cursor: T) => string,
): readonly Group<T>[] {
  const groups = new Map<string, Group<T>>()
  for (const cursor of cursors) {
    const sentence = sentenceOf(cursor)
    const key = sameFor(sentence)
    const group = groups.get(key) ?? { sentence, cursors: [] }
    group.cursors.push(cursor)
    groups.set(key, group)
  }
  return [...groups.values()].toSorted((a, b) => b.cursors.length - a.cursors.length)
}

/** A single cursor's request is named; for several it becomes `the request`. */
const sentenceFor = ({ sentence, cursors }: Group<Named>): string => {
  const short = shortRequests(sentence)
  if (cursors.length === 1) return short
  return short
    .replaceAll(/GET [^\s,:)]+(, page \d+)?/g, 'the request')
    .replace(/\bcomplete [^:]+ ago/, '$& or more recently')
}

/** The cursors, and their sentence once. */
export const groupLine = (group: Group<Named>): string =>
  `${cursorNames(group.cursors)}: ${sentenceFor(group)}`

export const groupLines = <T extends Named>(
  cursors: readonly T[],
  sentenceOf: (cursor: T) => string,
): string[] => troubleGroups(cursors, sentenceOf).map(groupLine)

const shownGroups = 20

/** The lines of the groups, each with a mark in front. */
export const groupsText = <T extends Named>(
  cursors: readonly T[],
  mark: string,
  sentenceOf: (cursor: T) => string,
): string =>
  firstOf(
    groupLines(cursors, sentenceOf),
    shownGroups,
    (line) => `${mark} ${line}`,
    (others) => `… and ${count(others)} more: shopsync status --json`,
  )
