/** One rule names the records of every response, storable or not, so counts and ranges agree on them. */
import { describe, expect, it } from 'vitest'
import { observedRecords, type ShownRecord } from '../../../src/engine/list/observed.js'

const time = (second: number): string => `2026-01-01T00:00:0${second}.000000Z`

const stored = (id: number, second: number): ShownRecord => ({
  stored: { id, updatedAt: time(second), createdAt: null },
  key: String(id),
  updatedAt: time(second),
})
const unstorable = (key: string, updatedAt = ''): ShownRecord => ({ stored: undefined, key, updatedAt })
const shown = (raw: readonly ShownRecord[]): unknown[] =>
  observedRecords(raw).map(({ id, updatedAt }) => [id, updatedAt])

describe('the observed records of a response', () => {
  it('are in list order, each as the warehouse stores it', () => {
    const [one, two] = [stored(1, 9), stored(2, 8)]
    expect(observedRecords([one, two])).toEqual([one.stored, two.stored])
  })

  it('include every record: one that cannot be stored, and each further occurrence of an id', () => {
    const page = [stored(1, 9), stored(1, 9), unstorable('?x'), unstorable('?x'), stored(1, 9)]
    const ids = observedRecords(page).map(({ id }) => id)
    expect(new Set(ids).size).toBe(page.length)
    expect(ids.map((id) => typeof id)).toEqual(['number', 'string', 'string', 'string', 'string'])
  })

  it('give a record the same text on whatever page it is', () => {
    const textOn = (...page: ShownRecord[]): unknown =>
      observedRecords(page).find(({ id }) => typeof id === 'string' && id.includes('?x'))?.id
    const alone = textOn(unstorable('?x'))
    expect(textOn(stored(1, 9), unstorable('?y'), unstorable('?x'), stored(2, 8))).toBe(alone)
    expect(textOn(unstorable('?z', time(3)), unstorable('?x'))).toBe(alone)
  })

  it('take a neighbor’s time if they have none of their own', () => {
    const page = [
      unstorable('?a'),
      stored(1, 9),
      unstorable('?b'),
      unstorable('?c', time(5)),
      unstorable('?d'),
    ]
    expect(shown(page).map((record) => (record as unknown[])[1])).toEqual([9, 9, 9, 5, 5].map(time))
  })
})
