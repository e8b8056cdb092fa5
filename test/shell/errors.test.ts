import { expect, test } from 'vitest'
import { Bug, describeError, Retry, Skip, Stop } from '../../src/engine/base/errors.js'
import { errorOf, failureOf } from '../support/harness/warehouse.js'

test('a hint is not part of the message, and follows it where people read both', () => {
  const stop = new Stop('Found a, expected b', { exitCode: 2, hint: 'Type b' })
  expect(stop.message).toBe('Found a, expected b')
  expect(stop.hint).toBe('Type b')
  expect(describeError(stop)).toBe('Found a, expected b. Type b')
  expect(describeError(new Stop('Found a', { exitCode: 1, hint: '' }))).toBe('Found a')
  expect(describeError(new Error('plain'))).toBe('plain')
  expect(describeError('a text')).toBe('a text')
})

test.each([
  new Skip('not believed', { reason: 'suspicious', tenantId: 9007199254740993n, hint: 'Look' }),
  new Skip('gone', { reason: 'absent', status: 404 }),
  new Retry('busy', { after: 5 }),
  new Stop('full', { exitCode: 3, hint: 'Free some space' }),
  new Bug('wrong'),
])('$name "$message" comes out of the writer thread as it went in', (error) => {
  const back = errorOf(structuredClone(failureOf(error)))
  expect(back).toBeInstanceOf(error.constructor)
  expect(factsOf(back)).toEqual(factsOf(error))
  expect(describeError(back)).toBe(describeError(error))
})

function factsOf(error: Error): object {
  const { reason } = error as Partial<Skip>
  const { after } = error as Partial<Retry>
  const { exitCode, hint, details } = error as Partial<Stop>
  return { reason, after, exitCode, hint, tenantId: details?.tenantId, status: details?.status }
}
