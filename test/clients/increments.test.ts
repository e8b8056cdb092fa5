/** The snippet of docs/increments.md in pandas: a copy that it continues has the rows of the warehouse. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { shopsync } from '../support/harness/call.js'
import { blocksOf } from '../support/harness/docs.js'
import { configure } from '../support/harness/place.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import { scratch } from '../support/harness/scratch.js'
import { warehouses } from '../support/harness/warehouse.js'
import { client, here, lackingFor, run } from './environment.js'

const lacking = await lackingFor('The snippet for pandas')

describe.skipIf(lacking !== undefined).each(warehouses())('$name', (kind) => {
  it('a copy that pandas continues has the rows of the warehouse', async () => {
    const sandbox = await sandboxOfFile({ tenants: 2, repairOrders: 30, seed: 5 })
    const [first = 0, second = 0] = sandbox.tenantIds
    const address = await kind.viewed()
    const config = configure(sandbox, address, ['customers'])
    const shop = async (...words: string[]): Promise<void> => {
      const { code, stderr } = await shopsync([...words, '--config', config])
      expect(code, stderr).toBe(0)
    }
    const block = blocksOf('docs/increments.md').find(({ language }) => language === 'python')
    const folder = scratch()
    const snippet = join(folder, 'snippet.py')
    const text = block!.text
      .replaceAll('shopsync_analytics.', `${address.schema}_analytics.`)
      .replaceAll('shopsync.', `${address.schema}.`)
    writeFileSync(snippet, kind.name === 'sqlite' ? block!.text : text)
    const place = kind.name === 'sqlite' ? address.url.replace('sqlite:', '') : address.url
    const poll = async (): Promise<unknown> => {
      const words = [here('increments.py'), snippet, place, join(folder, 'copy.pickle'), address.schema]
      return JSON.parse((await run(client('python'), words)).stdout) as unknown
    }
    const { store } = sandbox
    await shop('sync')
    const all = store.ids(first, 'customers').length + store.ids(second, 'customers').length
    expect(await poll()).toEqual({ rows: all, equal: true })
    const [changed = 0, gone = 0] = store.ids(first, 'customers')
    store.change(first, 'customers', changed, { first_name: 'Changed' })
    store.remove(first, 'customers', gone)
    await shop('sync')
    await shop('reconcile', '--full')
    expect(await poll()).toEqual({ rows: all - 1, equal: true })
    await shop('forget', '--tenant', String(second), '--yes')
    expect(await poll()).toEqual({ rows: store.ids(first, 'customers').length, equal: true })
    await shop('forget', '--tenant', String(second), '--lift')
    await shop('sync')
    expect(await poll()).toEqual({ rows: all - 1, equal: true })
  })
})
