/**
 * What runs after a run: real programs and a real webhook, where runs fail, are killed, and end at once; and rings, which are
 * told gathered. What it is told of: test/transcripts/then.txt.
 */
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { features } from '../../../src/main.js'
import { type CallOptions, shopsync } from '../../support/harness/call.js'
import { sendEvent } from '../../support/harness/listening.js'
import { newLines, place } from '../../support/harness/place.js'
import { Program, program } from '../../support/harness/process.js'
import { eventBody } from '../../support/harness/receiver.js'
import { until, writeJob } from '../../support/harness/scheduler.js'
import { restoreTimeOfDay, setTimeOfDay } from '../../support/harness/shiftedclock.js'
import { type Up, upHere } from '../../support/harness/uphere.js'
import { reopen, rowsOf, type Warehouse, warehouses } from '../../support/harness/warehouse.js'
import { type Receiver, receiver, signingKey } from '../../support/world/alerting.js'

interface Told {
  readonly job: string | null
  readonly tables: readonly { name: string; rows_upserted: number; rows_deleted: number }[]
  readonly tenants: readonly number[]
  readonly changes_from: string | null
  readonly changes_through: string
}
/** What a listener gives those who look while it listens. */
type Context = Parameters<NonNullable<(typeof features)[number]['whileListening']>>[0]
const hourMs = 3_600_000
const keep = 'cat >> told.jsonl; echo >> told.jsonl'
/** Ends with the test's folder, too. */
const untilGo = (which = '') =>
  `touch ${which}began; while [ -e ${which}began ] && [ ! -e ${which}go ]; do sleep 0.02; done`
const keeping = { command: ['sh', '-c', keep] }

const stages = await Promise.all(
  warehouses().map(async (kind) => ({ ...kind, here: await place({ repairOrders: 6, tenants: 2 }) })),
)

