/* Verifies a plain list of names: it is compared as a whole. features/reconcile/verifywork.ts runs it on every such cursor. */
import {
  type CursorProgress,
  type CursorResult,
  noCounts,
  wholeOutcome,
} from '../../engine/run/cursorwork.js'
import { countNotIn, liveNames, readNames } from '../../engine/run/nameslist.js'
import type { CursorRun } from '../../engine/run/tenant.js'
import { nameless, quarantinedNames } from '../../engine/warehouse/quarantine.js'
import { isNeverWalked, isRecent } from './claims.js'
import { leftReport } from './leftthelist.js'
import type { Verified, VerifyWork } from './verification.js'

/** Verifies a plain list of names. */
export class NamesVerification implements VerifyWork {
  found: Verified | undefined

  constructor(private readonly cursor: CursorRun) {}

  get progress(): CursorProgress {
    return { ...noCounts, records: this.found?.source ?? 0, watermark: null }
  }

  get isUnclaimed(): boolean {
    return isNeverWalked(this.cursor.state)
  }

  async run(): Promise<CursorResult> {
    const read = () => readNames(this.cursor, { priority: 'reconcile' })
    const { names, flattened } = await read()
    if (this.isUnclaimed) return { ...this.progress, outcome: null }
    await this.cursor.refuseHidden()
    const stored = await liveNames(this.cursor)
    // A name has to be missing twice.
    const again = countNotIn(stored, names) > 0 ? (await read()).names : names
    const extra = countNotIn(stored, new Set([...names, ...again]))
    const isChecked = extra > 0 && isRecent(this.cursor.run, this.cursor.state?.lastSuccessAt)
    const quarantine = await quarantinedNames(this.cursor.warehouse, this.cursor.key)
    const lacking = [...names].filter((name) => !stored.has(name))
    const quarantined = lacking.filter((name) => quarantine.has(nameless(String(name)))).length
    this.found = {
      method: 'names',
      source: names.size,
      warehouse: stored.size,
      missing: 0,
      newer: lacking.length - quarantined,
      outdated: 0,
      extra: isChecked ? 0 : extra,
      gone: isChecked ? extra : 0,
      unstorable: flattened.unstorable,
      quarantined,
      listed_twice: 0,
      not_shown: 0,
      unreadable: 0,
      ...leftReport([]),
      sampled: 0,
      asked: 0,
      compared: 0,
      other_version: 0,
      differences: [],
    }
    return { ...this.progress, outcome: wholeOutcome(names.size) }
  }
}
