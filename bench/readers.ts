/**
 * npm run bench -- readers [--orders 2000] [--readers 100] [--rounds 5]
 *
 * What readers cost on Postgres, over the generated business of the bench of views: a view through a reader against its owner
 * who types the tenant (at most 1.5 times as long); how long it takes to grant that many readers all views, a process
 * each; and how long `migrate` takes to make all of them again, after every view of all tenants has changed, with the
 * server's default locks (at most a minute for a hundred).
 */
import pg from 'pg'
import { views } from '../schema/views/index.js'
import { Installed, inFolder, options, say, seconds, withOpen } from './kit.js'
import { median } from './stats.js'
import { fill } from './views/fill.js'
import { schema, withWarehouses } from './warehouse.js'

const { orders, readers, rounds } = options({ orders: 2000, readers: 100, rounds: 5 })
const tenants = ['101', '102', '103', '104']

/**
 * Seconds of the reader and of the owner, turn by turn, so that both see the same noise. A barrier is planned apart from
 * what is around it, and hands on rows of all its columns: some tenths of a millisecond, which is much of a short query.
 */
async function ratioOf(reader: pg.Client, owner: pg.Client, name: string, columns: readonly string[]) {
  const sums = columns.map((column) => `, sum(${column}) as ${column}`).join('')
  const asked = (from: string) => `select count(*) as n${sums} from ${from}`
  const mine = asked(name)
  const all = `${asked(`${schema}_analytics.${name}`)} where tenant_id = 101`
  const taken: { own: number; theirs: number }[] = []
  for (let round = -1; round < rounds; round++) {
    const [own, theirs] = [await seconds(() => reader.query(mine)), await seconds(() => owner.query(all))]
    if (round >= 0) taken.push({ own, theirs })
  }
  const millis = (of: 'own' | 'theirs') => (median(taken.map((one) => one[of])) * 1000).toFixed(1)
  return {
    ratio: median(taken.map(({ own, theirs }) => own / theirs)),
    text: `${millis('own')} ms, owner ${millis('theirs')} ms`,
  }
}

async function slowest(url: string, owner: pg.Client): Promise<string[]> {
  const address = new URL(url)
  Object.assign(address, { username: 'reader_1', password: 'reader' })
  const reader = new pg.Client(address.href)
  await reader.connect()
  for (const client of [reader, owner]) await client.query('set jit = off')
  const found: { name: string; ratio: number; text: string }[] = []
  for (const { name, columns, isForAll } of views) {
    if (isForAll || !('tenant_id' in columns)) continue
    const numbers = Object.entries(columns).filter(([, { kind }]) => kind === 'cents' || kind === 'hours')
    const timing = await ratioOf(
      reader,
      owner,
      name,
      numbers.map(([column]) => column),
    )
    found.push({ name, ...timing })
  }
  await reader.end()
  found.sort((a, b) => b.ratio - a.ratio)
  return [
    `views through a reader: ${found.length}, median ${median(found.map(({ ratio }) => ratio)).toFixed(2)} of the owner's time`,
    ...found.slice(0, 5).map(({ name, ratio, text }) => `  ${name}: ${ratio.toFixed(2)} (${text})`),
  ]
}

/** As a program left them whose views had other columns. */
async function changeColumns(owner: pg.Client): Promise<void> {
  const memory = `views ${schema}_analytics`
  const remembered = await owner.query<{ value: string }>(
    `select value from ${schema}.sync_meta where name = $1`,
    [memory],
  )
  const known: Record<string, { wanted: string }> = JSON.parse(remembered.rows[0]?.value ?? '{}')
  for (const { name, columns } of views) {
    const last = Object.keys(columns).at(-1) ?? ''
    await owner.query(`alter view ${schema}_analytics.${name} rename column ${last} to other`)
    known[name] = { ...known[name], wanted: 'other columns' }
  }
  delete known[' inputs']
  const value = JSON.stringify(known)
  await owner.query(`update ${schema}.sync_meta set value = $1 where name = $2`, [value, memory])
}

async function bench(url: string, installed: Installed): Promise<void> {
  installed.configure(url, { url: 'https://api.example.com' }, { report: { timeZone: 'America/Chicago' } })
  await installed.run(['migrate'])
  await withOpen(url, (warehouse) => fill(warehouse, orders))
  await installed.run(['migrate'])
  const owner = new pg.Client(url)
  await owner.connect()
  await owner.query('analyze')
  const one = async (text: string): Promise<number> =>
    (await owner.query<{ n: number }>(text)).rows[0]?.n ?? 0
  const locks = await one(
    `select setting::int as n from pg_settings where name = 'max_locks_per_transaction'`,
  )
  for (let i = 1; i <= readers; i++) await owner.query(`create role reader_${i} login password 'reader'`)
  const grant = (i: number, ...those: string[]): Promise<void> =>
    installed.run(['grant', '--role', `reader_${i}`, ...those.flatMap((tenant) => ['--tenant', tenant])])
  const granting = await seconds(async () => {
    for (let i = 1; i <= readers; i++) await grant(i, tenants[i % tenants.length] ?? '', '101')
  })
  await grant(1, '101')
  for (const line of await slowest(url, owner)) say(line)
  const idle = await seconds(() => installed.run(['migrate']))
  await changeColumns(owner)
  const remade = await seconds(() => installed.run(['migrate']))
  const left = await one(`select count(*)::int as n from pg_views where schemaname like 'reader_%'`)
  await owner.end()
  say(`${readers} readers granted in ${granting.toFixed(0)} s`)
  say(
    `migrate: ${idle.toFixed(1)} s with nothing to do; ${remade.toFixed(0)} s to make all views again (max_locks_per_transaction ${locks}; ${left} views of readers)`,
  )
}

await withWarehouses('postgres', async ([postgres]) =>
  inFolder((folder) => bench(postgres?.url ?? '', new Installed(folder))),
)
