/**
 * npm run bench -- rate [--limits second,minute,hour] [--processes 1,2,4,8]
 *
 * Processes that share one rate-limit window by a row in Postgres (docs/scale.md), against the sandbox over loopback:
 * which share of each window they use while work remains, and how many requests are refused. throttle.ts
 * does the same in virtual time. The sandbox's clock is set so that the second window of a minute or an hour begins after a few seconds.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { Stamps, systemClock } from '../src/engine/base/clock.js'
import { Secret } from '../src/engine/config/secret.js'
import { createSource } from '../src/engine/source/client.js'
import { migrate } from '../src/engine/warehouse/migrate.js'
import { openWarehouse } from '../src/engine/warehouse/openwarehouse.js'
import { sharedWindow } from '../src/engine/warehouse/sharedwindow.js'
import { createSandbox } from '../src/sandbox/index.js'
import { known, options, percent, print, withOpen } from './kit.js'
import { empty, schema, withWarehouses } from './warehouse.js'

interface Work {
  readonly baseUrl: string
  readonly url: string
  /** The port of a proxy, if this process is at another address. */
  readonly proxy?: number
}

const isChild = '--child'

/** Asks for pages without end, as a process of its own. */
async function work({ baseUrl, url, proxy }: Work): Promise<void> {
  const warehouse = await openWarehouse({ url, schema, model: known })
  const own = `http://127.0.0.1:${proxy}`
  const through = proxy === undefined ? {} : { proxy: { url: new Secret(own), label: own, from: 'bench' } }
  const source = createSource({
    ...through,
    baseUrl,
    partnerId: '42',
    secret: 'sandbox-secret',
    userAgent: 'bench',
    gzip: false,
    rateReserve: 0,
    timeouts: { connect: 9000, headers: 9000, body: 9000, request: 60_000 },
    retry: {},
    connections: 8,
    clock: systemClock,
    stamps: new Stamps(systemClock),
    maxWait: 7_200_000,
    sharing: { siblings: 'there', row: sharedWindow(warehouse) },
  })
  const list = { tenantId: 7, path: 'customers', updatedAfter: '1970-01-01T00:00:00.000000Z', page: 1 }
  const ask = () => source.list({ ...list, perPage: 100, priority: 'incremental' })
  const askOn = async (): Promise<never> => {
    for (;;) await ask()
  }
  await ask()
  process.send?.('working')
  await Promise.all(Array.from({ length: 8 }, askOn))
}

/** A proxy whose requests come from another address of this machine. */
function proxyAt(localAddress: string): Promise<Server> {
  const server = createServer((client) => {
    client.on('error', () => client.destroy())
    client.once('data', (head) => {
      const [, host = '', port = ''] = /^CONNECT (.+):(\d+) /.exec(head.toString('latin1')) ?? []
      const ready = (): void => void client.write('HTTP/1.1 200 OK\r\n\r\n')
      const upstream: Socket = connect({ host, port: Number(port), localAddress }, ready)
      upstream.on('error', () => client.destroy())
      client.on('close', () => upstream.destroy())
      client.pipe(upstream).pipe(client)
    })
  })
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)))
}

const sleep = (milliseconds: number): Promise<void> => systemClock.sleep(milliseconds)

/**
 * `lead`: seconds until the next window begins. Windows count that begin after all processes have had a response, and
 * after so many to `settle`: a process learns the API's clock from its first responses.
 */
const limits = {
  second: { name: '10 a second', limit: 10, window: 1, windows: 20, lead: 0, settle: 5 },
  minute: { name: '100 a minute', limit: 100, window: 60, windows: 1, lead: 25, settle: 0 },
  hour: { name: '6,000 an hour', limit: 6000, window: 3600, windows: 1, lead: 30, settle: 0 },
}
type Limit = (typeof limits)[keyof typeof limits]

interface Case {
  readonly processes: number
  readonly isKilled?: boolean
  readonly addresses?: number
}

