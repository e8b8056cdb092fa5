/*
 * The file that remembers which customers were forgotten: forgotten.jsonl beside the configuration. The warehouse knows
 * it too, and a backup of the warehouse that is restored does not: that brings them back. `status` and `check` compare
 * both, and `shopsync forget --replay` takes the file.
 */
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Int64 } from '../../schema/resource.js'
import { codeFromOutside, Stop } from '../engine/base/errors.js'
import { plural } from '../engine/base/format.js'
import { parseId } from '../engine/base/int64.js'
import { toJson } from '../engine/base/printjson.js'
import { type Receipt, storedReceipts } from '../engine/warehouse/hiding/forgottenrecords.js'
import type { Warehouse } from '../engine/warehouse/warehouse.js'
import type { Invocation } from './command.js'
import { folderOf } from './configuration.js'

/** One line: a receipt, when the work begins and when it is done; or that a customer was let back in. */
export type ForgottenLine =
  | Receipt
  | { readonly tenant_id: Int64; readonly customer_id: Int64; readonly lifted_at: string }

export const forgottenFile = (call: Pick<Invocation, 'globals' | 'io'>): string =>
  join(folderOf(call), 'forgotten.jsonl')

/** The customers who were forgotten, as far as the warehouse and the file know. */
export interface ForgottenCustomers {
  readonly file: string
  readonly amount: number
  /** The work was cut short, or an earlier version did it, which followed fewer references. */
  readonly unfinished: readonly string[]
  /** The file has them, and the warehouse doesn't: it may come from a backup. */
  readonly missing: readonly string[]
  /** The warehouse has them, and the file doesn't: after restoring a backup, nobody would notice that they are back. */
  readonly unlisted: readonly string[]
  /** Lines of the file that can't be read. */
  readonly unreadable: readonly number[]
}

/** undefined if nobody was forgotten. `isForgetting`: that is being done now. */
export async function compareForgotten(
  warehouse: Warehouse,
  file: string,
  isForgetting = false,
): Promise<ForgottenCustomers | undefined> {
  const receipts = await storedReceipts(warehouse)
  const { persons, unreadable } = readForgottenFile(file)
  if (receipts.length + persons.length + unreadable.length === 0) return undefined
  const name = (tenantId: Int64, id: Int64): string => `${tenantId}/${id}`
  const known = new Set(receipts.map((one) => name(one.tenant_id, one.customer_id)))
  const listed = new Set(persons.map(({ tenantId, id }) => name(tenantId, id)))
  // Receipts of earlier versions lack what they didn't look at.
  const isDone = ({ done_at, not_looked_at }: Receipt): boolean =>
    done_at !== null && not_looked_at !== undefined
  const open = isForgetting ? [] : receipts.filter((one) => !isDone(one))
  return {
    file,
    amount: known.size,
    unfinished: open.map((one) => name(one.tenant_id, one.customer_id)),
    missing: [...listed].filter((one) => !known.has(one)),
    unlisted: isForgetting ? [] : [...known].filter((one) => !listed.has(one)),
    unreadable,
  }
}

/** What needs attention about them, and what to type; one line each. */
export function forgottenTroubles(of: ForgottenCustomers): {
  readonly found: string
  readonly hint: string
}[] {
  const { file, unfinished, missing, unlisted, unreadable } = of
  const again = ([first = '']: readonly string[]): string => {
    const [tenant, customer] = first.split('/')
    return `shopsync forget --tenant ${tenant} --customer ${customer} --yes`
  }
  const all = [
    missing.length > 0 && {
      found: `${file} lists forgotten customers that the warehouse does not know as such: ${missing.slice(0, 20).join(', ')}. If it comes from a backup, they are back`,
      hint: `Type shopsync forget --replay ${file}; if they belong to another source, delete their lines`,
    },
    unfinished.length > 0 && {
      found: `Customers were not forgotten to the end, since that was cut short, or an earlier version followed fewer references: ${unfinished.slice(0, 20).join(', ')}`,
      hint: `Type shopsync forget --replay ${file}`,
    },
    unlisted.length > 0 && {
      found: `${file} lacks customers that the warehouse knows to be forgotten: ${unlisted.slice(0, 20).join(', ')}. If a backup is restored, nobody would notice that they are back`,
      hint: `Copy the file from where they were forgotten, or type ${again(unlisted)}, which lists the customer again; if they were let back in meanwhile, with --lift instead of --yes`,
    },
    unreadable.length > 0 && {
      found: `Line ${unreadable.slice(0, 20).join(', ')} of ${file} names no tenant_id and customer_id`,
      hint: 'Expected lines that shopsync forget has written: correct them, or take the file from a backup',
    },
  ]
  return all.filter((trouble) => trouble !== false)
}

export const customerTroubles = (found: ForgottenCustomers | undefined): string[] =>
  found ? forgottenTroubles(found).map(({ found: text, hint }) => `${text}. ${hint}`) : []

/** Who stays away. */
export function forgottenText({
  forgotten: tenants,
  forgotten_customers: customers,
}: {
  readonly forgotten: number
  readonly forgotten_customers?: ForgottenCustomers | undefined
}): string {
  const lines = [
    tenants === 0
      ? ''
      : `Forgotten and left out: ${plural(tenants, 'tenant')} (table sync_forgotten; shopsync forget --tenant ID --lift lets one back in)`,
    customers && customers.amount > 0
      ? `Forgotten: ${plural(customers.amount, 'customer')} (table sync_forgotten_records; listed in ${customers.file})`
      : '',
  ]
  return lines.filter((line) => line !== '').join('\n')
}

/** The line is on the disk when this returns. */
export function recordForgotten(file: string, line: ForgottenLine): void {
  try {
    // A line that a crash cut off must not take the next one along.
    const isCut = existsSync(file) && !/(^|\n)$/.test(readFileSync(file, 'utf8'))
    const to = openSync(file, 'a', 0o600)
    try {
      writeSync(to, `${isCut ? '\n' : ''}${toJson(line)}\n`)
      fsyncSync(to)
    } finally {
      closeSync(to)
    }
  } catch (error) {
    throw new Stop(`${file} could not be written (${codeFromOutside(error)}); expected a file that can be`, {
      exitCode: 2,
      hint: `Nothing is forgotten without it. Make the folder of ${basename(file)} writable for this user`,
    })
  }
}

/** The customers that a file says are forgotten now, and the lines that can't be read. */
export function readForgottenFile(file: string): {
  readonly persons: readonly { readonly tenantId: Int64; readonly id: Int64 }[]
  readonly unreadable: readonly number[]
} {
  const found = new Map<string, { readonly tenantId: Int64; readonly id: Int64 }>()
  const unreadable: number[] = []
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []
  for (const [i, line] of lines.entries()) {
    const text = line.trim()
    // What a crash cut off was not done.
    if (text === '' || (text.startsWith('{') && !text.endsWith('}'))) continue
    const ids = /"tenant_id":\s*(\d+),\s*"customer_id":\s*(\d+)/.exec(line)
    const [tenantId, id] = [parseId(ids?.[1]), parseId(ids?.[2])]
    if (tenantId === undefined || id === undefined) unreadable.push(i + 1)
    else if (/"lifted_at":\s*"/.test(line)) found.delete(`${tenantId}/${id}`)
    else found.set(`${tenantId}/${id}`, { tenantId, id })
  }
  return { persons: [...found.values()], unreadable }
}
