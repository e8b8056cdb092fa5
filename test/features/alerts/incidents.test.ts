/**
 * Incidents from their fault to their end (incidents.txt): each kind is told once within one run of its fault, and once within one
 * run of its end; what follows from a problem of the whole run isn't told. Who is told (delivery.txt): when nobody accepts it, when
 * a process dies in between, and when two end at once; the programs that are called instead of a webhook; and the messages: signed,
 * in words for people, harmless in a chat, and of a size that every receiver accepts.
 */
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { expect } from 'vitest'
import { Stop } from '../../../src/engine/base/errors.js'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { template } from '../../../src/sandbox/index.js'
import type { RunOptions } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { scratch } from '../../support/harness/scratch.js'
import { inLines, Stabilizer } from '../../support/harness/stable.js'
import { type Kind, kept, rowsOf, startRun } from '../../support/harness/warehouse.js'
import {
  AlertingWorld,
  callOf,
  lineOf,
  type Receiver,
  receiver,
  ruleOf,
  signingKey,
} from '../../support/world/alerting.js'
import { anywhere, idsOf, Steps, storyTests, type WordsOf } from '../../support/world/stories.js'

const sandbox = await sandboxOfFile()
const { store } = sandbox

interface Story {
  readonly world: AlertingWorld
  /** Who is told, by name. */
  readonly hooks: Map<string, Receiver>
  readonly hook: Receiver
  /** What was told under each id. */
  readonly before: Map<string, string>
  /** What a called program writes. */
  readonly file: string
}

/** The messages since the last time. */
function told({ hooks, before }: Story): string {
  const lines = [...hooks].flatMap(([name, hook]) => {
    const messages = hook.take()
    const now = new Map<string, number>()
    return messages.map((message, i) => {
      const { headers } = hook.got.at(i - messages.length)!
      const [id, text] = [`${name} ${headers['webhook-id']}`, JSON.stringify(message.incidents)]
      now.set(id, (now.get(id) ?? 0) + 1)
      const often = now.get(id) === 1 ? 'again' : 'again and again'
      const again = before.has(id) ? ` (${often}${before.get(id) === text ? '' : ', and changed'})` : ''
      before.set(id, text)
      return `${name}${lineOf(message)}${message.more ? ` and ${message.more} more` : ''}${again}`
    })
  })
  return [...new Set(lines)].join('\n') || 'nothing'
}

/** A run with these credentials, and what is told then. */
async function run(story: Story, options: RunOptions, secret = sandbox.secret): Promise<string> {
  await story.world.run(options, { url: sandbox.url, partnerId: sandbox.partnerId, secret })
  return told(story)
}

const secret = 'a-long-partner-secret'
const unknownRun = { runId: null, job: 'hourly', startedAt: '2026-01-01T00:00:00.000000Z', reports: [] }

const faultWords: WordsOf<Story> = {
  'notes of IDS fail': (_, tenants = '') =>
    sandbox.script([
      { when: { tenant: idsOf(tenants), resource: 'notes' }, fault: { kind: 'status', status: 500 } },
    ]),
  'all is well': () => sandbox.script([]),
  'a payment of REST': (_, text) => {
    const payment = { ...template('payments', 7, '2026-01-02T00:00:00Z'), ...JSON.parse(String(text)) }
    store.put(102, 'payments', payment, { key: 7 })
  },
  'no payment': () => store.remove(102, 'payments', 7),
  'N is granted': (_, tenant) => store.grant(Number(tenant)),
  'N is revoked': (_, tenant) => store.revoke(Number(tenant)),
  '(-?\\d+) days pass': ({ world }, days) => world.pass(Number(days)),
  'N minutes pass': ({ world }, minutes) => world.clock.sleep(Number(minutes) * 60_000),
  'the run WORD is killed': ({ world: { warehouse, clock } }, run_id = '') => {
    const run = {
      run_id,
      mode: 'sync',
      status: 'running',
      started_at: fromMicros(clock.nowMicros()),
    } as const
    return warehouse.write([startRun(warehouse.db, run)])
  },
  'N lists fail with long errors': async ({ world }, n) => {
    const { db } = world.warehouse
    const failed = { resource: 'notes', status: 'failed', last_error: 'long '.repeat(5000) }
    const failing = Array.from({ length: Number(n) }, (_, i) => ({ tenant_id: 1000 + i, ...failed }))
    const _synced_at = fromMicros(world.clock.nowMicros())
    const tenants = failing.map(({ tenant_id }) => ({ tenant_id, _synced_at }))
    await db.insertInto('tenants').values(tenants).execute()
    await db.insertInto('sync_cursors').values(failing).execute()
  },
  'all lists succeed': ({ world }) => {
    const last_success_at = fromMicros(world.clock.nowMicros())
    return world.warehouse.db.updateTable('sync_cursors').set({ status: 'ok', last_success_at }).execute()
  },
  'run[ WORD]': (story, mode) => run(story, mode === undefined ? {} : ({ mode } as RunOptions)),
  'run of notes': (story) => run(story, { resources: ['notes'] }),
  'run with a wrong secret': (story) => run(story, {}, 'wrong'),
  'a run finds no warehouse': async (story) => {
    const error = new Stop('Could not reach the warehouse', { exitCode: 3, hint: 'Start it' })
    story.world.settings = { ...story.world.settings, warehouse: () => Promise.reject(error) }
    await story.world.tell({ ...unknownRun, error })
    return told(story)
  },
  'N looks at once': async (story, n) => {
    await Promise.all(Array.from({ length: Number(n) }, () => story.world.look()))
    return told(story)
  },
}

