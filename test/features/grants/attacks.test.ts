/** What a reader sees, also when its views are made again, and what it types to see more: the stories of attacks.txt. */
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import pg from 'pg'
import { afterAll, beforeAll, expect } from 'vitest'
import type { Ended } from '../../support/harness/call.js'
import { Reader, rowsOf } from '../../support/harness/reader.js'
import { type Pooler, startImpatient } from '../../support/harness/relays.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { bothWarehouses, type Kind, readMeta, reopen, storeMeta } from '../../support/harness/warehouse.js'
import { anywhere, Steps, storyTests, type WordsOf, wordsOf } from '../../support/world/stories.js'

const sandbox = await sandboxOfFile({ tenants: 2, repairOrders: 30, seed: 3 })

class Attack {
  readonly #more: string
  readonly #database: string
  readonly #pids: Record<string, string> = {}
  #session: pg.Client | undefined

  private constructor(
    readonly started: Reader,
    private readonly relay: Pooler,
  ) {
    this.#more = pg.escapeIdentifier(`${started.role} more`)
    this.#database = new URL(started.address.url).pathname.slice(1)
  }

  static async begin(kind: Kind): Promise<Attack> {
    const started = await Reader.start(sandbox, kind, [
      'customers',
      'staffs',
      'repair_orders',
      'payments',
      'shops',
    ])
    await started.owner.query('grant create on schema public to public; analyze')
    const relay = await startImpatient(started.address.url)
    const config = readFileSync(started.config, 'utf8')
    writeFileSync(started.config, config.replace(started.address.url, relay.url))
    const attack = new Attack(started, relay)
    await attack.#know(started.reader, 'READER')
    return attack
  }

  async end(): Promise<void> {
    await this.started.owner.query('reset session authorization')
    await this.started.stop()
    await this.relay.close()
  }