describe.each(stages)('$name', ({ here, ...kind }) => {
  let warehouse: Warehouse
  let hook: Receiver
  let address: { readonly url: string; readonly schema?: string }
  const [tenant, other] = [101, 102]

  beforeAll(async () => {
    const { url, schema } = await kind.viewed()
    address = kind.name === 'sqlite' ? { url } : { url, schema }
    warehouse = await reopen({ schema: 'shopsync', ...address })
    hook = await receiver()
    set([])
    await sync()
  })
  beforeEach(async () => {
    const names = ['then', 'failed then']
    await warehouse.write([warehouse.db.deleteFrom('sync_meta').where('name', 'in', names).compile()])
    hook.status = 200
    hook.take()
    told()
  })

  const set = (then: readonly object[]): void =>
    here.configure({
      warehouse: address,
      sync: { resources: ['notes', 'customers', 'shops'] },
      api: { allowInsecure: true, retry: { attempts: 1 } },
      then,
    })
  async function sync(code = 0): Promise<string> {
    const ended = await here.run('sync')
    expect(ended.code, ended.stderr).toBe(code)
    return ended.stderr
  }
  /** What was told since the last call. */
  const told = (): Told[] => newLines<Told>(join(here.folder, 'told.jsonl'))
  /** Sets entries, and lets them know everything so far. */
  async function begin(then: readonly object[]): Promise<Told> {
    set(then)
    await sync()
    return [...told(), ...(hook.take() as unknown as Told[])][0]!
  }
  const change = (detail: string, of = tenant, resource = 'notes', field = 'description'): number => {
    const [id = 0] = here.sandbox.store.ids(of, resource)
    here.sandbox.store.change(of, resource, id, { [field]: detail })
    return id
  }
  /** What is kept of what entries were told. */
  const accepted = async (): Promise<unknown> =>
    (await rowsOf(warehouse, 'sync_meta')).find(({ name }) => name === 'then')?.['value']
  /** When the row was stored in which something became this. */
  const stampOf = async (table: string, field: string, is: string): Promise<string> =>
    String((await rowsOf(warehouse, table)).find((row) => row[field] === is)?.['_synced_at'])
  const file = (name: string): string => join(here.folder, name)
  const isThere = (name: string) => () => existsSync(file(name))
  /** Starts the program in a process, and kills it once something is so. */
  async function killed(words: readonly string[], isTime: () => boolean | Promise<boolean>): Promise<void> {
    const { PATH = '' } = process.env
    const run = new Program(program, words, {
      cwd: here.folder,
      env: { PATH, API_SECRET: here.sandbox.secret },
    })
    await until(isTime)
    run.kill('SIGKILL')
    await run.ended
  }

  it('one that fails changes no row and no verdict, and is told the whole range next; no message has its address', async () => {
    const { changes_through: changes_from } = await begin([
      { webhook: hook.url, secret: signingKey, timeout: 'PT0.5S' },
    ])
    const { headers, body } = hook.got.at(-1)!
    expect(new Webhook(signingKey).verify(body, headers)).toMatchObject({ tenants: [tenant, other] })
    hook.status = 500
    for (const of of [tenant, other]) {
      change(`refused of ${of}`, of)
      const stderr = await sync(1)
      expect(stderr).toContain('"then[0] (webhook)","found":"it answered 500')
      expect(stderr + JSON.stringify(await rowsOf(warehouse, 'sync_meta'))).not.toContain('hidden-token')
    }
    expect((await rowsOf(warehouse, 'sync_runs')).at(-1)).toMatchObject({ status: 'ok' })
    hook.take()
    hook.status = 200
    // Even a run that brings nothing tells what failed.
    await sync()
    expect(hook.take()).toMatchObject([
      { tenants: [tenant, other], tables: [{ name: 'notes', rows_upserted: 2 }], changes_from },
    ])
  })

  it('a command that never ends, or prints megabytes, fails alone; the end of its output is logged', async () => {
    const script = (name: string, text: string): string => {
      writeFileSync(file(name), `#!/bin/sh\n${text}\n`)
      chmodSync(file(name), 0o755)
      return file(name)
    }
    const endless = script('endless', '(while :; do date +%N > alive; sleep 0.05; done) & wait')
    const loud = script(
      'loud',
      'head -c 3000000 /dev/zero | tr "\\0" x; echo; echo "$API_SECRET went wrong" >&2; exit 3',
    )
    set([{ command: [endless], timeout: 'PT0.5S' }, { command: [loud] }, keeping])
    change('for all of them')
    const stderr = await sync(1)
    for (const said of ['it did not end within', 'exit code 3: [secret] went wrong', 'x'.repeat(3000)])
      expect(stderr).toContain(said)
    for (const never of [here.sandbox.secret, 'x'.repeat(4097)]) expect(stderr).not.toContain(never)
    expect(stderr.length).toBeLessThan(30_000)
    expect(told()).toHaveLength(1)
    const alive = readFileSync(file('alive'), 'utf8')
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(readFileSync(file('alive'), 'utf8')).toBe(alive)
  })

  it('keeps no other run waiting, and a run in between is told again rather than never', async () => {
    set([{ command: ['sh', '-c', `cat > slow.json; ${untilGo()}`] }])
    change('slow')
    const slow = here.run('sync')
    await until(isThere('began'))
    change('meanwhile', other)
    const env = { API_SECRET: here.sandbox.secret, SHOPSYNC_THEN: '1' }
    expect((await shopsync(['sync'], { cwd: here.folder, env })).code).toBe(0)
    writeFileSync(file('go'), '')
    expect((await slow).code).toBe(0)
    // Told nobody, the nested run's change is in the next range.
    await sync()
    expect(JSON.parse(readFileSync(file('slow.json'), 'utf8'))).toMatchObject({ tenants: [other] })
  })

  it('of two runs that end at once, the second one waits, and each change is told once', async () => {
    const begun = (is: boolean): void =>
      is ? writeFileSync(file('first-began'), '') : rmSync(file('first-began'))
    begun(true)
    await begin([
      { command: ['sh', '-c', `${keep}; [ -e first-began ] && exit; ${untilGo('first-')}`], timeout: 'PT1M' },
    ])
    begun(false)
    for (const [name, of] of Object.entries({ a: tenant, b: other }))
      writeJob(here.folder, name, { steps: [{ command: 'sync', tenants: [of] }], wait: 'PT1M' })
    const run = async (job: string): Promise<void> => expect((await here.run('run', job)).code).toBe(0)
    change('of a')
    change('of b', other)
    const first = run('a')
    await until(isThere('first-began'))
    const second = run('b')
    await until(async () =>
      (await rowsOf(warehouse, 'sync_runs')).some((one) => one['job'] === 'b' && one['finished_at']),
    )
    writeFileSync(file('first-go'), '')
    await Promise.all([first, second])
    const [one, two, ...more] = told()
    expect([one, two, more]).toMatchObject([
      { job: 'a', tenants: [tenant], tables: [{ name: 'notes', rows_upserted: 1 }] },
      { job: 'b', tenants: [other], tables: [{ name: 'notes', rows_upserted: 1 }] },
      [],
    ])
    expect(two!.changes_from).toBe(one!.changes_through)
    // The turn of one that dies while it tells is free, and what it told may be told again.
    begun(false)
    rmSync(file('first-go'))
    change('of a, again')
    await killed(['run', 'a'], isThere('first-began'))
    change('of b, again', other)
    await run('b')
    writeFileSync(file('first-go'), '')
    const after = told().at(-1)!
    expect(after).toMatchObject({ tenants: [tenant, other], changes_from: two!.changes_through })
    // At the same moment, one of them may tell for both.
    change('of a, at last')
    change('of b, at last', other)
    await Promise.all(['a', 'b'].map(run))
    const last = told()
    const rows = last.flatMap(({ tables }) => tables.map(({ rows_upserted }) => rows_upserted))
    expect(rows.reduce((sum, count) => sum + count, 0)).toBe(2)
    const through = [after, ...last].map(({ changes_through }) => changes_through)
    expect(last.map(({ changes_from }) => changes_from)).toEqual(through.slice(0, -1))
  })

  it('is told everything if it has accepted nothing, however often it was killed meanwhile', async () => {
    const hanging = ['sh', '-c', `if [ -e hang ]; then touch began; exec sleep 5; fi; ${keep}`]
    set([{ command: hanging, timeout: 'PT2M' }])
    writeFileSync(file('hang'), '')
    change('stored, and never told')
    rmSync(file('began'), { force: true })
    await killed(['sync'], isThere('began'))
    rmSync(file('hang'))
    await sync()
    const all = { tenants: [tenant, other], changes_from: null }
    const [first, ...more] = told()
    expect([first, more]).toMatchObject([all, []])
    // Another timeout makes no other entry; another command does.
    set([{ command: hanging, timeout: 'PT3M' }])
    await sync()
    expect(told()).toEqual([])
    expect(await begin([{ command: [...hanging, 'again'] }])).toMatchObject({ ...all, tables: first!.tables })
  })

  it('the next run tells what a killed one stored', async () => {
    const { changes_through: changes_from } = await begin([keeping])
    change('stored, then killed')
    // The run stays up for a list of the other tenant. A list of the same one could hold up the change, too.
    let isHeld = true
    const unhook = here.sandbox.onRequest(async ({ resource, tenant: of }) => {
      while (isHeld && resource === 'customers' && of === other)
        await new Promise((resolve) => setTimeout(resolve, 20))
    })
    await killed(['sync'], async () =>
      (await rowsOf(warehouse, 'notes')).some(({ description }) => description === 'stored, then killed'),
    )
    isHeld = false
    unhook()
    await sync()
    expect(told()).toMatchObject([
      { tenants: [tenant], tables: [{ name: 'notes', rows_upserted: 1 }], changes_from },
    ])
  })

  const listening = (more: Pick<CallOptions, 'env' | 'more'> = {}): Promise<Up> =>
    upHere(['listen', '--port', '0'], {
      cwd: here.folder,
      ...more,
      env: { API_SECRET: here.sandbox.secret, ...more.env },
    })
  const end = async (up: Up): Promise<void> => expect((await up.end()).code).toBe(0)

  it('what a listener told before its range covered it is told again', async () => {
    await begin([keeping])
    // It rings customers, while its turn waits for a list that brings nothing. Other requests wait for the first response.
    let isHeld = true
    const unhook = here.sandbox.onRequest(async ({ resource }) => {
      while (isHeld && resource === 'shops') await new Promise((resolve) => setTimeout(resolve, 20))
    })
    const ringing = await listening({ env: { SHOPSYNC_THEN: '1' } })
    const send = async (type: string, record: number, of = tenant): Promise<void> => {
      const event = `${type.toLowerCase()}.updated`
      const body = eventBody({ id: `${type} of ${of}`, type, event, record, tenant: of })
      expect(await sendEvent(ringing.url, here.sandbox.secret, body)).toBe(200)
    }
    const isRung = (resource: string, times: number) =>
      until(async () => {
        const rows = await rowsOf(warehouse, 'sync_run_cursors')
        return rows.filter((row) => row['mode'] === 'events' && row['resource'] === resource).length >= times
      })
    await send('Customer', here.sandbox.store.ids(other, 'customers')[0]!, other)
    await isRung('customers', 1)
    await send('Shop', here.sandbox.store.ids(tenant, 'shops')[0]!)
    await send('Customer', change('rung', tenant, 'customers', 'first_name'))
    await isRung('customers', 2)
    // It looks when it starts, and then once a minute.
    const before = await accepted()
    const telling = await listening()
    await until(async () => (await accepted()) !== before)
    await end(telling)
    const [first] = told()
    isHeld = false
    unhook()
    await isRung('shops', 1)
    await end(ringing)
    await sync()
    const [second] = told()
    const one = { tenants: [tenant], tables: [{ name: 'customers' }] }
    expect([first, second]).toMatchObject([one, { ...one, changes_from: first!.changes_through }])
    const stamp = await stampOf('customers', 'first_name', 'rung')
    expect(stamp >= first!.changes_through && stamp < second!.changes_through, stamp).toBe(true)
    await sync()
    expect(told()).toEqual([])
  })

  it('what is rung is told once in `thenEvery`, all together, and a clock that is set back delays nothing', async () => {
    await begin([keeping])
    let context: Context | undefined
    const peek = async (given: Context): Promise<void> => {
      context ??= given
    }
    const up = await listening({ more: [{ whileListening: peek }] })
    await until(() => context !== undefined)
    const { clock } = context!
    let ahead = 0
    Object.assign(context!, {
      clock: { ...clock, nowMicros: () => clock.nowMicros() + BigInt(ahead) * 1_000_000n },
    })
    const ring = async (of: number, resource: string, field: string): Promise<void> => {
      change(`rung at ${ahead}`, of, resource, field)
      const flags = ['--tenant', String(of), '--resource', resource]
      expect((await here.run('events', 'ring', ...flags)).code).toBe(0)
    }
    /** As the listener looks once a minute; what it tells then, if anything. */
    const lookAt = async (seconds: number, tells: boolean): Promise<Told | undefined> => {
      const before = await accepted()
      ahead = seconds
      for (const { whileListening } of features) await whileListening?.(context!)
      if (tells) await until(async () => (await accepted()) !== before)
      return told()[0]
    }
    expect(await lookAt(0, false)).toBeUndefined()
    await ring(tenant, 'customers', 'first_name')
    const first = await lookAt(1, true)
    expect(first).toMatchObject({ tenants: [tenant], tables: [{ name: 'customers' }] })
    await ring(other, 'customers', 'last_name')
    expect(await lookAt(290, false)).toBeUndefined()
    await ring(other, 'shops', 'name')
    const second = await lookAt(302, true)
    expect(second).toMatchObject({ tenants: [other], changes_from: first!.changes_through })
    expect(second!.tables.map(({ name }) => name)).toEqual(['customers', 'shops'])
    expect(await lookAt(900, false)).toBeUndefined()
    await ring(tenant, 'customers', 'last_name')
    expect(await lookAt(-3600, true)).toMatchObject({ tenants: [tenant], tables: first!.tables })
    await end(up)
  })

  // The last one: later stamps of this warehouse are an hour ahead.
  it('ranges join, and hold what they tell, whatever the clock does between two runs', async () => {
    let last = (await begin([keeping])).changes_through
    for (const ahead of [0, hourMs, -hourMs, 0]) {
      const detail = `${ahead} after ${last}`
      change(detail)
      setTimeOfDay(Date.now() + ahead)
      await sync().finally(restoreTimeOfDay)
      const [document, ...more] = told()
      expect([document, more]).toMatchObject([{ changes_from: last, tenants: [tenant] }, []])
      const stamp = await stampOf('notes', 'description', detail)
      expect(stamp >= last && stamp < document!.changes_through, `${stamp} of ${detail}`).toBe(true)
      last = document!.changes_through
    }
  })
})
