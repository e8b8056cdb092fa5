/** The stories of verify.txt, and of orders. */
import { expect } from 'vitest'
import { Stop } from '../../../src/engine/base/errors.js'
import { serviceTemplate, template } from '../../../src/sandbox/index.js'
import { verify } from '../../support/harness/commands.js'
import { sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { contents, type Kind, rowsOf } from '../../support/harness/warehouse.js'
import { between } from '../../support/world/between.js'
import type { Words } from '../../support/world/liststory.js'
import { stories } from '../../support/world/listwords.js'
import { at, timeOf } from '../../support/world/notes.js'
import { OneList } from '../../support/world/onelist.js'
import { plain, wordsOf } from '../../support/world/stories.js'

const sandbox = await sandboxOfFile()
const longAgo = '2020-01-01T00:00:00.000000Z'
const state = ['tenants', 'sync_cursors', 'sync_runs', 'sync_run_cursors', 'sync_lease', 'sync_quarantine']

const everything = async ({ warehouse }: OneList): Promise<unknown> => [
  await contents(warehouse),
  await Promise.all(state.map((name) => rowsOf(warehouse, name))),
]
let before: unknown
const waysToPay = 'customer_payment_types'

const words: Words = {
  'a change of N that a sync would fetch': ({ list }, id) =>
    list.put(Number(id), at(900_000), { description: 'new' }),
  'older row of N': async ({ list }, id) => {
    await list.write({ updated_at: at(Number(id) * 7 - 3) }, Number(id))
  },
  'whatever is stored': async ({ list }) => {
    before = await everything(list)
  },
  'the same is stored': async ({ list }) => expect(await everything(list)).toEqual(before),
  'deletions checked in 2020': async ({ list }) => {
    await list.write({ deletes_checked_at: longAgo }, undefined, 'sync_cursors')
  },
  'loaded in 2020': async ({ list }) => {
    await list.write({ deletes_checked_at: null }, undefined, 'sync_cursors')
    await list.write({ started_at: longAgo }, undefined, 'sync_run_cursors')
  },
  'five answers by id fail': (story) =>
    story.rule({ when: { kind: 'item' }, times: 5, fault: { kind: 'status', status: 404 } }),
  'the time is over at the first request': (story) => {
    const limit = new AbortController()
    story.options = {
      signal: limit.signal,
      around: between((_, ask) => {
        limit.abort(new Stop('time is over', { exitCode: 1, code: 'time_limit' }))
        return ask()
      }),
    }
  },
  'ten vehicles': () => {
    for (let id = 1; id <= 10; id++) sandbox.store.put(1, 'vehicles', template('vehicles', id, at(id)))
  },
  // A list of names.
  'ways to pay TEXT': (_, names) => void sandbox.store.tenant(1).strings.set(waysToPay, names!.split(', ')),
  'sync the ways to pay': async ({ list }) => {
    await sync(sandbox, list.warehouse, { resources: [waysToPay] })
  },
  'order N has another title and odometer': ({ list }, id) => {
    const services = [{ ...serviceTemplate(70, timeOf(Number(id))), title: 'Another title' }]
    list.put(Number(id), timeOf(Number(id)), { odometer: 99, services })
  },
  'verify of REST': async ({ list }, resources) => {
    const report = await verify(sandbox, list.warehouse, { resources: wordsOf(resources!) })
    const each = report.cursors.map(({ resource, status, error, missing, extra, newer, gone }) => {
      const counts = plain({ missing, extra, newer, gone })
      return `${resource} ${status} ${status === 'skipped' ? error : counts}`
    })
    return `${report.status}: ${each.toSorted().join('; ')}`
  },
  'an unstorable record': ({ list }) => {
    const broken = { ...template('notes', 900_000, at(1)), updated_at: null }
    list.sandbox.store.put(1, 'notes', broken, { key: 900_000, at: at(1) })
  },
}

stories('test/features/reconcile/verify.txt', sandbox, {}, words)
const orders = (kind: Kind) => new OneList(sandbox, kind, {}, 'repair_orders')
stories('test/features/reconcile/verifyorders.txt', sandbox, {}, words, orders)