  /** Other tests use the same server: names of roles are this file's own. */
  named(text: string): string {
    return text
      .replaceAll('READER', this.started.name)
      .replaceAll('MORE', this.#more)
      .replaceAll('TAG', this.started.tag)
      .replaceAll('DATABASE', this.#database)
  }

  said(text: string): string {
    const { role, name, tag } = this.started
    const own = {
      [this.#more]: 'MORE',
      [name]: 'READER',
      [`${role} more`]: 'MORE',
      [role]: 'READER',
      [tag]: 'TAG',
      [this.#database]: 'DATABASE',
    }
    const all = Object.entries({ ...own, ...this.#pids })
    return all.reduce(
      (said, [its, placeholder]) => said.replaceAll(its, placeholder),
      anywhere(text).replaceAll(/pg_temp_\d+/g, 'pg_temp_N'),
    )
  }

  async ask(client: pg.Client, text: string): Promise<string | undefined> {
    try {
      const answer: unknown = await client.query(this.named(text))
      const { rows, fields } = (Array.isArray(answer) ? answer.at(-1) : answer) as pg.QueryResult<object>
      if (fields.length === 0) return
      return this.said(rows.map((row) => Object.values(row).join(' | ')).join(', ') || 'no row')
    } catch (error) {
      return `fails: ${this.said((error as Error).message)}`
    }
  }

  async session(): Promise<pg.Client> {
    if (!this.#session) {
      this.#session = await this.started.connect()
      await this.#know(this.#session, 'SESSION')
    }
    return this.#session
  }

  /** The server's process of a client has that name in what is said. */
  async #know(client: pg.Client, name: string): Promise<void> {
    const [row] = await rowsOf<{ pid: number }>(client, 'select pg_backend_pid() as pid')
    this.#pids[`${row?.pid}`] = name
  }

  async endSession(): Promise<void> {
    await this.#session?.end()
    this.#session = undefined
  }

  grant(tenants: string, more = '', to = ''): Promise<Ended> {
    const role = to === '' ? this.started.role : `${this.started.role} more`
    return this.started.grant(role, wordsOf(tenants).map(Number), ...wordsOf(more))
  }

  /** What the reader's functions print while it asks this. */
  async heard(query: string): Promise<string[]> {
    const { reader } = this.started
    const notices = new Set<string>()
    const hear = ({ message = '' }: { message?: string | undefined }): void => void notices.add(message)
    reader.on('notice', hear)
    await reader.query(query)
    reader.off('notice', hear)
    return [...notices]
  }
}

const exit = (attack: Attack, { code, stderr }: Ended): string => attack.said(`exit ${code} ${stderr}`)

const words: WordsOf<Attack> = {
  // For the columns that don't fulfil the condition.
  "each view shows its tenant's rows of ours, but for REST": async ({ started }, hides) => {
    const { owner, reader, name: role } = started
    const views = await rowsOf<{ name: string; columns: string }>(
      owner,
      `select table_name as name, string_agg(quote_ident(column_name), ', ' order by ordinal_position)
         filter (where not (${hides})) as columns
       from information_schema.columns where table_schema = 'shopsync_analytics' group by 1`,
    )
    expect(views.length).toBeGreaterThan(30)
    for (const { name: view, columns } of views) {
      const where = ['dim_days', 'changes'].includes(view) ? '' : 'where tenant_id = 101'
      const all = `select ${columns} from shopsync_analytics.${view} ${where}`
      const mine = `select ${columns} from ${role}.${view}`
      const rows = await rowsOf(reader, `select count(*)::int as n from ${view}`)
      expect(rows, view).toEqual(await rowsOf(owner, `select count(*)::int as n from (${all}) a`))
      const query = `(${all} except all ${mine}) union all (${mine} except all ${all})`
      expect(await rowsOf(owner, query), view).toEqual([])
    }
  },
  // And what 0.3.0 remembered of them.
  'owner types again what is in REST': async (attack, table) => {
    const { owner, name } = attack.started
    const texts = await rowsOf<{ text: string }>(
      owner,
      `select text from ${attack.named(table!)} order by place`,
    )
    for (const { text } of texts) await owner.query(text)
    const digest = createHash('sha256')
      .update(texts.map(({ text }) => text).join('\n'))
      .digest('hex')
    await owner.query(
      `comment on schema ${name} is 'shopsync reader of shopsync, views ${digest.slice(0, 12)}'`,
    )
  },
  'a program made orders and order_lines with other columns': async ({ started }) => {
    const warehouse = await reopen(started.address)
    const { memory } = warehouse.dialect.views()
    const known = JSON.parse((await readMeta(warehouse, memory)) ?? '{}')
    delete known[' inputs']
    for (const view of ['orders', 'order_lines']) {
      known[view].wanted = 'other columns'
      const renamed = `alter view shopsync_analytics.${view} rename column state to old_state`
      await started.owner.query(renamed)
    }
    await warehouse.write([storeMeta(warehouse.db, memory, JSON.stringify(known))])
    await warehouse.close()
  },
  'reader select from each table and view of the warehouse': async ({ started: { owner, reader } }) => {
    const all = await rowsOf<{ name: string }>(
      owner,
      `select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where n.nspname in ('shopsync', 'shopsync_analytics') and c.relkind in ('r', 'v')`,
    )
    expect(all.length).toBeGreaterThan(100)
    for (const { name } of all)
      await expect(reader.query(`select 1 from ${name} limit 1`), name).rejects.toThrow(
        /permission denied|must be/,
      )
  },
  'reader hears select from each of its views where REST': async (attack, condition) => {
    const { reader, role } = attack.started
    const views = await rowsOf<{ name: string }>(
      reader,
      `select table_name as name from information_schema.columns where table_schema = '${role}' and column_name = 'tenant_id'`,
    )
    expect(views.length).toBeGreaterThan(30)
    const heard = new Set<string>()
    for (const { name } of views)
      for (const one of await attack.heard(`select count(*) from ${name} where ${condition}`)) heard.add(one)
    return [...heard].join(', ')
  },
  'reader hears select from REST': async (attack, what) =>
    (await attack.heard(`select count(*) from ${what}`)).join(', '),
  'reader REST': (attack, text) => attack.ask(attack.started.reader, text!),
  'owner REST': (attack, text) => attack.ask(attack.started.owner, text!),
  'session REST': async (attack, text) => attack.ask(await attack.session(), text!),
  'the session ends': (attack) => attack.endSession(),
  'grant IDS[ (--personal)][ to (MORE)]': async (attack, ids, more, to) =>
    exit(attack, await attack.grant(ids!, more, to)),
  'grant IDS(?: (--personal))?, and before that ends, it sees nothing': async (attack, ids, more) => {
    const granting = attack.grant(ids!, more)
    const seen = () => attack.ask(attack.started.reader, 'select count(*) from orders')
    // A schema that one may not use is left out of the search path.
    await expect.poll(seen, { timeout: 20_000 }).toMatch(/permission denied|does not exist/)
    return exit(attack, await granting)
  },
  'revoke[ N][ from (MORE)]': async (attack, tenant, from) => {
    const { role } = attack.started
    const only = tenant === undefined ? [] : ['--tenant', tenant]
    const ended = await attack.started.run('revoke', '--role', from ? `${role} more` : role, ...only)
    return exit(attack, ended)
  },
  'forget N': async (attack, tenant) =>
    exit(attack, await attack.started.run('forget', '--tenant', tenant!, '--yes')),
  '(migrate|sync)': async ({ started }, command) => void (await started.done(command!)),
  grants: async (attack) => {
    const { grants } = (await attack.started.done('grants', '--json')).json<{
      grants: { role: string; tenants: number[] }[]
    }>()
    return attack.said(
      grants.map(({ role, tenants }) => `${role}: ${tenants.join(' ')}`).join(', ') || 'none',
    )
  },
  check: async (attack) => {
    const { json } = await attack.started.run('check', '--json')
    const { checks } = json<{ checks: { what: string; ok: boolean; found: string; hint: string | null }[] }>()
    const wrong = checks.filter(({ ok, hint }) => !ok || hint !== null)
    return wrong.map(({ what, found, hint }) => attack.said(`${what}: ${found} → ${hint}`)).join('\n')
  },
}

storyTests(
  'test/features/grants/attacks.txt',
  new Steps(words, '\n'),
  (kind) => {
    let attack: Attack
    beforeAll(async () => {
      attack = await Attack.begin(kind)
    })
    afterAll(() => attack.end())
    return () => attack
  },
  bothWarehouses().filter(({ name }) => name === 'postgres'),
)
