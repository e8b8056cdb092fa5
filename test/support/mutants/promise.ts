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
  /** The only warehouse on which the test has to fail. Default: each one that it is played on. */
  readonly on: 'sqlite' | 'postgres' | undefined
  /** Whether `npm test` plays it; `npm run test:long` plays all. */
  readonly isDaily: boolean
}

/** `shownBy`: `file: a part of the test's name`. */
type Row = readonly [
  promise: string,
  broken: string,
  breakage: Breakage,
  shownBy: string,
  ...('sqlite' | 'postgres' | 'daily')[],
]

export const mutants = (rows: readonly Row[]): readonly Promised[] =>
  rows.map(([promise, broken, breakage, shownBy, ...how]) => {
    const end = shownBy.indexOf(': ')
    const on = how.find((one) => one !== 'daily')
    const isDaily = how.includes('daily')
    return {
      promise,
      broken,
      breakage,
      test: shownBy.slice(0, end),
      name: shownBy.slice(end + 2),
      on,
      isDaily,
    }
  })
