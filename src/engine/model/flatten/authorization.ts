import { authorizations } from '../../../../schema/authorizations.js'
import type { Int64 } from '../../../../schema/resource.js'
import type { DriftEntry, QuarantineEntry, Value } from './batch.js'
import { UnknownMember } from './extra.js'
import type { DeclaredValue } from './slowpath.js'
import { PageFindings, SlowPath } from './slowpath.js'

/** The part of a `tenants` row that comes from the API (docs/dev/api.md, Authorizations). */
export interface AuthorizationRow {
  readonly tenant_id: Int64
  readonly authorization_id: Int64 | null
  readonly api_partner_id: Int64 | null
  readonly api_tenant_id: Int64 | null
  readonly writable: boolean | null
  /** JSON text, or null. */
  readonly _extra: string | null
}

export interface FlatAuthorization {
  /** null: the authorization grants nothing usable; `reason` explains why. */
  readonly row: AuthorizationRow | null
  readonly reason: string | null
  readonly quarantine: readonly QuarantineEntry[]
  readonly drift: readonly DriftEntry[]
}

const { fields } = authorizations
type Name = keyof typeof fields
const names = Object.keys(fields) as Name[]
const sites = Object.fromEntries(
  names.map((path) => [path, { kind: fields[path].kind, path, values: null } satisfies DeclaredValue]),
) as Record<Name, DeclaredValue>

/** An authorization without a tenant is skipped with a reason: there is nothing to sync, and the others still count. */
export function flattenAuthorization(record: unknown): FlatAuthorization {
  const findings = new PageFindings(authorizations.name)
  const sink = new SlowPath(findings)
  sink.careful = true
  const outcome = (row: AuthorizationRow | null, reason: string | null): FlatAuthorization => ({
    row,
    reason,
    quarantine: findings.entries(),
    drift: findings.drifts(),
  })
  if (typeof record !== 'object' || record === null || Array.isArray(record)) {
    sink.badRecord(record, null, 'not an object')
    return outcome(null, 'not an object')
  }
  const members = record as Record<string, unknown>
  const value = (name: Name): Value => {
    const raw = members[name]
    return raw === null || raw === undefined ? null : sink.value(raw, sites[name])
  }
  sink.begin(sink.key(members.id, 'id') ?? '')
  const tenant = value('tenant_id')
  if (tenant === null) {
    const isAbsent = members.tenant_id === null || members.tenant_id === undefined
    return outcome(null, isAbsent ? 'it names no tenant' : 'its tenant_id cannot be used')
  }
  const unknown = Object.keys(members).filter((name) => !Object.hasOwn(fields, name))
  sink.unknown(
    members,
    unknown.map((name) => new UnknownMember(name)),
    '',
  )
  const row = {
    tenant_id: tenant,
    authorization_id: value('id'),
    api_partner_id: value('api_partner_id'),
    api_tenant_id: value('api_tenant_id'),
    writable: value('writable'),
    _extra: sink.takeExtra(),
  } as AuthorizationRow
  return outcome(row, null)
}
