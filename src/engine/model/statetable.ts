import type { Field } from '../../../schema/resource.js'

/** A table of the product's own, in the vocabulary of the resources. Used by state.ts and the files beside it. */
export interface StateTable<F extends Record<string, Field>, K extends keyof F & string> {
  readonly doc: string
  readonly key: readonly K[]
  readonly fields: F
  readonly indexes?: readonly (readonly (keyof F & string)[])[]
  /** A column that became part of the key later, and what the rows have in it that were there before. */
  readonly grown?: GrownKey
}

/** See `StateTable.grown`. */
export interface GrownKey {
  readonly column: string
  readonly value: number
}

export const define = <F extends Record<string, Field>, const K extends keyof F & string>(
  table: StateTable<F, K>,
): StateTable<F, K> => table
