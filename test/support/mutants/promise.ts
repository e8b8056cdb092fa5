import type { Breakage } from './breakage.js'

/** A promise of the program, and the test for it: with one function broken, the named test fails. */
export interface Promised {
  /** As in docs/guarantees.md, if it is a premise. */
  readonly promise: string
  /** What the broken function does. */
  readonly broken: string
  readonly breakage: Breakage
  /** The file of the test that has to notice it. */
  readonly test: string
  /** A part of the test's name, as in the file. */
  readonly name: string
  /** On which warehouses the test has to fail; empty for a test without a warehouse, or with only one. */
  readonly on: readonly ('sqlite' | 'postgres')[]
}

export const both = ['sqlite', 'postgres'] as const
