/* What businesses are called that `report.tenantNames` doesn't name: the API sends no names of tenants. */

import { groupedBy } from '../../../engine/base/parts.js'
import type { ListHealth } from './asktrust.js'
import type { Findings } from './findings.js'

/** Shorter beginnings say nothing. */
const leastLetters = 3

/** The words with which all names begin, without what separates them from the rest. */
function commonBeginning(names: readonly string[]): string {
  const [first = '', ...others] = names
  const words = first.split(/\s+/)
  const shared = words.findIndex((word, i) => others.some((name) => name.split(/\s+/)[i] !== word))
  const beginning = (shared === -1 ? words : words.slice(0, shared)).join(' ')
  return beginning.replace(/[\s\p{P}\p{S}]+$/u, '')
}

const unnamed = (tenant: unknown): string => `tenant ${tenant}`

/** The name of a tenant: the configured one, or what its shops have in common. */
function nameOf(shops: Findings['shops'], tenant: string): string {
  // A shop without a name is called by its id.
  const named = shops.flatMap(({ shop_name }) =>
    shop_name && !/^shop \d+$/.test(shop_name) ? [shop_name] : [],
  )
  const beginning = commonBeginning(named)
  return beginning.length >= leastLetters ? beginning : unnamed(tenant)
}

/** Names the unnamed tenants. Two with the same name have their ids behind it. */
export function withNames(
  shops: Findings['shops'],
  lists: readonly ListHealth[],
): { readonly shops: Findings['shops']; readonly lists: readonly ListHealth[] } {
  const names = new Map(lists.map(({ tenant_id, tenant_name }) => [String(tenant_id), tenant_name]))
  const byTenant = groupedBy(shops, ({ tenant_id }) => String(tenant_id))
  for (const [tenant, name] of names)
    if (name === unnamed(tenant)) names.set(tenant, nameOf(byTenant.get(tenant) ?? [], tenant))
  const alike = groupedBy([...names], ([, name]) => name)
  const shown = new Map(
    [...names].map(([tenant, name]) => [
      tenant,
      (alike.get(name)?.length ?? 0) > 1 ? `${name} (${tenant})` : name,
    ]),
  )
  const named = <T extends { readonly tenant_id: unknown; readonly tenant_name: string | null }>(
    row: T,
  ): T => ({
    ...row,
    tenant_name: shown.get(String(row.tenant_id)) ?? row.tenant_name,
  })
  return { shops: shops.map(named), lists: lists.map(named) }
}
