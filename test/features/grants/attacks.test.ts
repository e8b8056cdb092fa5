/** What a reader sees, also when its views are made again, and what it types to see more: the stories of attacks.txt. */
import { createHash, randomBytes } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, expect } from 'vitest'
import type { Ended } from '../../support/harness/call.js'
import { Desk } from '../../support/harness/desk.js'
import type { Address } from '../../support/harness/place.js'
import { type Pooler, startImpatient } from '../../support/harness/relays.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { bothWarehouses, type Kind, readMeta, reopen, storeMeta } from '../../support/harness/warehouse.js'
import { anywhere, Steps, storyTests, type WordsOf, wordsOf } from '../../support/world/stories.js'

const rowsOf = async <T = unknown>(client: pg.Client, query: string): Promise<T[]> =>
  (await client.query(query)).rows as T[]

const sandbox = await sandboxOfFile({ tenants: 2, repairOrders: 30, seed: 3 })

/** A reader of a synced warehouse: its role, and connections of it and of the owner. */
class Attack {
  /** For names that no other test has. */
  readonly #tag = randomBytes(4).toString('hex')
  /** With capitals, quotes and a space. */
  readonly role = `Reader "${this.#tag}"`
  readonly name = pg.escapeIdentifier(this.role)
  readonly #more = pg.escapeIdentifier(`${this.role} more`)
  readonly #database: string
  readonly #pids: Record<string, string> = {}
  readonly desk: Desk
  readonly owner: pg.Client
  reader!: pg.Client
  #session: pg.Client | undefined

  private constructor(
    readonly address: Address,
    private readonly relay: Pooler,
  ) {
    this.#database = new URL(address.url).pathname.slice(1)
    this.desk = new Desk(sandbox, address, ['customers', 'staffs', 'repair_orders', 'payments', 'shops'])
    this.owner = new pg.Client(address.url)
  }

  static async begin(kind: Kind): Promise<Attack> {
    const address = await kind.viewed()
    const attack = new Attack(address, await startImpatient(address.url))
    const { desk, owner, name, relay } = attack
    await desk.done('sync')
    await owner.connect()
    await owner.query(`create role ${name} login password 'reader'`)
    const { code, stderr } = await attack.grant(String(sandbox.tenantIds[0]))
    expect(code, stderr).toBe(0)
    attack.reader = await attack.#connect()
    await owner.query('grant create on schema public to public; analyze')
    desk.on({ ...address, url: relay.url })
    await attack.#know(attack.reader, 'READER')
    return attack
  }

  async #connect(): Promise<pg.Client> {
    const url = new URL(this.address.url)
    url.username = encodeURIComponent(this.role)
    url.password = 'reader'
    const client = new pg.Client(url.href)
    await client.connect()
    return client
  }

  async end(): Promise<void> {
    await this.owner.query('reset session authorization')
    await this.reader.end()
    await this.desk.run('revoke --role', this.role)
    await this.owner.query(`drop owned by ${this.name}; drop role ${this.name}`)
    await this.owner.end()
    await this.relay.close()
  }

  /** Other tests use the same server: names of roles are this file's own. */
  named(text: string): string {
    return text
      .replaceAll('READER', this.name)
      .replaceAll('MORE', this.#more)
      .replaceAll('TAG', this.#tag)
      .replaceAll('DATABASE', this.#database)
  }

  said(text: string): string {
    const own = {
      [this.#more]: 'MORE',
      [this.name]: 'READER',
      [`${this.role} more`]: 'MORE',
      [this.role]: 'READER',
      [this.#tag]: 'TAG',
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
      this.#session = await this.#connect()
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
    const role = to === '' ? this.role : `${this.role} more`
    const flags = wordsOf(tenants).flatMap((id) => ['--tenant', id])
    return this.desk.run('grant --role', role, ...flags, ...wordsOf(more))
  }

  /** What the reader's functions print while it asks this. */
  async heard(query: string): Promise<string[]> {
    const { reader } = this
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
  "each view shows its tenant's rows of ours, but for REST": async ({ owner, reader, name: role }, hides) => {
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
    const { owner, name } = attack
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
  'a program made orders and order_lines with other columns': async ({ address, owner }) => {
    const warehouse = await reopen(address)
    const { memory } = warehouse.dialect.views()
    const known = JSON.parse((await readMeta(warehouse, memory)) ?? '{}')
    delete known[' inputs']
    for (const view of ['orders', 'order_lines']) {
      known[view].wanted = 'other columns'
      const renamed = `alter view shopsync_analytics.${view} rename column state to old_state`
      await owner.query(renamed)
    }
    await warehouse.write([storeMeta(warehouse.db, memory, JSON.stringify(known))])
  },
  'reader select from each table and view of the warehouse': async ({ owner, reader }) => {
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
    const { reader, role } = attack
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
  'reader REST': (attack, text) => attack.ask(attack.reader, text!),
  'owner REST': (attack, text) => attack.ask(attack.owner, text!),
  'session REST': async (attack, text) => attack.ask(await attack.session(), text!),
  'the session ends': (attack) => attack.endSession(),
  'grant IDS[ (--personal)][ to (MORE)]': async (attack, ids, more, to) =>
    exit(attack, await attack.grant(ids!, more, to)),
  'grant IDS(?: (--personal))?, and before that ends, it sees nothing': async (attack, ids, more) => {
    const granting = attack.grant(ids!, more)
    const seen = () => attack.ask(attack.reader, 'select count(*) from orders')
    // A schema that one may not use is left out of the search path.
    await expect.poll(seen, { timeout: 20_000 }).toMatch(/permission denied|does not exist/)
    return exit(attack, await granting)
  },
  'revoke[ N][ from (MORE)]': async (attack, tenant, from) => {
    const { desk, role } = attack
    const only = tenant === undefined ? [] : ['--tenant', tenant]
    return exit(attack, await desk.run('revoke --role', from ? `${role} more` : role, ...only))
  },
  'forget N': async (attack, tenant) =>
    exit(attack, await attack.desk.run(`forget --tenant ${tenant} --yes`)),
  '(migrate|sync)': async ({ desk }, command) => void (await desk.done(command!)),
  grants: async (attack) => {
    const { grants } = (await attack.desk.done('grants --json')).json<{
      grants: { role: string; tenants: number[] }[]
    }>()
    return attack.said(
      grants.map(({ role, tenants }) => `${role}: ${tenants.join(' ')}`).join(', ') || 'none',
    )
  },
  check: async (attack) => {
    const { json } = await attack.desk.run('check --json')
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
