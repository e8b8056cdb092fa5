/**
 * How many of its cases a test plays: `npm test` plays a sample of them, `npm run test:long` all. The long suites include
 * each file that loads this one (test/long.config.ts).
 */
import { inject } from 'vitest'

/** Whether every case is played. */
export const isWhole = (): boolean => inject('whole')

/** All cases, or the first of them. */
export const sample = <T>(cases: readonly T[], few = 1): readonly T[] =>
  isWhole() ? cases : cases.slice(0, few)