interface Figures {
  readonly used: number
  readonly refused: number
}

/** Resolves when each of them has said something: that it is ready for work, or that it has had a response. */
const said = (children: readonly ChildProcess[]): Promise<unknown> =>
  Promise.all(children.map((child) => new Promise((heard) => child.once('message', heard))))

async function prepare(url: string): Promise<void> {
  await empty(url)
  await withOpen(url, migrate)
}

async function measure(
  limit: Limit,
  { processes, isKilled, addresses = 1 }: Case,
  url: string,
): Promise<Figures> {
  await prepare(url)
  const self = fileURLToPath(import.meta.url)
  const children = Array.from({ length: processes }, () => fork(self, [isChild]))
  await said(children)
  const { window, windows, lead, settle } = limit
  // A second's windows need no other clock.
  const ahead = window > 1 ? window - lead - ((Date.now() / 1000) % window) : 0
  const clock = { nowMicros: () => systemClock.nowMicros() + BigInt(Math.round(ahead * 1e6)), sleep }
  const now = (): number => Number(clock.nowMicros()) / 1e6
  const rate = { limit: limit.limit, window, by: addresses > 1 ? ('address' as const) : ('partner' as const) }
  const sandbox = await createSandbox({ data: 'none', tenants: [{ id: 7 }], clock, rate })
  const proxies = await Promise.all(Array.from({ length: addresses }, (_, i) => proxyAt(`127.0.0.${i + 1}`)))
  const working = said(children)
  for (const [i, child] of children.entries()) {
    const address = addresses > 1 ? proxies[i % addresses]?.address() : undefined
    const port = typeof address === 'object' ? address?.port : undefined
    child.send({ baseUrl: sandbox.url, url, ...(port !== undefined && { proxy: port }) } satisfies Work)
  }
  await working
  const from = (Math.ceil(now() / window) + settle) * window
  const counted = () => sandbox.requests.filter(({ time }) => Date.parse(time) / 1000 >= from)
  const possible = limit.limit * windows * addresses
  const isEnd = (): boolean =>
    now() >= from + windows * window || (window > 1 && counted().length >= possible)
  while (!isEnd()) {
    await sleep(500)
    if (isKilled && now() > from + 0.7) children.at(-1)?.kill('SIGKILL')
  }
  // What would be sent too much.
  if (window > 1) await sleep(3000)
  const made = counted().filter(({ time }) => Date.parse(time) / 1000 < from + windows * window)
  for (const child of children) child.kill('SIGKILL')
  await sandbox.close()
  for (const proxy of proxies) proxy.close()
  const refused = made.filter(({ status }) => status === 429).length
  return { used: (made.length - refused) / possible, refused: refused / made.length }
}

async function main(): Promise<void> {
  const flags = options({ limits: 'second,minute,hour', processes: '1,2,4,8' })
  const wanted = Object.entries(limits).filter(([name]) => flags.limits.split(',').includes(name))
  const cases: Case[] = flags.processes.split(',').flatMap((word): Case[] => {
    const processes = Number(word)
    if (processes === 1) return [{ processes }]
    return [{ processes }, { processes, isKilled: true }, { processes, addresses: 2 }]
  })
  const rows: (string | number)[][] = []
  await withWarehouses('postgres', async ([warehouse]) => {
    for (const [, limit] of wanted)
      for (const one of cases) {
        const { used, refused } = await measure(limit, one, warehouse?.url ?? '')
        const how = one.isKilled ? 'one killed' : one.addresses ? `${one.addresses} addresses` : ''
        rows.push([limit.name, one.processes, how, percent(used, 2), percent(refused, 2)])
      }
  })
  print(['limit', 'processes', '', 'used', '429'], rows)
}

if (process.argv[2] !== isChild) await main()
else {
  process.once('message', (given) => void work(given as Work))
  process.once('disconnect', () => process.exit())
  process.send?.('ready')
}
