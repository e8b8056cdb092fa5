/*
 * The file that remembers which customers were forgotten: forgotten.jsonl beside the configuration. The warehouse knows
 * it too, and a backup of the warehouse that is restored does not: that brings them back. `status` and `check` compare
 * both, and `shopsync forget --replay` takes the file.
 */
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import type { Int64 } from '../../schema/resource.js'
import { describeError, Stop } from '../engine/base/errors.js'
import { parseId } from '../engine/base/int64.js'
import { toJson } from '../engine/base/printjson.js'
import { configName } from '../engine/config/load.js'
import type { Receipt } from '../engine/warehouse/forgotten.js'
import type { Invocation } from './command.js'

/** One line: a receipt, when the work begins and when it is done; or that a customer was let back in. */
export type ForgottenLine =
  | Receipt
  | { readonly tenant_id: Int64; readonly customer_id: Int64; readonly lifted_at: string }

export const forgottenFile = ({ globals, io }: Pick<Invocation, 'globals' | 'io'>): string => {
  const config = configName({ file: globals.config, environment: io.environment })
  return join(dirname(resolve(io.workingDirectory, config)), 'forgotten.jsonl')
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
    throw new Stop(`${file} could not be written (${describeError(error)}); expected a file that can be`, {
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
    // What a crash cut off was not done.
    if (!line.endsWith('}')) continue
    const ids = /"tenant_id":\s*(\d+),\s*"customer_id":\s*(\d+)/.exec(line)
    const [tenantId, id] = [parseId(ids?.[1]), parseId(ids?.[2])]
    if (tenantId === undefined || id === undefined) unreadable.push(i + 1)
    else if (/"lifted_at":\s*"/.test(line)) found.delete(`${tenantId}/${id}`)
    else found.set(`${tenantId}/${id}`, { tenantId, id })
  }
  return { persons: [...found.values()], unreadable }
}
