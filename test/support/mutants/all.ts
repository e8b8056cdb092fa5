import type { Breakage } from './breakage.js'
import type { PlantedBreakage } from './brokenproduct.js'
import { events } from './events.js'
import { premises } from './premises.js'
import { privacy } from './privacy.js'
import { rows } from './rows.js'
import { scale } from './scale.js'
import { service } from './service.js'

interface Mutant {
  /** What it does. */
  readonly broken: string
  readonly breakage: Breakage
}

/** Every program that breaks a promise; those of the laws have their own cases (laws.ts). */
export const mutants: readonly Mutant[] = Object.entries({
  ...premises,
  ...rows,
  ...service,
  ...events,
  ...privacy,
  ...scale,
}).map(([broken, breaks]) => ({ broken, breakage: breaks() }))

/** One of them, for a program that has it. */
export const planted = (at: number): PlantedBreakage => ({
  ...mutants[at]!.breakage,
  table: ['test/support/mutants/all.js', 'mutants', at],
})
