import pLimit from 'p-limit'
import type { Int64 } from '../../../schema/resource.js'
import type { Page, Source } from '../../api/source.js'
import { Retry, Skip, Stop } from '../../errors.js'
import { count, indent, plural, span, table } from '../../format.js'
import { flattenAuthorization } from '../../model/flatten/authorization.js'
import type { Model } from '../../model/registry.js'
import type { Warehouse } from '../../warehouse/warehouse.js'

/** One thing that was tried. */
export interface CheckFinding {
  readonly what: string
  readonly ok: boolean
  readonly found: string
  /** How to mend it. */
  readonly hint?: string
  /** The contract's exit code for this failure. */
  readonly exitCode?: 1 | 2 | 3
}

export const worstExit = (findings: readonly CheckFinding[]): number => {
  const codes = new Set(findings.map((finding) => (finding.ok ? 0 : (finding.exitCode ?? 1))))
  return [2, 3, 1].find((code) => codes.has(code as 1 | 2 | 3)) ?? 0
}

/** A failure as a finding: what is thrown by our own parts says how to mend it. */
export function failure(what: string, error: unknown, exitCode: 1 | 2 | 3): CheckFinding {
  const known = error instanceof Stop || error instanceof Skip || error instanceof Retry
  const text = error instanceof Error ? error.message : String(error)
  const hint = known ? error.details.hint : undefined
  const found = hint && text.endsWith(`. ${hint}`) ? text.slice(0, -hint.length - 2) : text
  return { what, ok: false, found, exitCode, ...(hint ? { hint } : {}) }
}

export interface ApiCheck {
  readonly source: Source
  readonly model: Model
  /** Tenants that the configuration names; null: all. */
  readonly tenants: readonly Int64[] | null
  readonly nowMicros: () => bigint
  readonly signal: AbortSignal
}

/** Credentials first; then, tenant by tenant, whether they open what they should. */
export async function checkApi(options: ApiCheck): Promise<CheckFinding[]> {
  const granted = new Set<Int64>()
  let page: Page | undefined
  try {
    for (let number = 1; !page || number <= page.totalPages; number++) {
      page = await options.source.authorizations(number, options.signal)
      for (const record of page.records) {
        const { row } = flattenAuthorization(record)
        if (row) granted.add(row.tenant_id)
      }
      if (page.records.length === 0) break
    }
  } catch (error) {
    options.signal.throwIfAborted()
    return [failure('credentials', error, 3)]
  }
  const findings = [credentials(options, granted.size), clocks(options, page), ...ungranted(options, granted)]
  const wanted = [...granted].filter((tenant) => options.tenants?.includes(tenant) ?? true)
  const limit = pLimit(4)
  findings.push(...(await Promise.all(wanted.map((tenant) => limit(() => checkTenant(options, tenant))))))
  return findings
}

function credentials({ source }: ApiCheck, granted: number): CheckFinding {
  const { window } = source.stats()
  const rate = window
    ? `; ${count(window.remaining)} of ${count(window.limit)} requests left in this window`
    : ''
  const found = `accepted; ${plural(granted, 'tenant')} granted${rate}`
  if (granted > 0) return { what: 'credentials', ok: true, found }
  const hint = "Ask the operator's support for access, on behalf of the tenant's owner"
  return { what: 'credentials', ok: false, exitCode: 1, found, hint }
}

const tolerableSkewMs = 120_000

/** A wrong clock loses nothing, but makes ages and leases wrong. */
function clocks({ nowMicros }: ApiCheck, page: Page | undefined): CheckFinding {
  const server = page?.serverDate
  if (server === undefined) return { what: 'clock', ok: true, found: 'the API sends no Date to compare with' }
  const skew = Number(nowMicros() - server) / 1000
  if (Math.abs(skew) < tolerableSkewMs) return { what: 'clock', ok: true, found: "agrees with the API's" }
  const found = `${span(Math.abs(skew))} ${skew > 0 ? 'ahead of' : 'behind'} the API's`
  return {
    what: 'clock',
    ok: false,
    exitCode: 1,
    found,
    hint: 'Set this machine right: timedatectl set-ntp true',
  }
}

const ungranted = ({ tenants }: ApiCheck, granted: ReadonlySet<Int64>): CheckFinding[] =>
  (tenants ?? [])
    .filter((tenant) => !granted.has(tenant))
    .map((tenant) => ({
      what: `tenant ${tenant}`,
      ok: false,
      exitCode: 1,
      found: 'is not granted to this partner',
      hint: `Granted are ${[...granted].slice(0, 20).join(', ') || 'none'}. Ask for the grant, or take it out of sync.tenants`,
    }))

/** The cheapest request that shows whether a tenant's records can be read. */
async function checkTenant({ source, model, signal }: ApiCheck, tenantId: Int64): Promise<CheckFinding> {
  const what = `tenant ${tenantId}`
  const probe = model.list.find(
    ({ enabled, resource }) => enabled && resource.documented && resource.list === 'records',
  )
  if (!probe) return { what, ok: true, found: 'not tried: no documented resource is enabled' }
  try {
    const page = await source.list({
      tenantId,
      path: probe.path,
      updatedAfter: '1970-01-01T00:00:00.000000Z',
      page: 1,
      perPage: 1,
      priority: 'lookup',
      signal,
    })
    return { what, ok: true, found: `readable; ${count(page.total)} ${probe.name}` }
  } catch (error) {
    signal.throwIfAborted()
    return failure(what, error, error instanceof Stop ? 3 : 1)
  }
}

/** Whether the warehouse can be reached and written, and whether its tables are up to date. */
export async function checkWarehouse(
  open: () => Promise<Warehouse>,
  autoMigrate: boolean,
): Promise<CheckFinding> {
  const what = 'warehouse'
  try {
    const warehouse = await open()
    await warehouse.check()
    const changes = await warehouse.plan()
    if (changes.length === 0)
      return { what, ok: true, found: `${warehouse.where}: writable, tables up to date` }
    const found = `${warehouse.where}: writable, ${plural(changes.length, 'table change')} to be made`
    if (autoMigrate) return { what, ok: true, found: `${found} by the next run` }
    return { what, ok: false, exitCode: 1, found, hint: 'Type shopsync migrate' }
  } catch (error) {
    return failure(what, error, error instanceof Stop && error.exitCode === 2 ? 2 : 3)
  }
}

const shownTenants = 20

export function checkText(findings: readonly CheckFinding[]): string {
  const fine = findings.filter((finding) => finding.ok && finding.what.startsWith('tenant '))
  const shown = fine.length <= shownTenants ? findings : findings.filter((finding) => !fine.includes(finding))
  const rows = shown.map(({ ok, what, found }) => [ok ? '✓' : '✗', what, found.split('\n')[0] ?? ''])
  if (fine.length > shownTenants) rows.push(['✓', 'tenants', `${count(fine.length)} readable`])
  const bad = findings.filter((finding) => !finding.ok)
  const end = bad.length === 0 ? 'All is well. Type shopsync sync' : `${plural(bad.length, 'thing')} to mend:`
  return `${[table([{ title: '' }, { title: 'checked' }, { title: 'found' }], rows), '', end, ...bad.map(remedy)].join('\n')}\n`
}

const remedy = ({ what, found, hint }: CheckFinding): string =>
  indent(`✗ ${what}: ${found}${hint ? `\n  → ${hint}` : ''}`)
