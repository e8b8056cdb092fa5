/** The messages of alerts: signed, in words for people, harmless in a chat, and of a size that every receiver accepts. */

import { Webhook } from 'standardwebhooks'
import { afterEach, describe, expect, it } from 'vitest'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { template } from '../../../src/sandbox/index.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { closeAll } from '../../support/harness/server.js'
import { kept, warehouses } from '../../support/harness/warehouse.js'
import { AlertingWorld, signingKey } from '../../support/world/alerting.js'

const sandbox = await sandboxOfFile()
afterEach(closeAll)

describe.each(warehouses())('$name', (kind) => {
  const stock = kept(kind)

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
    const warehouse = await stock.open()
    const { db } = warehouse
    const world = await AlertingWorld.of(sandbox, warehouse)
    await world.run()
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
