/** Whose trouble an error of the database is: that of one table, of everybody, or of a moment. */
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/engine/base/clock.js'
import { classifyPostgres, ofStatement, RetryPolicy } from '../../support/harness/warehouse.js'

const names = { schema: 'shopsync', role: 'shopsync' }

describe('whose trouble an error of Postgres is', () => {
  const thrownBy = (code: string, statement: string) =>
    classifyPostgres(ofStatement(Object.assign(new Error('words'), { code }), statement), 'here', names)
  const ofNotes = 'insert into "shopsync"."notes" ("id") values ($1)'
  const ofCursors = 'update "shopsync"."sync_cursors" set "status" = $1'

  it.each(['28P01', '28000', '3D000', '25006', '53100', '53200', '58030', 'XX001', 'XX002'])(
    '%s is everybody’s, whatever the statement was about',
    (code) => {
      for (const statement of [ofNotes, ofCursors, 'begin'])
        expect(thrownBy(code, statement)).toMatchObject({ name: 'Stop' })
    },
  )

  it.each(['08006', '57P01', '40001', '40P01'])('%s is everybody’s, and may pass', (code) => {
    expect(thrownBy(code, ofNotes)).toMatchObject({ name: 'Retry' })
  })

  it.each(['42501', '42883', '23514', '22003', '0A000', '2F003', 'ZZ999', 'XX000', '57014'])(
    '%s is that of the table, unless no run can do without it',
    (code) => {
      expect(thrownBy(code, ofNotes)).toMatchObject({ name: 'Skip', details: { table: 'notes' } })
      expect(thrownBy(code, ofCursors)).toMatchObject({ name: 'Stop', exitCode: 3 })
    },
  )
})

it('a table that stays locked is tried three times, and then only fails its cursor', async () => {
  const locked = Object.assign(new Error('canceling statement due to lock timeout'), { code: '55P03' })
  let asked = 0
  const retryPolicy = new RetryPolicy({
    clock: systemClock,
    classify: (error) => classifyPostgres(error, 'here', names),
    waits: Array.from({ length: 9 }, () => 0),
  })
  const failed = retryPolicy.trying(async () => {
    asked++
    throw locked
  })
  await expect(failed).rejects.toMatchObject({ name: 'Skip', message: expect.stringContaining('lock') })
  expect(asked).toBe(3)
})
