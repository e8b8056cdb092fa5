/**
 * A snapshot or a report that can't be made is a failure like any other: its exit code shows it, and status, check and
 * the incidents report it until it succeeds, whatever other runs succeed in between.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Ended, shopsync } from '../../support/harness/call.js'
import { configure } from '../../support/harness/place.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { reopen, type Warehouse, warehouses } from '../../support/harness/warehouse.js'

const sandbox = await sandboxOfFile({ tenants: 1, repairOrders: 12, seed: 3 })

interface Status {
  readonly healthy: boolean
  readonly failed_works: readonly {
    readonly what: string
    readonly message: string
    readonly since: string
  }[]
  readonly incidents: readonly { readonly kind: string; readonly message: string }[]
}

describe.each(warehouses())('$name', (kind) => {
  const address = kind.address()
  let warehouse: Warehouse
  let config = ''
  let folder = ''
  const run = (...words: string[]): Promise<Ended> =>
    shopsync([...words, '--config', config], { cwd: folder })
  const status = async (): Promise<Status & { code: number | null }> => {
    const ended = await run('status', '--json')
    return { ...ended.json<Status>(), code: ended.code }
  }
  const job = (name: string, steps: readonly object[]): void => {
    mkdirSync(join(folder, 'jobs'), { recursive: true })
    writeFileSync(join(folder, 'jobs', `${name}.json`), JSON.stringify({ description: name, steps }))
  }
  const execute = (text: string): Promise<unknown> => sql.raw(text).execute(warehouse.db)
  const table = kind.name === 'sqlite' ? 'daily_snapshots' : `"${address.schema}".daily_snapshots`
  /** From now on, the table accepts no snapshot. */
  const refuse = (): Promise<unknown> =>
    execute(
      kind.name === 'sqlite'
        ? `create trigger full before insert on ${table} begin select raise(abort, 'no more'); end`
        : `alter table ${table} add constraint full_up check (stock_items < 0) not valid`,
    )
  const accept = (): Promise<unknown> =>
    execute(kind.name === 'sqlite' ? 'drop trigger full' : `alter table ${table} drop constraint full_up`)

  beforeAll(async () => {
    config = configure(sandbox, address, ['repair_orders', 'shops'])
    folder = dirname(config)
    const ended = await run('sync')
    expect(ended.code, ended.stderr).toBe(0)
    warehouse = await reopen(address)
  })
  afterAll(() => warehouse.close())

  it('a failed snapshot is reported until one succeeds', async () => {
    expect(await status()).toMatchObject({ code: 0, healthy: true, failed_works: [] })
    await refuse()
    const failed = await run('snapshot')
    expect(failed.code).toBe(1)
    expect(failed.stderr).toContain('The snapshot could not be taken: ')
    const known = await status()
    const message = expect.stringContaining('The snapshot could not be taken')
    expect(known).toMatchObject({
      code: 1,
      healthy: false,
      failed_works: [{ what: 'snapshot', message }],
      incidents: [{ kind: 'failed', message }],
    })
    // A successful run doesn't cover it up, and a second failure doesn't start over.
    expect((await run('sync')).code).toBe(0)
    expect((await run('snapshot')).code).toBe(1)
    expect((await status()).failed_works).toEqual(known.failed_works)
    const words = await run('status')
    expect([words.code, words.stdout]).toEqual([1, message])
    const checked = await run('check')
    expect([checked.code, checked.stdout]).toEqual([1, message])
    await accept()
    expect((await run('snapshot')).code).toBe(0)
    expect(await status()).toMatchObject({ code: 0, healthy: true, failed_works: [], incidents: [] })
  })

  it('in a job it fails the job and no other step', async () => {
    job('nights', [{ command: 'snapshot' }, { command: 'sync' }, { command: 'report', out: 'made.html' }])
    await refuse()
    sandbox.resetRequests()
    const ended = await run('run', 'nights')
    expect(ended.code).toBe(1)
    expect(sandbox.requests.map(({ resource }) => resource)).toContain('repair_orders')
    expect(ended.stderr).toContain('The snapshot could not be taken')
    expect(readFileSync(join(folder, 'made.html'), 'utf8')).toContain('Can I trust it?')
    expect(await status()).toMatchObject({ code: 1, incidents: [{ kind: 'failed' }] })
    await accept()
    expect((await run('run', 'nights')).code).toBe(0)
    expect(await status()).toMatchObject({ code: 0, failed_works: [], incidents: [] })
  })

  it("so does a report that can't be written", async () => {
    job('pages', [{ command: 'report', out: '/dev/full' }])
    expect((await run('run', 'pages')).code).toBe(1)
    const message = expect.stringContaining('The report could not be ')
    expect(await status()).toMatchObject({ code: 1, failed_works: [{ what: 'report', message }] })
    expect((await run('sync')).code).toBe(0)
    expect(await status()).toMatchObject({ code: 1, incidents: [{ message }] })
    job('pages', [{ command: 'report', out: 'made.html' }])
    expect((await run('run', 'pages')).code).toBe(0)
    expect(await status()).toMatchObject({ code: 0, failed_works: [], incidents: [] })
  })
})
