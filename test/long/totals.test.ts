/** The totals of orders equal the oracle at a larger size; test/derived/oracle.test.ts has the smaller ones. */
import { describe, expect, it } from 'vitest'
import { computeAnew } from '../derived/anew.js'
import { sync } from '../support/harness/runs.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import { open, warehouses } from '../support/harness/warehouse.js'
import { expectOracle } from '../support/oracle/business/stored.js'

const sandbox = await sandboxOfFile({ tenants: [{ id: 101, repairOrders: 6000 }] })

describe.each(warehouses())('$name', (kind) => {
  it('for every order of a generated business, as stored and as recomputed', async () => {
    const warehouse = await open(kind)
    await sync(sandbox, warehouse)
    expect(await expectOracle(warehouse)).toBeGreaterThan(5900)
    await computeAnew(warehouse)
    expect(await expectOracle(warehouse)).toBeGreaterThan(5900)
    await warehouse.close()
  })
})
