/**
 * Who is told, when nobody accepts it, when a process dies in between, and when two end at once; the programs that are called
 * instead of a webhook; and the messages: signed, in words for people, harmless in a chat, and of a size that every receiver
 * accepts.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { afterEach, describe, expect, it } from 'vitest'
import { Stop } from '../../../src/engine/base/errors.js'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { template } from '../../../src/sandbox/index.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { scratch } from '../../support/harness/scratch.js'
import { closeAll } from '../../support/harness/server.js'
import { kept, rowsOf, warehouses } from '../../support/harness/warehouse.js'
import { AlertingWorld, callOf, lineOf, receiver, ruleOf, signingKey } from '../../support/world/alerting.js'

const sandbox = await sandboxOfFile()
afterEach(closeAll)

const fail = (...tenants: number[]): void =>
  sandbox.script([{ when: { tenant: tenants, resource: 'notes' }, fault: { kind: 'status', status: 500 } }])
const recover = (): void => sandbox.script([])
const idsOf = ({ hook }: { hook: { got: readonly { headers: Record<string, string> }[] } }) =>
  hook.got.map(({ headers }) => headers['webhook-id'])

describe.each(warehouses())('$name', (kind) => {
  const stock = kept(kind)
  /** A warehouse that was synced, and whoever is told of it. */
  const synced = async () => {
    const world = await AlertingWorld.of(sandbox, await stock.open())
    await world.run()
    return world
  }

  it('keeps what nobody accepted, sends it in the next run under the same id, and never sends its end first', async () => {
    const world = await synced()
    const { hook, warehouse } = world
    const open = async () =>
      (await rowsOf(warehouse, 'sync_alerts'))
        .filter(({ resolved_at }) => resolved_at === null)
        .map(({ kind: of }) => of)
    // Someone waits at a terminal, and doesn't wait the ten minutes that cron would.
    world.settings = { isAwaited: true, budgetMs: 600_000 }
    hook.status = 503
    fail(101)
    world.clock.slept.length = 0
    await world.run()
    expect(world.clock.slept.reduce((sum, one) => sum + one, 0)).toBeLessThan(4000)
    expect(await open()).toEqual(['failed'])
    expect(hook.got.length).toBeGreaterThan(1)
    expect(world.notices.splice(0)).toEqual([
      [
        'An alert was not accepted; the next run tries again',
        { rule: 'alerts.rules[0] (webhook)', found: expect.stringMatching(/^it answered 503/), incidents: 1 },
      ],
    ])
    world.settings = {}
    hook.status = 200
    hook.take()
    await world.run()
    expect(hook.take().map(lineOf)).toEqual(['opened: failed 101/notes'])
    expect(new Set(idsOf(world)).size).toBe(1)
    // A silent receiver delays the run no longer than allowed.
    world.settings = { budgetMs: 300 }
    hook.status = 0
    recover()
    await world.run()
    expect(world.notices.splice(0)).toMatchObject([
      [expect.anything(), { found: expect.stringMatching(/^no answer came within/) }],
    ])
    // Where the answer won't change, nothing is repeated, and no redirect is followed.
    world.settings = {}
    for (const [status, found] of [
      [410, 'it answered 410, expected 200'],
      [302, 'it answered 302, and redirects are not followed'],
    ] as const) {
      hook.status = status
      fail(102)
      hook.take()
      await world.run()
      expect(world.notices.splice(0).map(([, fields]) => fields.found)).toEqual([found, found])
      expect(hook.take()).toHaveLength(2)
    }
    recover()
    hook.status = 200
    await world.run()
    expect(await open()).toEqual([])
    // Nobody hears about a problem that started and ended meanwhile.
    expect(hook.take().map(lineOf)).toEqual(['resolved: failed 101/notes'])
  })

  it("waits as the rule demands, tells each rule's kinds, and tells once even if two runs end together", async () => {
    const world = await AlertingWorld.of(sandbox, await stock.open())
    const { hook } = world
    const late = await receiver()
    world.rules = [ruleOf(hook.url, { on: ['failed'] }), ruleOf(late.url, { after: 7_200_000 })]
    await world.run()
    fail(101)
    world.settings = { alerts: { rules: [], heartbeat: undefined } }
    await world.run()
    world.settings = {}
    await Promise.all([world.look(), world.look(), world.look()])
    // A rule added after the start of the incident still tells it.
    expect(hook.take().map(lineOf)).toEqual(['opened: failed 101/notes'])
    expect(late.take()).toEqual([])
    await world.clock.sleep(7_200_000)
    await world.run()
    expect([hook.take(), late.take().map(lineOf)]).toEqual([[], ['opened: failed 101/notes']])
    recover()
    sandbox.store.revoke(102)
    await world.run()
    expect(hook.take().map(lineOf)).toEqual(['resolved: failed 101/notes'])
    expect(late.take().map(lineOf)).toEqual(['resolved: failed 101/notes'])
  })

  it('what a killed process may have told is told again as it was, under the same id', async () => {
    const world = await synced()
    const { warehouse } = world
    fail(101)
    await world.run()
    const [before] = world.hook.take()
    // The process died after the message was sent, and before it could record that.
    const [{ told } = { told: {} }] = await rowsOf(warehouse, 'sync_alerts')
    const claimed = fromMicros(world.clock.nowMicros())
    const claim = JSON.stringify({ [Object.keys(told as object)[0] ?? '']: { claimed } })
    await warehouse.db
      .updateTable('sync_alerts' as never)
      .set({ told: claim } as never)
      .execute()
    await world.clock.sleep(180_000)
    fail(101, 102)
    await world.run()
    const again = world.hook.take()
    expect(again.map(lineOf)).toEqual(['opened: failed 101/notes', 'opened: failed 102/notes'])
    expect(again[0]?.incidents).toEqual(before?.incidents)
    const [first, second, third] = idsOf(world)
    expect([second === first, third === first]).toEqual([true, false])
  })

  it('a warehouse that is down is told by every run that fails because of it', async () => {
    const world = await AlertingWorld.of(sandbox, await stock.open())
    const error = new Stop('Could not reach the warehouse', { exitCode: 3, hint: 'Start it' })
    world.settings = { warehouse: () => Promise.reject(error) }
    const startedAt = '2026-01-01T00:00:00.000000Z'
    for (let n = 0; n < 2; n++)
      await world.tell({ runId: null, job: 'hourly', startedAt, reports: [], error })
    const told = world.hook.take()
    expect(told.map(lineOf)).toEqual(['opened: failed run', 'opened: failed run'])
    expect(told[0]?.incidents).toMatchObject([
      { message: 'Could not reach the warehouse', advice: 'Start it' },
    ])
  })

  it('signed as the Standard Webhooks reference verifies; which installation, which shop, what, since when, what to do', async () => {
    const world = await AlertingWorld.of(sandbox, await stock.open())
    world.settings = {
      alerts: { name: 'Berlin <main>', rules: world.rules, heartbeat: undefined },
      tenantNames: { 101: 'Main Street Auto & Sons' },
    }
    await world.run()
    sandbox.script([{ when: { tenant: 101, resource: 'notes' }, fault: { kind: 'status', status: 500 } }])
    await world.run()
    sandbox.script([])
    // Nothing from the source acts as markup.
    const odd = { '<!channel> <https://evil.example|look> & more': true }
    sandbox.store.put(101, 'notes', { ...template('notes', 5, '2026-01-05T00:00:00Z'), ...odd })
    await world.run()

    const { got } = world.hook
    expect(got).toHaveLength(3)
    for (const { headers, body } of got) {
      // The world's clock has skipped nothing yet: the reference only accepts messages from the last minutes.
      expect(new Webhook(signingKey).verify(body, headers)).toEqual(JSON.parse(body))
      expect(() => new Webhook(signingKey).verify(body.replace('101', '102'), headers)).toThrow()
      expect(() => new Webhook(`${signingKey.slice(0, -4)}AAAA`).verify(body, headers)).toThrow()
    }
    expect(new Set(got.map(({ headers }) => headers['webhook-id'])).size).toBe(3)

    const [opened, news, over] = world.hook.take()
    const shop = 'Main Street Auto &amp; Sons \\(tenant 101\\), notes: '
    expect(opened).toEqual({
      type: 'opened',
      // One line, and no address.
      text: expect.stringMatching(
        new RegExp(
          `^shopsync on Berlin &lt;main&gt;: needs attention: ${shop}failed since 20\\d\\d-\\d\\d-\\d\\d \\d\\d:\\d\\d UTC: Gave up after 3 attempts: the API answered 500, expected 200\\. The next run tries again\\. Type shopsync check[^\\n/]*$`,
        ),
      ),
      incidents: [
        {
          kind: 'failed',
          tenant_id: 101,
          resource: 'notes',
          since: expect.stringMatching(/^20.*Z$/),
          message: expect.stringMatching(/^tenant 101, notes: .*GET \/api\//),
          advice: expect.stringContaining('shopsync check'),
        },
      ],
      run_id: expect.stringMatching(/^\d{8}T\d{6}-/),
      job: null,
      warehouse: 'sqlite:./warehouse.db',
      name: 'Berlin <main>',
    })
    expect(news).toMatchObject({ type: 'opened', incidents: [{ kind: 'drift' }] })
    expect(news?.text).toContain('&lt;!channel&gt; &lt;')
    expect(news?.text).not.toMatch(/[<>]|&(?!(?:amp|lt|gt);)/)
    expect(over?.text).toMatch(
      new RegExp(`^shopsync on Berlin &lt;main&gt;: over: ${shop}failed since(?!.*Type shopsync)`),
    )
  })

  it('counts what it does not name, and all of it is told to be over', async () => {
    const world = await synced()
    const { db } = world.warehouse
    const _synced_at = fromMicros(world.clock.nowMicros())
    const failing = Array.from({ length: 60 }, (_, i) => ({
      tenant_id: 1000 + i,
      resource: 'notes',
      status: 'failed',
      last_error: 'long '.repeat(5000),
    }))
    const tenants = failing.map(({ tenant_id }) => ({ tenant_id, _synced_at }))
    await db.insertInto('tenants').values(tenants).execute()
    await db.insertInto('sync_cursors').values(failing).execute()
    for (const type of ['opened', 'resolved'] as const) {
      await world.look()
      const [message, ...more] = world.hook.take()
      expect([message?.type, more]).toEqual([type, []])
      expect((message?.incidents.length ?? 0) + (message?.more ?? 0)).toBe(60)
      expect(world.hook.got.at(-1)?.body.length).toBeLessThan(16_000)
      if (type === 'opened') expect(message?.text).toContain(' … and 57 more incidents')
      await world.look()
      expect(world.hook.take()).toEqual([])
      await db.updateTable('sync_cursors').set({ status: 'ok', last_success_at: _synced_at }).execute()
    }
  })
})