const receiverWords: WordsOf<Story> = {
  'the receiver answers (\\d+|nothing)': ({ hook }, status) => {
    hook.status = status === 'nothing' ? 0 : Number(status)
  },
  'somebody waits for N ms': ({ world }, budget) => {
    world.clock.slept.length = 0
    world.settings = { isAwaited: true, budgetMs: Number(budget) }
  },
  'telling may take N ms': ({ world }, budget) => {
    world.settings = { budgetMs: Number(budget) }
  },
  'as usual': ({ world }) => {
    world.settings = {}
  },
  'nobody is to be told': ({ world }) => {
    world.settings = { alerts: { rules: [], heartbeat: undefined } }
  },
  'named REST': ({ world }, name) => {
    world.settings = {
      alerts: { name, rules: world.rules, heartbeat: undefined },
      tenantNames: { 101: 'Main Street Auto & Sons' },
    }
  },
  'one is told of what failed, another of all after N minutes': async ({ world, hook, hooks }, minutes) => {
    const late = await receiver()
    hooks.set('late ', late)
    world.rules = [
      ruleOf(hook.url, { on: ['failed'] }),
      ruleOf(late.url, { after: Number(minutes) * 60_000 }),
    ]
  },
  // After the message was sent.
  'the process died before it could record that': async ({ world: { warehouse, clock } }) => {
    const [{ told } = { told: {} }] = await rowsOf(warehouse, 'sync_alerts')
    const claimed = fromMicros(clock.nowMicros())
    const claim = { told: JSON.stringify({ [Object.keys(told as object)[0] ?? '']: { claimed } }) }
    await warehouse.db
      .updateTable('sync_alerts' as never)
      .set(claim as never)
      .execute()
  },
  'told by REST': async ({ world, file }, command = '') => {
    const environment = { ...process.env, TEST_API_SECRET: secret, TEST_PLAIN: 'plain' }
    const meant = { FILE: file, SECRET: secret, HUGE: 'x'.repeat(3_000_000) }
    const words = JSON.parse(command.replaceAll(/FILE|SECRET|HUGE/g, (word) => meant[word as 'FILE']))
    world.rules = [callOf(...words)]
    world.settings = {
      secrets: [secret, 'bin'],
      budgetMs: 5000,
      programs: { environment, folder: tmpdir() },
    }
    await world.look()
  },
}

/** Without moments, and how long and how often somebody waited. */
const timeless = (text: string): string =>
  anywhere(text)
    .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d UTC/g, 'NOW')
    .replace(/within [\d.]+ s$/, 'within SECONDS')
    .replace(/, \d+ times$/, ', several times')

const shownWords: WordsOf<Story> = {
  'waited for less than N ms': ({ world }, most) =>
    world.clock.slept.reduce((sum, one) => sum + one, 0) < Number(most) ? 'yes' : 'no',
  'open incidents': async ({ world }) =>
    (await rowsOf(world.warehouse, 'sync_alerts'))
      .filter(({ resolved_at }) => resolved_at === null)
      .map(({ kind: of }) => of)
      .join(', ') || 'none',
  notices: ({ world }) =>
    world.notices
      .splice(0)
      .map(([message, { rule, found, incidents }]) => timeless(`${message}: ${rule}, ${incidents}: ${found}`))
      .join('\n') || 'none',
  /** The clock has skipped nothing: the reference only accepts messages from the last minutes. */
  'all are signed': ({ hook }) => {
    for (const { headers, body } of hook.got) {
      expect(new Webhook(signingKey).verify(body, headers)).toEqual(JSON.parse(body))
      expect(() => new Webhook(signingKey).verify(body.replace('type', 'typo'), headers)).toThrow()
      expect(() => new Webhook(`${signingKey.slice(0, -4)}AAAA`).verify(body, headers)).toThrow()
    }
  },
  'message (-?\\d+)': ({ hook }, n) => {
    const message = JSON.parse(hook.got.at(Number(n))!.body)
    return inLines(new Stabilizer(timeless).value(message, true))
  },
  'characters of the last message are less than N': ({ hook }, most) =>
    hook.got.at(-1)!.body.length < Number(most) ? 'yes' : 'no',
  'the last text says REST': ({ hook }, text) =>
    JSON.parse(hook.got.at(-1)!.body).text.includes(text) ? 'yes' : 'no',
  'the program got REST': ({ file }, text = '') =>
    readFileSync(file, 'utf8').includes(text.replace('SECRET', secret)) ? 'yes' : 'no',
}

const steps = new Steps({ ...faultWords, ...receiverWords, ...shownWords })
const begin = (kind: Kind) => {
  const stock = kept(kind)
  return async (): Promise<Story> => {
    const world = await AlertingWorld.of(sandbox, await stock.open())
    const { hook } = world
    return { world, hook, hooks: new Map([['', hook]]), before: new Map(), file: join(scratch(), 'out') }
  }
}
storyTests('test/features/alerts/incidents.txt', steps, begin)
storyTests('test/features/alerts/delivery.txt', steps, begin)
