import type { Breakage } from '../breakage.js'

/** A promise of the program, and what shows that it is kept: with one function broken, a test that is named here fails. */
export interface Promised {
  /** As docs/guarantees.md has it, where it is a premise. */
  readonly promise: string
  /** What the broken function does. */
  readonly broken: string
  readonly breakage: Breakage
  /** The file of the test that has to notice it. */
  readonly test: string
  /** A part of the test's name, as the file has it. */
  readonly name: string
  /** The warehouses on whose tests it has to show; none for a test that has no warehouse, or one alone. */
  readonly on: readonly ('sqlite' | 'postgres')[]
}

export const both = ['sqlite', 'postgres'] as const
