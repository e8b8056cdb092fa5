/*
 * Takes over a warehouse whose source has changed on purpose. Used by `shopsync adopt`.
 */
import { paragraphs } from '../../engine/base/format.js'
import type { SourceAddress } from '../../engine/config/sourceaddress.js'
import type { Dependencies } from '../../engine/run/runcontext.js'
import { now } from '../../engine/run/tenant.js'
import { rootTable } from '../../engine/warehouse/database.js'
import { openLease } from '../../engine/warehouse/lease/openlease.js'
import {
  isSame,
  readSourceIdentity,
  storeSource,
  storeSourceIdentity,
} from '../../engine/warehouse/state/sourceidentity.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import type { Besides } from '../../shell/command.js'
import { eachBeside } from '../../shell/features.js'

/** The JSON document of `adopt`. */
interface Adopted {
  readonly warehouse: string
  /** The previous source; null if none was stored. */
  readonly from: { readonly base_url: string; readonly partner_id: string } | null
  readonly to: { readonly base_url: string; readonly partner_id: string }
  readonly same_data: boolean
  /** false: the warehouse already belongs to that source, and nothing was done. */
  readonly changed: boolean
}

const document = (source: SourceAddress): Adopted['to'] => ({
  base_url: source.baseUrl,
  partner_id: source.partnerId,
})

/** What an adoption would do; shown before asking for confirmation. */
export async function planAdoption(
  warehouse: Warehouse,
  to: SourceAddress,
  sameData: boolean,
): Promise<Adopted> {
  const owner = await readSourceIdentity(warehouse)
  return {
    warehouse: warehouse.where,
    from: owner ? document(owner) : null,
    to: document(to),
    same_data: sameData,
    changed: owner === undefined || !isSame(owner, to),
  }
}

/**
 * Hands the warehouse over to another source. Its rows stay. Unless the data is the same, everything that vouched for
 * the rows is dropped: the next sync walks every list, and `reconcile --full` finds the rows that the new source
 * doesn't have.
 */
export async function adopt(
  deps: Pick<Dependencies, 'warehouse' | 'clock' | 'leaseMs'> & {
    readonly besides?: readonly Besides[]
  },
  to: SourceAddress,
  sameData: boolean,
): Promise<Adopted> {
  // It drops what vouches for rows, and changes none: another configuration doesn't matter to it.
  await using lease = await openLease({ ...deps, shapesRows: false }, 'adopt')
  const { warehouse } = lease
  const plan = await planAdoption(warehouse, to, sameData)
  if (!plan.changed) return plan
  const { db, tables } = warehouse
  const dropped = sameData
    ? []
    : [
        ...tables.filter(({ vouches }) => vouches).map((table) => db.deleteFrom(rootTable(table)).compile()),
        // What the lists of the old source lacked says nothing about those of the new one.
        ...tables
          .filter(({ columns }) => columns.some(({ name }) => name === '_unlisted_at'))
          .map((table) =>
            db
              .updateTable(rootTable(table))
              .set({ _unlisted_at: null })
              .where('_unlisted_at', 'is not', null)
              .compile(),
          ),
        storeSource(db, { probe: null, probed_at: null, lists_from: null }),
      ]
  // Nothing of the old source may survive there. An adoption that is interrupted is repeated.
  await eachBeside(deps.besides ?? [], warehouse, (beside) => beside.write(beside.adopting(to, sameData)))
  await warehouse.write([...dropped, storeSourceIdentity(db, to, now(deps))])
  lease.throwIfLost()
  return plan
}

const named = ({ base_url, partner_id }: Adopted['to']): string => `${base_url} (partner ${partner_id})`

const nowOf = ({ from }: Adopted): string =>
  from === null ? 'belongs to no source yet' : `belongs to ${named(from)}`

const consequence = ({ same_data }: Adopted): string =>
  same_data
    ? 'Everything is kept: rows, watermarks, registers and history.'
    : 'The rows are kept. Watermarks, walks, registers and everything else that vouched for them are dropped: the next sync reads every list again.'

export const adoptQuestion = (plan: Adopted, name: string): string =>
  `${plan.warehouse} ${nowOf(plan)}.\nIt will belong to ${named(plan.to)}.\n${consequence(plan)}\nType ${name} to continue: `

export function adoptText(done: Adopted): string {
  const { changed, same_data, to, warehouse } = done
  if (!changed) return `${warehouse} belongs to ${named(to)} already; nothing was changed.`
  const next = same_data
    ? 'Type shopsync sync'
    : 'Type shopsync sync, then shopsync reconcile --full: it marks the rows that this source does not have as deleted (--accept-deletes confirms more than a fifth of a list).'
  return paragraphs([`${warehouse} belongs to ${named(to)} now. ${consequence(done)}`, next])
}
