/** A report shows one instant: here another thread deletes every order and restores it again, as long as the report is made. */
import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'
import { expect, it } from 'vitest'
import { done } from '../../support/harness/call.js'
import { configure } from '../../support/harness/place.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { warehouses } from '../../support/harness/warehouse.js'
import { makeReport, type Page } from './reportpage.js'

/** Every other statement shows all orders, until a message comes; then it tells how often. */
const disturbing = `
const { parentPort, workerData } = require('node:worker_threads')
const Database = require(workerData.driver)
const db = new Database(workerData.file)
db.pragma('synchronous = off')
const set = (value) => db.prepare('update repair_order_totals set _deleted_at = ' + value)
const [hide, show] = [set("'2026-11-22T00:00:00.000000Z'"), set('null')]
let times = 0
let isAsked = true
parentPort.on('message', () => { isAsked = false })
function turn() {
  hide.run()
  show.run()
  times += 1
  if (isAsked) return void setImmediate(turn)
  if (workerData.end === 'hidden') hide.run()
  db.close()
  parentPort.postMessage(times)
}
turn()
`

// That a dialect reads one instant is part of the contract of both.
it('shows one instant, whatever is written between two of its queries', async () => {
  const sandbox = await sandboxOfFile({
    tenants: [{ id: 101, shops: 1, repairOrders: 40, technicians: 1 }],
    seed: 5,
  })
  const [sqlite] = warehouses()
  const address = await sqlite!.viewed()
  const config = configure(sandbox, address, ['repair_orders', 'shops'])
  await done(config, 'sync')
  const shown = ({ html }: Page): string[] =>
    [...html.matchAll(/<tr>.*?<\/tr>|<dd>.*?<\/dd>/gs)]
      .map(([text]) => text)
      .filter((text) => /\$\d/.test(text))
  const made = async (): Promise<string[]> => shown((await makeReport(config)).page)
  /** What a report shows while it is disturbed. */
  const disturbed = async (end: 'shown' | 'hidden'): Promise<string[]> => {
    const driver = createRequire(import.meta.url).resolve('better-sqlite3')
    const worker = new Worker(disturbing, {
      eval: true,
      workerData: { driver, file: address.url.replace('sqlite:', ''), end },
    })
    const times = new Promise<number>((resolve, reject) =>
      worker.once('message', resolve).once('error', reject),
    )
    const rows = await made()
    worker.postMessage('enough')
    expect(await times).toBeGreaterThan(20)
    await worker.terminate()
    return rows
  }
  const all = await made()
  const seen = [await disturbed('shown'), await disturbed('hidden')]
  const none = await made()
  expect(none).not.toEqual(all)
  for (const rows of seen) expect([all, none]).toContainEqual(rows)
})
