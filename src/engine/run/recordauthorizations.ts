/*
 * What a run records of the authorizations: the table `tenants` follows them, and what in them could not be stored as it
 * came, or is not in the API's document, is kept as that of any other record. run/run.ts calls it.
 */
import { authorizations } from '../../../schema/authorizations.js'
import type { Int64 } from '../../../schema/resource.js'
import type { FlatAuthorization } from '../model/flatten/authorization.js'
import { writeDrift } from '../warehouse/drift.js'
import { forgetUnseen, quarantineStatements } from '../warehouse/quarantine.js'
import { grantTenant, revokeTenant } from '../warehouse/tenants.js'
import type { Authorizations } from './askauthorizations.js'
import type { WritingRun } from './runcontext.js'

/** The tenant of an authorization that names none: nobody has this id. */
const noTenant = 0

const tenantOf = ({ row }: FlatAuthorization): Int64 => row?.tenant_id ?? noTenant

/** Records which tenants there are. Returns what it was given, to stand behind the question. */
export async function recordAuthorizations(
  { warehouse, observer, stats }: Pick<WritingRun, 'warehouse' | 'observer' | 'stats'>,
  found: Authorizations,
): Promise<Authorizations> {
  const { list, fresh, reason } = found
  const { db } = warehouse
  const { syncedAt } = list
  const { name: resource } = authorizations
  const statements = [
    ...[...list.rows.values()].map((row) => grantTenant(db, { ...row, _synced_at: syncedAt })),
    ...fresh.map((tenantId) => revokeTenant(db, tenantId, syncedAt)),
    ...list.findings.flatMap((found) =>
      quarantineStatements(db, { tenantId: tenantOf(found), resource, syncedAt }, found.quarantine),
    ),
    ...(reason === 'grants_incomplete' ? [] : [forgetUnseen(db, resource, syncedAt)]),
  ]
  const drift = await warehouse.transaction(async (session) => {
    for (const statement of statements) await session.run(statement)
    const entries = []
    for (const found of list.findings)
      entries.push(...(await writeDrift(db, session, { tenantId: tenantOf(found), syncedAt }, found.drift)))
    return entries
  })
  for (const tenant_id of fresh)
    observer.warning?.('A tenant is no longer granted; its rows are kept', { tenant_id })
  if (list.isConsistent)
    observer.notice?.('The list of authorizations shows some of them twice: each counts once', {
      places: list.again.length,
    })
  if (drift.length > 0)
    observer.notice?.(
      'The API sends fields of authorizations that its document does not show: see sync_drift',
      {
        found: drift.map(({ path }) => path),
      },
    )
  const count = list.findings.reduce((sum, { quarantine }) => sum + quarantine.length, 0)
  stats.quarantinedAuthorizations += count
  if (count > 0)
    observer.warning?.('Values of authorizations could not be stored: see sync_quarantine', { count })
  return found
}
