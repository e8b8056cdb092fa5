/** Targets and related settings, as people write them: every refusal tells what to type. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseDuration } from '../../../src/engine/config/duration.js'
import { durationText } from '../../../src/engine/config/targetsection.js'
import { type Place, place } from '../../support/harness/place.js'

let here: Place
beforeAll(async () => {
  here = await place({ data: 'none' })
})
afterAll(() => here.remove())

type Sections = Record<string, object>

async function refusal(sections: Sections): Promise<string> {
  here.configure(sections)
  const { code, stderr } = await here.run('status')
  return code === 2 ? stderr : `exit ${code}`
}

const quarter = { repair_orders: 'PT15M' }

describe('exit 2, and what to type', () => {
  it.each<[string, Sections, RegExp]>([
    [
      'a target under a minute',
      { targets: { repair_orders: 'PT30S' } },
      /targets\.repair_orders.*found "PT30S", expected an ISO 8601 duration from PT1M to P30D/,
    ],
    ['a target of half a year', { targets: { '*': 'P180D' } }, /found "P180D", expected .* to P30D/],
    ['no duration', { targets: { notes: '15 minutes' } }, /targets\.notes.*found "15 minutes"/],
    [
      'a resource that is none',
      { targets: { repair_order: 'PT15M' } },
      /targets\.repair_order.*unknown key "repair_order".*nearest known key is "repair_orders"/,
    ],
    [
      'a word that is like no resource',
      { targets: { zzz: 'PT15M' } },
      /unknown key "zzz", expected the name of a resource, or "\*" for every other one\. The nearest known key is "[a-z_]+"/,
    ],
    [
      "a tenant's target under a minute",
      { targets: { tenants: { 101: { notes: 'PT1S' } } } },
      /targets\.tenants\.101\.notes.*found "PT1S", expected an ISO 8601 duration from PT1M to P30D/,
    ],
    [
      "a tenant's resource that is none",
      { targets: { tenants: { 101: { note: 'PT5M' } } } },
      /targets\.tenants\.101\.note.*unknown key "note".*nearest known key is "notes"/,
    ],
    [
      'a tenant that is none',
      { targets: { tenants: { main: { notes: 'PT5M' } } } },
      /targets\.tenants.*the key "main", expected the id of a tenant, such as "101"/,
    ],
    [
      "a list may wait for less than a tenant's target",
      { targets: { notes: 'PT5M', tenants: { 101: { '*': 'P2D' } } } },
      /found "P1D", expected at least the largest target, P2D\. Type "polling": \{"atLeast": "P2D"\}/,
    ],
    [
      'a setting that is none',
      { targets: quarter, polling: { atleast: 'P1D' } },
      /unknown key "atleast".*"atLeast"/,
    ],
    [
      'a list may wait for less than the largest target',
      { targets: { '*': 'PT12H' }, polling: { atLeast: 'PT6H' } },
      /polling\.atLeast.*found "PT6H", expected at least the largest target, PT12H\. Type "polling": \{"atLeast": "PT12H"\}/,
    ],
    [
      'no wait at all, and durations that can be written in another way',
      { targets: { '*': 'PT36H' }, polling: { atLeast: 'PT0S' } },
      /found "PT0S", expected at least the largest target, PT36H\. Type "polling": \{"atLeast": "PT36H"\}/,
    ],
    [
      'other durations that can be written in another way',
      {
        targets: quarter,
        polling: { atLeast: 'PT36H', deletes: 'P1W' },
        status: { staleAfter: 'PT1440M', deletesUncheckedAfter: 'PT96H' },
      },
      /found "PT1440M", expected at least P1DT13H.*found "P1W", expected at most status\.deletesUncheckedAfter, PT96H\. Type "status": \{"deletesUncheckedAfter": "P1W"\}/s,
    ],
    [
      'a list may wait until it is stale',
      { targets: quarter, polling: { atLeast: 'P2D' } },
      /status\.staleAfter.*found "P1DT2H", expected at least P2DT1H: polling\.atLeast plus an hour for one round\. Type "status": \{"staleAfter": "P2DT1H"\}/,
    ],
    [
      'deletions that are checked too seldom',
      { targets: quarter, polling: { deletes: 'P5D' } },
      /polling\.deletes.*found "P5D", expected at most status\.deletesUncheckedAfter, P3D\. Type "status": \{"deletesUncheckedAfter": "P5D"\}/,
    ],
  ])('%s', async (_, sections, said) => {
    expect(await refusal(sections)).toMatch(said)
  })

  it.each<[string, Sections]>([
    ['nothing', {}],
    ['polling without targets binds nothing', { polling: { atLeast: 'P20D', deletes: 'P20D' } }],
    ['no tenants', { targets: { tenants: {} }, polling: { atLeast: 'P20D' } }],
    ['targets alone', { targets: { ...quarter, '*': 'PT6H' } }],
    [
      'a long bound, with what goes with it',
      {
        targets: { '*': 'P30D' },
        polling: { atLeast: 'P30D', deletes: 'P9D' },
        status: { staleAfter: 'P31D', deletesUncheckedAfter: 'P9D' },
      },
    ],
  ])('accepted: %s', async (_, sections) => {
    // A warehouse that doesn't exist yet: status ends with 1.
    expect(await refusal(sections)).toBe('exit 1')
  })
})

it('a duration is shown as people write it', () => {
  for (const text of [
    'PT1M',
    'PT15M',
    'PT6H',
    'P1D',
    'P1DT2H',
    'P30D',
    'P2DT3H4M5S',
    'PT1.5S',
    'PT0.5S',
    'PT0S',
  ])
    expect(durationText(parseDuration(text) ?? 0)).toBe(text)
})
