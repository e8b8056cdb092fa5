/** A role that may do what runs need, and not everything: what it lacks, and which rows it may not see, is told. */
import { sql } from 'kysely'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { onServer } from '../../support/harness/databases.js'
import { Desk } from '../../support/harness/desk.js'
import type { RunReport } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { bothWarehouses, type Kind, typed } from '../../support/harness/warehouse.js'
import { anywhere, type WordsOf } from '../../support/world/stories.js'
import { deskOf, Lists, type Troubled, told, troubleStories } from '../../support/world/troubled.js'

const [postgres] = bothWarehouses().filter(({ name }) => name === 'postgres') as [Kind]
const sandbox = await sandboxOfFile()
const resources = ['notes', 'customers', 'vehicles']
const lists = new Lists(sandbox, [...resources, 'shops', 'repair_orders'])

type Check = Readonly<Record<'what' | 'found', string>> & {
  readonly ok: boolean
  readonly hint: string | null
}
const said = ({ role }: Troubled, text: string): string => anywhere(text).replaceAll(role, 'ROLE')
const checking = async (desk: Desk) => {
  const { code, json } = await desk.run('check --json')
  return { code, checks: json<{ checks: Check[] }>().checks }
}
const callers = async ({ place }: Troubled) => {
  const { checks } = await checking(new Desk(sandbox, place, lists.names))
  return checks.filter(({ found }) => found.includes(', which calls '))
}

const words: WordsOf<Troubled> = {
  'the program syncs': (story) =>
    told(story, async () => (await deskOf(story).run('sync --json')).json<RunReport>()),
  'vehicles have vins': () => {
    for (const id of sandbox.store.ids(1, 'vehicles')) lists.put('vehicles', id, { vin: `VIN ${id}` })
  },
  'the program syncs with a column vin': (story) =>
    told(story, async () => {
      const more = { resources: { vehicles: { columns: { vin: 'text' } } } }
      return (await new Desk(sandbox, story.address, lists.names, more).run('sync --json')).json<RunReport>()
    }),
  vins: async ({ usual }) => {
    const { rows } = await sql<{ n: number }>`select count(vin)::int as n from shopsync.vehicles`.execute(
      usual.db,
    )
    return `${rows[0]?.n === sandbox.store.ids(1, 'vehicles').length ? 'each' : rows[0]?.n} has one`
  },
  'note N goes': (_, id) => void sandbox.store.remove(1, 'notes', Number(id)),
  check: async (story) => {
    const { code, checks } = await checking(new Desk(sandbox, story.address, lists.names))
    const wrong = checks.filter(({ what, ok, hint }) => !ok || (what.startsWith('table') && hint !== null))
    return [
      `exit ${code}`,
      ...wrong.map(({ what, ok, found, hint }) =>
        said(story, `${ok ? '✓' : '✗'} ${what}: ${found} → ${hint}`),
      ),
    ].join('\n')
  },
  callers: async (story) => {
    const found = await callers(story)
    return found.map((one) => said(story, `${one.what}: ${one.found} → ${one.hint}`)).join('\n') || 'none'
  },
  'what it says is typed': async (story) => {
    for (const { hint } of await callers(story))
      await typed(story.usual, /alter function .*? set search_path = [\w, ]+/.exec(hint ?? '')?.[0] ?? '')
  },
}

troubleStories('test/engine/warehouse/runrole.txt', postgres, lists, { asRole: true, more: words })

describe(postgres.name, () => {
  it('forget does not wait for those who read its tables', async () => {
    const desk = new Desk(sandbox, await postgres.viewed(), resources)
    const { url, schema } = desk.address
    await desk.done('sync')
    const reader = new pg.Client(url)
    await reader.connect()
    await reader.query(`begin; select from ${schema}.notes`)
    // A vacuum that waits for a table that becomes empty does so for five seconds.
    await onServer(url, `alter database ${new URL(url).pathname.slice(1)} set statement_timeout = '4s'`)
    expect((await desk.done('forget --tenant 1 --yes')).stderr).toBe('')
    // A session that works on the table itself does, and the server's refusal is told as one.
    await reader.query(`lock table ${schema}.notes in share update exclusive mode`)
    const held = await desk.run('forget --tenant 1 --yes')
    expect([held.code, held.stderr]).toEqual([1, expect.stringContaining('statement_timeout')])
    await reader.end()
  })
})
