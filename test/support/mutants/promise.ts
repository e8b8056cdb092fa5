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

/** By promise, then by the test that shows it, as `file: a part of its name`: what a broken program does, and what breaks it. */
type Table = Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, () => Breakage>>>>>>

export const mutants = (table: Table): readonly Promised[] =>
  Object.entries(table).flatMap(([promise, tests]) =>
    Object.entries(tests).flatMap(([shownBy, does]) => {
      const [test = '', name = ''] = shownBy.split(/: (.*)/s)
      return Object.entries(does).map(([broken, breaks]) => {
        const breakage = breaks()
        const on = breakage.how.find((one) => one !== 'daily')
        const isDaily = breakage.how.includes('daily')
        return { promise, broken, breakage, test, name, on, isDaily }
      })
    }),
  )
