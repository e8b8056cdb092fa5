/** Whether the figures can be trusted: what becomes of the answer if something is wrong with the data behind them. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { shopsync } from '../../support/harness/call.js'
import { configure } from '../../support/harness/place.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { scratch } from '../../support/harness/scratch.js'
import { type Kind, reopen, type Warehouse, warehouses } from '../../support/harness/warehouse.js'
import { trustIn } from './reportpage.js'

// Whether they can be trusted doesn't depend on how many there are, and a report without charts is made sooner.
const sandbox = await sandboxOfFile({ data: 'none', tenants: [{ id: 101 }] })
const stamps = { id: 1, created_at: '2026-01-01T00:00:00Z', updated_at: '2026-01-01T00:00:00Z' }
for (const resource of ['repair_orders', 'payments', 'notes', 'shops'])
  sandbox.store.put(101, resource, {
    ...stamps,
    state: 'estimate',
    shop_id: 1,
    repair_order_id: 1,
    services: [],
  })

const ago = (minutes: number): string =>
  new Date(Date.now() - 60_000 * minutes).toISOString().replace('Z', '000Z')
const day = 24 * 60
const cursors = 'update @sync_cursors set'
/** A run of another machine, whose lease has nearly a minute left. */
const held = (): string =>
  `update @sync_lease set owner = 'r', host = 'elsewhere', pid = 1, claimed_at = '${ago(1)}', expires_at = '${ago(-0.9)}'`
const incident = (kind: string): string =>
  `insert into @sync_alerts (tenant_id, resource, kind, since, opened_at, told) values (0, '', '${kind}', '${ago(0)}', '${ago(0)}', '{}')`

describe.each(warehouses())('$name', (kind: Kind) => {
  let config = ''
  let warehouse: Warehouse
  let schema = ''
  const does = (...statements: readonly string[]): Promise<unknown> =>
    statements.reduce<Promise<unknown>>(
      (done, text) => done.then(() => sql.raw(text.replaceAll('@', schema)).execute(warehouse.db)),
      Promise.resolve(),
    )

  beforeAll(async () => {
    const address = await kind.viewed()
    schema = kind.name === 'sqlite' ? '' : `"${address.schema}".`
    config = configure(sandbox, address, ['repair_orders', 'payments', 'notes', 'shops'], {
      report: { tenantNames: { 101: 'Main' } },
    })
    const synced = await shopsync(['sync', '--config', config])
    expect(synced.code, synced.stderr).toBe(0)
    warehouse = await reopen(address)
    return () => warehouse.close()
  })

  beforeEach(async () => {
    const now = `complete_through = '${ago(19)}', last_success_at = '${ago(0)}', deletes_checked_at = '${ago(0)}'`
    await does(`${cursors} status = 'ok', completeness = 'proven', ${now}`, 'delete from @sync_alerts')
    await does('update @tenants set revoked_at = null', `update @sync_lease set expires_at = '${ago(60)}'`)
  })

  const yes = 'Yes. The data is complete up to 19 minutes before this report'
  const not = 'Not entirely: '
  it.each<[what: string, change: string[], words: string, tone: string]>([
    ['nothing is wrong', [], `${yes}.`, 'good'],
    // A list that no figure depends on says nothing about the figures.
    [
      'notes may be incomplete',
      [`${cursors} completeness = 'unproven' where resource = 'notes'`],
      `${yes}.`,
      'good',
    ],
    [
      'payments are not offered by the source',
      [`${cursors} status = 'unavailable' where resource = 'payments'`],
      `${yes}, without 1 set of records that the source doesn’t offer.`,
      'good',
    ],
    [
      'payments may be incomplete',
      [`${cursors} completeness = 'unproven' where resource = 'payments'`],
      `${not}1 of 3 sets of records may be incomplete. For details, run shopsync status.`,
      'bad',
    ],
    [
      'a list failed',
      [`${cursors} status = 'failed' where resource = 'payments'`],
      `${not}1 of 3 sets of records may be incomplete`,
      'bad',
    ],
    [
      'a grant is gone',
      [`update @tenants set revoked_at = '${ago(0)}'`],
      `${not}Main no longer grants access`,
      'bad',
    ],
    [
      'a list was never read to its end',
      [`${cursors} complete_through = null`],
      `${not}not every set of records has been read to its end`,
      'watch',
    ],
    [
      'the data is old',
      [`${cursors} last_success_at = '${ago(100 * day)}', complete_through = '${ago(10 * day)}'`],
      `${not}some of the data is 10 days old`,
      'watch',
    ],
    [
      'nobody has checked deletions',
      [`${cursors} deletes_checked_at = null`],
      `${not}deletions in 3 of 3 sets of records have not been checked recently`,
      'watch',
    ],
    [
      'deletions were checked long ago',
      [`${cursors} deletes_checked_at = '${ago(40 * day)}'`],
      `${not}deletions in 3 of 3 sets`,
      'watch',
    ],
    ['an incident is open', [incident('drift')], `${not}1 incident is open (drift)`, 'watch'],
    [
      'much is wrong, of which the worst comes first',
      [incident('stale'), `${cursors} deletes_checked_at = null, completeness = 'unproven'`],
      `${not}3 of 3 sets of records may be incomplete; deletions in 3 of 3 sets of records have not been checked recently; 1 incident is open (stale)`,
      'bad',
    ],
  ])('%s', async (_, change, words, tone) => {
    await does(...change)
    const { answer, tone: found } = await trustIn(config)
    expect([answer, found]).toEqual([expect.stringContaining(words), tone])
  })

  it('the first load is under way', async () => {
    await does(held(), `${cursors} completeness = null, complete_through = null where resource = 'payments'`)
    const words = `${not}the first load is under way, and not every set of records has been read yet. For`
    expect(await trustIn(config)).toMatchObject({ answer: expect.stringContaining(words), tone: 'watch' })
  })

  it('says on every page that the rows are of another source', async () => {
    const cwd = scratch()
    const foreign = join(cwd, 'config.json')
    writeFileSync(foreign, readFileSync(config, 'utf8').replace(sandbox.url, 'http://127.0.0.1:9'), {
      mode: 0o600,
    })
    const of = (...words: string[]) => shopsync(['report', ...words, '--config', foreign], { cwd })
    const words = `the data is from ${sandbox.url} (partner ${sandbox.partnerId}), but the configuration names`
    expect((await of()).stdout).toContain(`Not entirely: ${words}`)
    expect(readFileSync(join(cwd, 'report.html'), 'utf8')).toContain(words)
    const operations = await of('--operations')
    for (const text of [operations.stdout, readFileSync(join(cwd, 'operations.html'), 'utf8')])
      for (const part of [`✗ Source: ${sandbox.url}`, 'so runs are refused', 'shopsync adopt --same-data'])
        expect(text).toContain(part)
  })
})