// One that never ends: then/then.test.ts; the same code calls it.
describe('a program that is called', () => {
  const [kind] = warehouses()
  const stock = kept(kind!)
  const secret = 'a-long-partner-secret'
  const script = (text: string): string => {
    const file = join(scratch(), 'tell.sh')
    writeFileSync(file, text)
    return file
  }

  it('gets the message, its arguments unchanged and no secret; if it fails or is missing, that is told', async () => {
    const world = await AlertingWorld.of(sandbox, await stock.open())
    await world.run()
    fail(101)
    world.settings = { alerts: { rules: [], heartbeat: undefined } }
    await world.run()
    /** What became of the message; nobody has accepted it before. */
    const called = async (command: readonly string[], more: Record<string, string> = {}) => {
      world.rules = [callOf(...command)]
      const environment = { ...process.env, TEST_API_SECRET: secret, TEST_PLAIN: 'plain', ...more }
      world.settings = {
        secrets: [secret, 'bin'],
        budgetMs: 5000,
        programs: { environment, folder: tmpdir() },
      }
      await world.look()
      return world.notices.splice(0).map(([, { found }]) => found)
    }
    const failed = script(`echo "no route with ${secret}" >&2; exit 3`)
    expect(await called(['sh', failed])).toEqual(['exit code 3: no route with [secret]'])
    expect(await called(['/nowhere/mail'])).toEqual(['it could not be started (ENOENT)'])
    // Linux refuses a variable of more than 128 kB.
    expect(await called(['true'], { HUGE: 'x'.repeat(3_000_000) })).toEqual([
      'it could not be started (E2BIG)',
    ])

    const out = join(scratch(), 'out')
    const good = script('cat > "$1"; env >> "$1"; echo "$2" >> "$1"')
    expect(await called(['sh', good, out, 'a word; rm -rf "$HOME"'])).toEqual([])
    const text = readFileSync(out, 'utf8')
    for (const part of ['"type":"opened"', 'a word; rm -rf "$HOME"', 'TEST_PLAIN=plain', 'PATH='])
      expect(text).toContain(part)
    expect(text).not.toContain(secret)
  })
})
